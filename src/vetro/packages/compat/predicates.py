"""Conditions of ``check()``: whether one follows from others, by what they say and without trying values.

Conditions are about converted values of one kind that are not null; null is tried by whoever asks. A `Condition` that
is not understood follows only from one that says the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from typing import Any

from vetro.data_classes import dataclass
from vetro.muranopl.contracts.checks import FLIPPED, conjuncts, fold, is_value, subject_of
from vetro.muranopl.contracts.model import StepName
from vetro.packages.compat.languages import (
    Automaton,
    Lengths,
    Unsupported,
    beginning_with,
    exactly,
    found_by,
    text_outside,
)
from vetro.yaql import ast
from vetro.yaql.errors import VetroError

#: Integers that an interval is counted out to.
COUNTED = 70_000
#: `FLIPPED`, and what is the same from both sides.
_COMPARED = {**FLIPPED, "!=": "!="}
#: Numbers from here on are bounds of nothing.
_BEYOND = 10**15
#: Alternatives that are looked at one by one.
_ALTERNATIVES = 16


def alternatives(node: ast.Node) -> list[ast.Node]:
    """The parts of ``a or b or …``."""
    if isinstance(node, ast.Binary) and node.op == "or":
        return [*alternatives(node.left), *alternatives(node.right)]
    return [node]


def key(node: ast.Node, prefixes: Mapping[str, str]) -> object:
    """Equal for expressions that say the same, wherever they stand; ``prefixes`` are what class names are read by."""
    if isinstance(node, ast.Constant):
        return type(node.value).__name__, node.value
    if isinstance(node, ast.Binary):
        left, right, op = key(node.left, prefixes), key(node.right, prefixes), node.op
        if op in (">", ">=") or (op in ("=", "!=") and repr(left) > repr(right)):
            left, right, op = right, left, _COMPARED[op]
        return "binary", op, left, right, tuple(sorted(prefixes.items())) if op == ":" else ()
    if isinstance(node, ast.Unary):
        return "unary", node.op, key(node.operand, prefixes), tuple(sorted(prefixes.items())) if node.op == ":" else ()
    if isinstance(node, (ast.Call, ast.MethodCall)) and node.name in ("len", "matches"):
        # The same by either way of calling them.
        operands = (node.receiver, *node.args) if isinstance(node, ast.MethodCall) else node.args
        safe = isinstance(node, ast.MethodCall) and node.safe
        return "call", node.name, safe, tuple(key(one, prefixes) for one in operands)
    parts = tuple(key(part, prefixes) for part in ast.children(node))
    return type(node).__name__, getattr(node, "name", None), getattr(node, "safe", False), parts


@dataclass(frozen=True, slots=True)
class Comparison:
    """``$ < 5``, ``len($) >= 1``: of the value, or of its length, with a number or another constant."""

    length: bool
    op: str
    value: Any


def comparison(node: ast.Node) -> Comparison | None:
    """What a condition compares; None for others."""
    if not isinstance(node, ast.Binary) or node.op not in _COMPARED:
        return None
    for subject, other, op in ((node.left, node.right, node.op), (node.right, node.left, _COMPARED[node.op])):
        found, value = subject_of(subject), fold(other)
        if found is not None and not found[0] and is_value(value):
            return Comparison(found[1], op, value)
    return None


def listed(node: ast.Node) -> tuple[Any, ...] | None:
    """The values of ``$ in [a, b]`` and ``$ = a``; None for others."""
    if isinstance(node, ast.Binary) and node.op == "in" and subject_of(node.left) == ((), False):
        values = fold(node.right)
        return values if isinstance(values, tuple) else None
    found = comparison(node)
    return (found.value,) if found is not None and found.op == "=" and not found.length else None


def automaton(node: ast.Node) -> Automaton | None:
    """The texts for which ``$.matches(…)``, ``$ =~ …``, ``$.startsWith(…)`` or ``$.endsWith(…)`` holds; None for
    others."""
    name = ""
    operands: tuple[ast.Node, ...] = ()
    if isinstance(node, ast.Binary) and node.op == "=~":
        name, operands = "matches", (node.left, node.right)
    elif isinstance(node, ast.MethodCall) and not node.safe:
        name, operands = node.name, (node.receiver, *node.args)
    elif isinstance(node, ast.Call):
        name, operands = node.name, node.args
    if len(operands) != 2 or name not in ("matches", "startsWith", "endsWith"):
        return None
    text, given = operands
    if name == "matches" and isinstance(text, ast.Call) and text.name == "regex" and len(text.args) == 1:
        given, text = text.args[0], given  # regex('…').matches($)
    value = fold(given)
    if subject_of(text) != ((), False) or value.__class__ is not str:
        return None
    try:
        return found_by(value) if name == "matches" else beginning_with(value, at_end=name == "endsWith")
    except (Unsupported, VetroError, ValueError):
        return None


@dataclass
class Facts:
    """What some conditions say together of a value that is not null."""

    kind: StepName | None
    prefixes: Mapping[str, str]
    keys: set[object] = field(default_factory=set)
    comparisons: list[Comparison] = field(default_factory=list)
    #: The only values there may be; None: not known.
    values: tuple[Any, ...] | None = None
    low: float = -math.inf
    high: float = math.inf
    lengths: Lengths = field(default_factory=Lengths)
    texts: list[Automaton] = field(default_factory=list)
    #: Conditions of which one holds.
    either: list[list[ast.Node]] = field(default_factory=list)

    def add(self, node: ast.Node) -> None:
        """One more condition."""
        for part in conjuncts(node):
            self.keys.add(key(part, self.prefixes))
            values, compared = listed(part), comparison(part)
            if values is not None:
                self._listed(values)
            elif compared is not None and compared.value.__class__ in (int, float) and compared.op != "!=":
                self.comparisons.append(compared)
                self._compare(compared)
            elif self.kind is StepName.STRING and (found := automaton(part)) is not None:
                self.texts.append(found)
            elif 1 < len(ways := alternatives(part)) <= _ALTERNATIVES:
                left = [way for way in ways if listed(way) != (None,)]  # null is tried apart
                if len(left) == 1:
                    self.add(left[0])
                else:
                    self.either.append(left)

    def _listed(self, values: tuple[Any, ...]) -> None:
        known = self.values
        if known is not None:
            both = set(values)  # 1, 1.0 and true are one value here, as they may be for the language
            values = tuple(one for one in known if one in both)
        self.values = values
        if self.kind is StepName.INT:
            numbers = [one for one in values if isinstance(one, (int, float)) and -_BEYOND < one < _BEYOND]
            if len(numbers) < sum(isinstance(one, (int, float)) for one in values):
                return
            self.low, self.high = max(self.low, min(numbers, default=1)), min(self.high, max(numbers, default=0))
        elif self.kind is StepName.STRING:
            with suppress(Unsupported):
                self.texts.append(exactly([one for one in values if isinstance(one, str)]))

    def _compare(self, compared: Comparison) -> None:
        bounds = _bounds(compared)
        if bounds is None:
            return
        low, high = bounds
        if compared.length:
            if self.kind is StepName.STRING:
                most = self.lengths.most
                high = min(high, math.inf if most is None else most)
                least = max(self.lengths.least, 0 if low == -math.inf else int(low))
                self.lengths = Lengths(least, None if high == math.inf else max(-1, int(high)))
        elif self.kind is StepName.INT:
            self.low, self.high = max(self.low, low), min(self.high, high)

    def everything(self) -> list[Any] | None:
        """All values there may be, where they can be counted out; None otherwise."""
        if self.kind is StepName.BOOL:
            return [False, True]
        if self.values is not None and self.kind is not None:  # of no kind: 1, 1.0 and true are equal
            return list(self.values)
        if self.kind is StepName.INT and self.high - self.low < COUNTED:
            return list(range(int(self.low), int(self.high) + 1))
        return None


def _bounds(compared: Comparison) -> tuple[float, float] | None:
    """The least and the greatest integer that a comparison allows; None for numbers beyond all use."""
    value, op = compared.value, compared.op
    if not -_BEYOND < value < _BEYOND:
        return None
    low = {">": math.floor(value) + 1, ">=": math.ceil(value), "=": math.ceil(value)}.get(op, -math.inf)
    high = {"<": math.ceil(value) - 1, "<=": math.floor(value), "=": math.floor(value)}.get(op, math.inf)
    return low, high


#: Tries a condition on a value: whether it holds; None when nobody can say.
Holds = Callable[[ast.Node, Any], bool | None]


def follows(known: Sequence[ast.Node], wanted: ast.Node, facts: Callable[[], Facts]) -> tuple[bool, list[Any]]:
    """Whether every value that meets all ``known`` meets ``wanted``, and values that may show the opposite.

    False without such values: nobody knows. ``facts`` makes empty ones of the kind in question.
    """
    say = facts()
    for node in known:
        say.add(node)
    return _follows(say, list(known), wanted, facts, 0)


def _follows(
    say: Facts, known: list[ast.Node], wanted: ast.Node, facts: Callable[[], Facts], depth: int
) -> tuple[bool, list[Any]]:
    doubts: list[Any] = []
    for part in conjuncts(wanted):
        proven, found = _part_follows(say, part)
        doubts += found
        if not proven and depth < 3:
            ways = alternatives(part)
            proven = (
                len(ways) > 1
                and all(_harmless(way, say.kind) for way in ways)
                and any(_follows(say, known, way, facts, depth + 1)[0] for way in ways)
            )
            if not proven:
                proven = any(_of_each(known, either, part, facts, depth) for either in say.either)
        if not proven:
            return False, doubts
    return True, doubts


def _of_each(
    known: list[ast.Node], either: list[ast.Node], wanted: ast.Node, facts: Callable[[], Facts], depth: int
) -> bool:
    """Whether a condition follows from each of some alternatives, with what else is known."""
    for way in either:
        say = facts()
        for node in (*known, way):
            say.add(node)
        if not _follows(say, [*known, way], wanted, facts, depth + 1)[0]:
            return False
    return True


def _harmless(node: ast.Node, kind: StepName | None) -> bool:
    """Whether a condition has an outcome for every value of the kind: one before it in an ``or`` must not fail."""
    for part in conjuncts(node):
        compared = comparison(part)
        if compared is not None and compared.op not in ("=", "!="):
            numbers = compared.value.__class__ in (int, float)
            if not numbers or kind is not (StepName.STRING if compared.length else StepName.INT):
                return False
        elif (compared is not None and compared.length and kind is not StepName.STRING) or (
            compared is None and listed(part) is None and not (kind is StepName.STRING and automaton(part) is not None)
        ):
            return False
    return True


def _part_follows(say: Facts, wanted: ast.Node) -> tuple[bool, list[Any]]:
    if key(wanted, say.prefixes) in say.keys:
        return True, []
    values = listed(wanted)
    if values is not None and say.values is not None and {_typed(v) for v in say.values} <= {_typed(v) for v in values}:
        return True, []
    compared = comparison(wanted)
    if compared is not None and compared.value.__class__ in (int, float):
        if say.kind is None and any(_implies(one, compared) for one in say.comparisons):
            return True, []
        bounds = _bounds(compared)
        if bounds is None:
            return False, []
        low, high = bounds
        if compared.length and say.kind is StepName.STRING and compared.op != "!=":
            least = 0 if low == -math.inf else max(0, int(low))
            if high < least:
                return False, []
            return _texts_follow(say, Lengths(least, None if high == math.inf else int(high)))
        if not compared.length and say.kind is StepName.INT:
            if compared.op == "!=":
                outside = not say.low <= compared.value <= say.high
                return outside, [] if outside else [compared.value]
            if say.low >= low and say.high <= high:
                return True, []
            return False, [one for one in (say.low, say.high, low - 1, high + 1) if abs(one) < math.inf]
    if compared is not None and compared.value is None and not compared.length and compared.op == "!=":
        return True, []  # null is tried apart
    if say.kind is StepName.STRING and (found := automaton(wanted)) is not None:
        return _texts_follow(say, found)
    return False, []


def _typed(value: Any) -> object:
    return type(value).__name__, repr(value)


def _implies(known: Comparison, wanted: Comparison) -> bool:
    """Whether one comparison of any number, with or without a fraction, says the other."""
    if known.length or wanted.length or known.op[0] != wanted.op[0] or known.op not in ("<", "<=", ">", ">="):
        return False
    if wanted.op not in ("<", "<=", ">", ">="):
        return False
    near = known.value == wanted.value and (wanted.op == known.op or wanted.op.endswith("="))
    return near or (known.value > wanted.value if known.op[0] == ">" else known.value < wanted.value)


def _texts_follow(say: Facts, wanted: Automaton | Lengths) -> tuple[bool, list[Any]]:
    if say.lengths.most is not None and say.lengths.most < say.lengths.least:
        return True, []  # there is no such text at all
    try:
        outside = text_outside(say.texts, say.lengths, wanted)
    except Unsupported:
        return False, []
    return outside is None, [] if outside is None else [outside]
