"""Proves of some patterns that Python's ``re`` finds them in time linear in the text; the others are for RE2.

``re`` tries the pattern at every place of the text, and at one place it may try many ways before it gives up. What is
accepted here keeps the product small. Proof obligations, each for one attempt at one place:

* **bounded** patterns have no unbounded repetition. The number of ways they can be tried and the steps of all of these
  are products and sums over the tree (`_Effort`), whatever the text; with at most `MAX_EFFORT` steps at each place a
  search takes at most `MAX_EFFORT` times the length of the text.
* **tail**: a bounded pattern, then one unbounded greedy repetition of one character at the very end. Nothing follows
  that could fail, so the repetition is never given back, and what it consumed is not searched again: an attempt costs
  the bound plus the length of what is found.
* **anchored**: begins at the start of the text, so that every place but the first fails at once. Characters and
  repetitions of one character follow, each repetition disjoint from everything that may come right after it, up to and
  including the next thing that must consume a character. Once a repetition has given back a character, the next thing
  meets a character it cannot take and fails at once (or the end of the pattern asks for the end of the text, which it
  is not): giving back costs a constant for each character, and nothing behind it is tried twice.

Everything else is refused: repetitions of groups without bound, adjacent repetitions of what overlaps, unbounded
repetitions before something that may fail in a pattern that is searched from every place (``[0-9]+x``), look-around,
references. Refusing is always right; it only costs speed.
"""

from __future__ import annotations

from vetro.data_classes import dataclass
from vetro.yaql.regex.nodes import MANY, Alt, AnyChar, At, Char, CharSet, Group, Node, Repeat, Seq

#: Steps that one attempt may take, all ways together.
MAX_EFFORT = 256
_SINGLE = (Char, AnyChar, CharSet)


@dataclass(slots=True)
class _Effort:
    """``ways``: in how many ways a part can match at a place, at most. ``steps``: what trying them all costs."""

    ways: int
    steps: int


class _Refused(Exception):
    pass


def effort(tree: Node) -> int | None:
    """Steps for each character of a text, at most; None when linear time is not proved."""
    items = _flatten(tree)
    for proof in (_bounded, _tail, _anchored):
        try:
            steps = proof(items)
        except _Refused:
            continue
        if steps <= MAX_EFFORT:
            return steps
    return None


def _flatten(tree: Node) -> list[Node]:
    """The parts of a sequence in order; capturing and plain groups that are not repeated add nothing to the work."""
    if isinstance(tree, Seq):
        return [part for item in tree.items for part in _flatten(item)]
    if isinstance(tree, Group):
        return _flatten(tree.body)
    return [tree]


# -- bounded ----------------------------------------------------------------------------------------------------------


def _bounded(items: list[Node]) -> int:
    return _sequence([_effort(item) for item in items]).steps + 1


def _sequence(parts: list[_Effort]) -> _Effort:
    """Every way of what came before tries all of what follows once."""
    total = _Effort(1, 0)
    for part in parts:
        total = _checked(total.ways * part.ways, total.steps + total.ways * part.steps)
    return total


def _checked(ways: int, steps: int) -> _Effort:
    if ways > MAX_EFFORT or steps > MAX_EFFORT:
        raise _Refused
    return _Effort(ways, steps)


def _effort(node: Node) -> _Effort:
    if isinstance(node, (*_SINGLE, At)):
        return _Effort(1, _single(node))
    if isinstance(node, Group):
        return _effort(node.body)
    if isinstance(node, Seq):
        return _sequence([_effort(item) for item in node.items])
    if isinstance(node, Alt):
        branches = [_effort(branch) for branch in node.branches]
        return _checked(sum(e.ways for e in branches), sum(e.steps + 1 for e in branches))
    if isinstance(node, Repeat) and node.most <= MAX_EFFORT:
        body = _effort(node.body)
        total, once = _Effort(0, 0), _Effort(1, 0)
        for times in range(node.most + 1):
            if times:
                once = _sequence([once, body])
            if times >= node.least:
                total = _checked(total.ways + once.ways, once.steps + 1)
        return total
    raise _Refused


def _single(node: Node) -> int:
    """Large sets are looked through piece by piece."""
    return 1 + (len(node.ranges) + len(node.categories)) // 8 if isinstance(node, CharSet) else 1


# -- one unbounded repetition at the end -------------------------------------------------------------------------------


def _tail(items: list[Node]) -> int:
    last = items[-1] if items else None
    if not isinstance(last, Repeat) or last.most < MANY or last.mode != "greedy" or not isinstance(last.body, _SINGLE):
        raise _Refused
    own = _Effort(1, (last.least + 1) * _single(last.body))
    return _sequence([*(_effort(item) for item in items[:-1]), own]).steps + 1


# -- anchored ----------------------------------------------------------------------------------------------------------


def _anchored(items: list[Node]) -> int:
    if not items or not isinstance(items[0], At) or items[0].place != "start":
        raise _Refused
    rest = items[1:]
    if rest and isinstance(rest[-1], At) and rest[-1].place in ("last", "end"):
        rest = rest[:-1]
    for index, item in enumerate(rest):
        if isinstance(item, _SINGLE):
            continue
        if not isinstance(item, Repeat) or not isinstance(item.body, _SINGLE) or item.mode != "greedy":
            raise _Refused
        if item.least > MAX_EFFORT or MAX_EFFORT < item.most < MANY:
            raise _Refused
        if item.least == item.most:
            continue
        for follower in rest[index + 1 :]:
            if not _disjoint(item.body, _body(follower)):
                raise _Refused
            if not isinstance(follower, Repeat) or follower.least:
                break
    least = sum(item.least for item in rest if isinstance(item, Repeat))
    return 2 * (len(items) + least) * max((_single(_body(item)) for item in rest), default=1)


def _body(item: Node) -> Node:
    return item.body if isinstance(item, Repeat) else item


def _disjoint(one: Node, other: Node) -> bool:
    """True only when no character can be both."""
    first, second = _ranges(one), _ranges(other)
    if first is None or second is None:
        return False
    return all(a[1] < b[0] or b[1] < a[0] for a in first for b in second)


def _ranges(node: Node) -> list[tuple[int, int]] | None:
    """The code points of a character or plain set; None for what is not worth knowing exactly."""
    if isinstance(node, Char):
        return [(ord(node.char), ord(node.char))]
    if not isinstance(node, CharSet) or node.negated:
        return None
    ranges = list(node.ranges)
    for category in node.categories:
        if category not in _CATEGORIES:
            return None
        ranges += _CATEGORIES[category]
    return ranges


# What the categories may hold, at most: every character beyond ASCII counts as each of them.
_BEYOND = (128, 0x10FFFF)
_CATEGORIES: dict[str, list[tuple[int, int]]] = {
    "d": [(48, 57), _BEYOND],
    "s": [(9, 13), (28, 32), _BEYOND],
    "w": [(48, 57), (65, 90), (95, 95), (97, 122), _BEYOND],
}
