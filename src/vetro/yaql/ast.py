"""The syntax tree of YAQL expressions.

Nodes are frozen and carry the half-open span of source text they were parsed from, as offsets into the
expression. The parser builds them, both tiers (closures and generated Python) read them; nothing mutates them
and nothing visits them while a compiled method runs. Rules: reference YAQL.md section 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Union

from vetro.data_classes import dataclass

Scalar = Union[None, bool, int, float, str]


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open range ``[start, end)`` of characters of the expression text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Any expression."""

    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant(Node):
    """A literal: null, boolean, number or text.

    ``bare`` marks a bare word (``foo`` is the text ``'foo'``); only those may name attributes and keyword arguments.
    """

    value: Scalar
    bare: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable(Node):
    """``$name``; ``name`` is without the dollar. ``$`` and ``$1`` are both named ``1``."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Empty(Node):
    """An argument that was left out between two commas: ``f(1,,2)``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair(Node):
    """``key => value`` inside an argument list (never a value of its own in the standard dialect)."""

    key: Node
    value: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Node):
    """``name(args)``. ``args`` holds expressions, ``Empty`` and, after them, ``Pair`` nodes."""

    name: str
    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodCall(Node):
    """``receiver.name(args)``, or ``receiver?.name(args)`` when ``safe``."""

    receiver: Node
    name: str
    args: tuple[Node, ...]
    safe: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute(Node):
    """``receiver.word``, or ``receiver?.word`` when ``safe``."""

    receiver: Node
    name: str
    safe: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Index(Node):
    """``receiver[args]``."""

    receiver: Node
    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListDisplay(Node):
    """``[args]`` at the beginning of a value."""

    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MapDisplay(Node):
    """``{args}``; every argument should be a ``Pair``."""

    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unary(Node):
    """A prefix operator: ``+ - not`` and, in MuranoPL, ``:``."""

    op: str
    operand: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary(Node):
    """An infix operator, ``->`` included.

    ``.`` and ``?.`` appear here only when the right side is neither a bare word nor a call (which then fails at run
    time); ``=>`` only in the legacy dialect.
    """

    op: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Invoke(Node):
    """``value(args)``: a call of a callable value; only parsed where the dialect allows delegates."""

    target: Node
    args: tuple[Node, ...]


def children(node: Node) -> Iterator[Node]:
    """The direct sub-expressions of ``node`` in source order."""
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            for item in value:
                if isinstance(item, Node):
                    yield item


def walk(node: Node) -> Iterator[Node]:
    """``node`` and everything below it, parents first, without recursion."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(list(children(current))))
