"""The syntax tree of a regular expression, the same for both engines."""

from __future__ import annotations

from vetro.data_classes import dataclass

#: "No upper bound" of a repetition.
MANY = 1 << 40


@dataclass(frozen=True, slots=True)
class Char:
    """One character."""

    char: str


@dataclass(frozen=True, slots=True)
class AnyChar:
    """``.``; line ends too when ``newline``."""

    newline: bool


@dataclass(frozen=True, slots=True)
class CharSet:
    """One character out of ranges of code points and categories, or none of them when ``negated``.

    Categories are ``d w s`` and their opposites ``D W S``; when ``ascii`` they know ASCII only.
    """

    ranges: tuple[tuple[int, int], ...]
    categories: tuple[str, ...] = ()
    negated: bool = False
    ascii: bool = False


@dataclass(frozen=True, slots=True)
class At:
    """A place: ``start``, ``end`` of the text, ``line_start``, ``line_end``, ``last`` (the end or before a final line
    end), ``word`` and ``no_word`` boundaries."""

    place: str
    ascii: bool = False


@dataclass(frozen=True, slots=True)
class Seq:
    """One after the other."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alt:
    """The first of the branches with which the whole matches."""

    branches: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """A capturing group."""

    number: int
    body: Node


@dataclass(frozen=True, slots=True)
class Repeat:
    """``mode`` is ``greedy``, ``lazy`` or ``possessive``."""

    body: Node
    least: int
    most: int
    mode: str


@dataclass(frozen=True, slots=True)
class Look:
    """Look-around. ``behind`` is the width of what is looked for before the place, -1 when it is ahead."""

    body: Node
    behind: int
    negated: bool


@dataclass(frozen=True, slots=True)
class BackRef:
    """What a group matched, once more."""

    number: int
    ignore_case: bool
    #: Least and greatest number of characters of the group.
    width: tuple[int, int] = (0, MANY)


@dataclass(frozen=True, slots=True)
class Atomic:
    """``(?>…)``: never tried another way once it matched."""

    body: Node


@dataclass(frozen=True, slots=True)
class Cond:
    """``(?(1)yes|no)``."""

    number: int
    yes: Node
    no: Node


Node = Char | AnyChar | CharSet | At | Seq | Alt | Group | Repeat | Look | BackRef | Atomic | Cond


def width(node: Node) -> tuple[int, int]:
    """The least and greatest number of characters that ``node`` matches; the greatest is capped at `MANY`."""
    if isinstance(node, (Char, AnyChar, CharSet)):
        return 1, 1
    if isinstance(node, (At, Look)):
        return 0, 0
    if isinstance(node, BackRef):
        return node.width
    if isinstance(node, (Group, Atomic)):
        return width(node.body)
    if isinstance(node, Seq):
        parts = [width(item) for item in node.items]
        return sum(p[0] for p in parts), min(MANY, sum(p[1] for p in parts))
    if isinstance(node, Alt):
        parts = [width(branch) for branch in node.branches]
        return min(p[0] for p in parts), max(p[1] for p in parts)
    if isinstance(node, Cond):
        parts = [width(node.yes), width(node.no)]
        return min(p[0] for p in parts), max(p[1] for p in parts)
    low, high = width(node.body)
    return min(MANY, low * node.least), min(MANY, high * node.most)
