"""``check()`` predicates -> JSON Schema keywords (SEMANTICS 17.3).

A predicate is split at ``and``; each part that compares the value, its length or a property of it with something
constant becomes keywords, every other part is left out: a schema may accept more than the contract, never less.
Keywords are those of draft-04 (``exclusiveMinimum`` is a boolean).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from vetro.yaql import ast
from vetro.yaql.errors import VetroError
from vetro.yaql.values import SCALARS, thaw

#: Value of an expression without ``$``; raises when it has none.
Evaluate = Callable[[ast.Node], Any]

#: Comparisons read from the other side.
FLIPPED: Final = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "="}
_NO_VALUE: Final = object()
#: What a subject is: the names on the way from ``$``, and whether its length is meant.
Subject = tuple[tuple[str, ...], bool]


class CheckTranslator:
    """Collects the keywords of one contract: those of the value itself and those of its properties."""

    __slots__ = ("_evaluate", "context", "keywords")

    def __init__(self, evaluate: Evaluate) -> None:
        self._evaluate = evaluate
        #: Keywords for the value itself.
        self.keywords: dict[str, Any] = {}
        #: Schema of the value's properties, where the value is an object: ``{properties: {name: …}}``.
        self.context: dict[str, Any] = {}

    def add(self, predicate: ast.Node) -> None:
        """Takes in every part of ``predicate`` that has a translation."""
        for part in conjuncts(predicate):
            if isinstance(part, ast.Binary) and part.op == "or":
                self._unless_null(part)
            elif isinstance(part, ast.Binary):
                self._operator(part)
            elif isinstance(part, (ast.MethodCall, ast.Call)):
                self._matches(part)

    def _unless_null(self, part: ast.Binary) -> None:
        """``$ = null or P``: the keywords of P, of which only an enumeration would refuse null."""
        left = part.left
        if not isinstance(left, ast.Binary) or left.op != "=" or subject_of(left.left) != ((), False):
            return
        if not isinstance(left.right, ast.Constant) or left.right.value is not None:
            return
        inner = CheckTranslator(self._evaluate)
        inner.add(part.right)
        values = inner.keywords.pop("enum", None)
        if values is not None:
            self._enum(((), False), [*values, None])
        self._merge(inner.keywords)

    def _merge(self, keywords: Mapping[str, Any]) -> None:
        for keyword, value in keywords.items():
            if keyword in ("minimum", "maximum"):
                exclusive = keywords[f"exclusive{keyword.capitalize()}"]
                op = (">" if exclusive else ">=") if keyword == "minimum" else ("<" if exclusive else "<=")
                _limit(self.keywords, op, value)
            elif keyword in ("minLength", "maxLength"):
                _limit_length(self._target, (), ">=" if keyword == "minLength" else "<=", value)
            elif keyword == "pattern":
                self._pattern(((), False), value)
            elif keyword == "allOf":
                self.keywords.setdefault("allOf", []).extend(value)

    def _target(self, path: tuple[str, ...]) -> dict[str, Any]:
        if not path:
            return self.keywords
        schema = self.context
        for name in path:
            schema = schema.setdefault("properties", {}).setdefault(name, {})
        return schema

    def _operator(self, part: ast.Binary) -> None:
        op, left, right = part.op, part.left, part.right
        if op in FLIPPED:
            subject = subject_of(left)
            if subject is None:
                subject, right, op = subject_of(right), left, FLIPPED[op]
            if subject is not None:
                value = self._constant(right)
                if value is not _NO_VALUE:
                    self._compare(subject, op, value)
        elif op in ("in", "=~"):
            subject = subject_of(left)
            if subject is None or subject[1]:
                return
            value = self._constant(right)
            if op == "=~":
                self._pattern(subject, value)
            elif value is not _NO_VALUE and not isinstance(value, (str, Mapping)) and isinstance(value, Iterable):
                self._enum(subject, list(value))

    def _compare(self, subject: Subject, op: str, value: Any) -> None:
        path, length = subject
        number = value.__class__ in (int, float) and math.isfinite(value)
        if length:
            if number:
                _limit_length(self._target, path, op, value)
        elif op == "=":
            self._enum(subject, [value])
        elif number:
            _limit(self._target(path), op, value)

    def _enum(self, subject: Subject, values: list[Any]) -> None:
        if not all(map(is_plain, values)):
            return
        target = self._target(subject[0])
        plain = [value if value.__class__ in SCALARS else thaw(value) for value in values]
        known = target.get("enum")
        target["enum"] = plain if known is None else [value for value in known if value in plain]

    def _pattern(self, subject: Subject | None, value: Any) -> None:
        if subject is None or subject[1] or value.__class__ is not str:
            return
        target = self._target(subject[0])
        if "pattern" not in target:
            target["pattern"] = value
        elif target["pattern"] != value:
            target.setdefault("allOf", []).append({"pattern": value})

    def _matches(self, part: ast.MethodCall | ast.Call) -> None:
        if part.name != "matches":
            return
        operands = part.args
        if isinstance(part, ast.MethodCall):
            operands = (part.receiver, *part.args)
        if len(operands) != 2:
            return
        text, pattern = operands
        if isinstance(text, ast.Call) and text.name == "regex" and len(text.args) == 1:  # regex('…').matches($)
            pattern, text = text.args[0], pattern
        subject = subject_of(text)
        if subject is not None:
            self._pattern(subject, self._constant(pattern))

    def _constant(self, node: ast.Node) -> Any:
        value = fold(node)
        if value is not _NO_VALUE:
            return value
        if not _is_constant(node):
            return _NO_VALUE
        try:
            return self._evaluate(node)
        except (VetroError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
            return _NO_VALUE


def conjuncts(node: ast.Node) -> Iterator[ast.Node]:
    """The parts of ``a and b and …``, in order."""
    todo = [node]
    while todo:
        part = todo.pop()
        if isinstance(part, ast.Binary) and part.op == "and":
            todo += (part.right, part.left)
        else:
            yield part


def subject_of(node: ast.Node) -> Subject | None:
    """``$``, ``$.a.b``, ``len($)``, ``$.a.len()``; None for anything else."""
    length = False
    if isinstance(node, ast.Call) and node.name == "len" and len(node.args) == 1:
        node, length = node.args[0], True
    elif isinstance(node, ast.MethodCall) and node.name == "len" and not node.args:
        node, length = node.receiver, True
    path: list[str] = []
    while isinstance(node, ast.Attribute):
        path.append(node.name)
        node = node.receiver
    if isinstance(node, ast.Variable) and node.name == "1":
        return tuple(reversed(path)), length
    return None


def fold(node: ast.Node) -> Any:
    """The value of literals and lists of literals, without running anything; a marker for everything else."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Unary) and node.op == "-":
        value = fold(node.operand)
        return -value if value.__class__ in (int, float) else _NO_VALUE
    if isinstance(node, ast.ListDisplay):
        return _fold_items(node.args)
    if isinstance(node, ast.Call) and node.name == "list":
        return _fold_items(node.args)
    return _NO_VALUE


