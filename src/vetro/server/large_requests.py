"""What one request may load among others: beyond it, the request is answered by a process of its own.

Parsing a large model, looking through it and writing it down again hold the interpreter, and with it every other
request of the process, for seconds. So while a request is `bounded`, stored values are measured before they are parsed
(`take`), as is its body, and one that is too large ends the attempt: `LargeRequest` passes through the whole
application, transactions are undone, and `vetro.server.http.application` has the request answered elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from vetro.data_classes import dataclass

#: Bytes of one value or body, as text, and of all stored values that a request loads.
ONE: Final = 512 << 10
ALL: Final = 2 << 20
#: Whether this process answers large requests: answers are collected before they are sent, so each has to end.
collects = False


class LargeRequest(BaseException):
    """The request loads more than is allowed here. No error: nothing in between may take it for one and answer."""


@dataclass(slots=True)
class _Bound:
    one: int
    left: int
    refusal: Exception | None
    outer: _Bound | None

    def take(self, size: int) -> None:
        if self.outer is not None:  # who answers elsewhere comes to the inner ones there
            self.outer.take(size)
        if size > min(self.one, self.left):
            raise LargeRequest if self.refusal is None else self.refusal
        self.left -= size


_bound: ContextVar[_Bound | None] = ContextVar("vetro_large", default=None)


@contextmanager
def bounded(refusal: Exception | None = None) -> Iterator[None]:
    """What is loaded within is bounded; ``refusal`` is raised beyond, or `LargeRequest`."""
    token = _bound.set(_Bound(ONE, ALL, refusal, None))
    try:
        yield
    finally:
        _bound.reset(token)


@contextmanager
def at_most(size: int, refusal: Exception) -> Iterator[None]:
    """What is loaded within has so many bytes together, also where large requests are answered, or ``refusal`` is
    raised."""
    token = _bound.set(_Bound(size, size, refusal, _bound.get()))
    try:
        yield
    finally:
        _bound.reset(token)


@contextmanager
def unbounded() -> Iterator[None]:
    """What is loaded within has no bound."""
    token = _bound.set(None)
    try:
        yield
    finally:
        _bound.reset(token)


def room() -> int | None:
    """Bytes that the next value may have; None where nothing is bounded."""
    found, bound = None, _bound.get()
    while bound is not None:
        most = min(bound.one, bound.left)
        found = most if found is None else min(found, most)
        bound = bound.outer
    return found


def take(size: int) -> None:
    """Counts a value of so many bytes. Raises `LargeRequest`, or what is to be raised instead."""
    bound = _bound.get()
    if bound is not None:
        bound.take(size)
