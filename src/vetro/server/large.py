"""What one request may load among others: beyond it, the request is answered by a process of its own.

Parsing a large model, looking through it and writing it down again hold the interpreter, and with it every other
request of the process, for seconds. So while a request is `bounded`, stored values are measured before they are parsed
(`take`), as is its body, and one that is too large ends the attempt: `LargeRequest` passes through the whole
application, transactions are undone, and `vetro.server.serving_application` has the request answered elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

#: Bytes of one value or body, as text, and of all stored values that a request loads.
ONE: Final = 512 << 10
ALL: Final = 2 << 20


class LargeRequest(BaseException):
    """The request loads more than is allowed here. No error: nothing in between may take it for one and answer."""


@dataclass(slots=True)
class _Bound:
    left: int
    refusal: Exception | None


_bound: ContextVar[_Bound | None] = ContextVar("vetro_large", default=None)


@contextmanager
def bounded(refusal: Exception | None = None) -> Iterator[None]:
    """What is loaded within is bounded; ``refusal`` is raised beyond, or `LargeRequest`."""
    token = _bound.set(_Bound(ALL, refusal))
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
    bound = _bound.get()
    return None if bound is None else min(ONE, bound.left)


def take(size: int) -> None:
    """Counts a value of so many bytes. Raises `LargeRequest`, or what is to be raised instead."""
    bound = _bound.get()
    if bound is None:
        return
    if size > min(ONE, bound.left):
        raise LargeRequest if bound.refusal is None else bound.refusal
    bound.left -= size