def _fold_items(nodes: tuple[ast.Node, ...]) -> Any:
    items = [fold(node) if isinstance(node, (ast.Constant, ast.Unary)) else _NO_VALUE for node in nodes]
    return _NO_VALUE if any(item is _NO_VALUE for item in items) else tuple(items)


def is_value(folded: Any) -> bool:
    """Whether `fold` found a value."""
    return folded is not _NO_VALUE


def _is_constant(node: ast.Node) -> bool:
    return not any(isinstance(part, ast.Variable) and part.name != "this" for part in ast.walk(node))


def is_plain(value: Any) -> bool:
    """Data that JSON can hold."""
    todo = [value]
    while todo:
        item = todo.pop()
        if item.__class__ is float and not math.isfinite(item):
            return False
        if item.__class__ in SCALARS:
            continue
        if isinstance(item, (tuple, list)):
            todo.extend(item)
        elif isinstance(item, Mapping):
            if not all(key.__class__ is str for key in item):
                return False
            todo.extend(item.values())
        else:
            return False
    return True


def _limit(target: dict[str, Any], op: str, value: float) -> None:
    """Narrows the range of ``target``; of two limits the stricter stays."""
    lower = op in (">", ">=")
    key, flag = ("minimum", "exclusiveMinimum") if lower else ("maximum", "exclusiveMaximum")
    exclusive = op in ("<", ">")
    known = target.get(key)
    if known is None or (value > known if lower else value < known):
        target[key], target[flag] = value, exclusive
    elif known == value:
        target[flag] = target[flag] or exclusive


def _limit_length(
    target: Callable[[tuple[str, ...]], dict[str, Any]], path: tuple[str, ...], op: str, value: float
) -> None:
    low = {">": math.floor(value) + 1, ">=": math.ceil(value), "=": math.ceil(value)}.get(op)
    high = {"<": math.ceil(value) - 1, "<=": math.floor(value), "=": math.floor(value)}.get(op)
    if high is not None and (high < 0 or (low is not None and low > high)):
        return  # no text has such a length: nothing JSON Schema could say in these keywords
    schema = target(path)
    if low is not None:
        schema["minLength"] = max(low, 0, schema.get("minLength", 0))
    if high is not None:
        schema["maxLength"] = min(high, schema.get("maxLength", high))
