"""The operators as overloads, so that ``call('#operator_+', …)`` works and errors can say what is accepted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vetro.yaql.context import CodeContext
from vetro.yaql.resolve import operators
from vetro.yaql.resolve.signature import FunctionTable, Overload, Param, Type, function

_NUM, _STR, _INT, _SEQ, _ITER = Type.NUM, Type.STR, Type.INT, Type.SEQ, Type.ITER
_SET, _DICT, _SPAN, _DT, _ANY = Type.SET, Type.DICT, Type.SPAN, Type.DATETIME, Type.ANY


def _is_null(value: Any) -> bool:
    return value is None


def _not_null(value: Any) -> bool:
    return value is not None


_ORDERED = [(_NUM, _NUM), (_STR, _STR), (_SET, _SET), (_DT, _DT), (_SPAN, _SPAN)]
_BINARY: tuple[tuple[str, Callable[..., Any], list[tuple[Type, Type]]], ...] = (
    (
        "+",
        operators.add,
        [(_NUM, _NUM), (_STR, _STR), (_ITER, _ITER), (_DICT, _DICT), (_DT, _SPAN), (_SPAN, _DT), (_SPAN, _SPAN)],
    ),
    ("-", operators.sub, [(_NUM, _NUM), (_SET, _SET), (_DT, _SPAN), (_DT, _DT), (_SPAN, _SPAN)]),
    (
        "*",
        operators.mul,
        [(_NUM, _NUM), (_STR, _INT), (_INT, _STR), (_SEQ, _INT), (_INT, _SEQ), (_SPAN, _NUM), (_NUM, _SPAN)],
    ),
    ("/", operators.div, [(_NUM, _NUM), (_SPAN, _SPAN), (_SPAN, _NUM)]),
    ("mod", operators.mod, [(_NUM, _NUM)]),
    ("in", operators.contains, [(_STR, _STR), (_ANY, _ITER)]),
    ("=~", operators.matches, [(_STR, _STR), (_STR, Type.REGEX)]),
    ("!~", operators.not_matches, [(_STR, _STR), (_STR, Type.REGEX)]),
)
_COMPARISONS: tuple[tuple[str, Callable[..., Any]], ...] = (
    ("<", operators.less),
    ("<=", operators.less_equal),
    (">", operators.greater),
    (">=", operators.greater_equal),
)


def _pair(left: Type, right: Type) -> tuple[Param, Param]:
    return Param("left", left), Param("right", right)


@function("#operator_and", params=(Param("left", Type.LAMBDA, arity=0), Param("right", Type.LAMBDA, arity=0)))
def _and(cx: CodeContext, left: Callable[[], Any], right: Callable[[], Any]) -> Any:
    return left() and right()


@function("#operator_or", params=(Param("left", Type.LAMBDA, arity=0), Param("right", Type.LAMBDA, arity=0)))
def _or(cx: CodeContext, left: Callable[[], Any], right: Callable[[], Any]) -> Any:
    return left() or right()


@function("#operator_?.", params=(Param("receiver"), Param("expr", Type.KEYWORD)))
def _safe_attribute(cx: CodeContext, receiver: Any, name: str) -> Any:
    return None if receiver is None else operators.attribute(cx, receiver, name)


def _overloads() -> list[Overload]:
    found = [
        Overload(f"#operator_{op}", impl, _pair(*types), "F", True) for op, impl, all_ in _BINARY for types in all_
    ]
    null, some = Param("left", check=_is_null), Param("left", check=_not_null)
    for op, impl in _COMPARISONS:
        found += [Overload(f"#operator_{op}", impl, _pair(*types), "F", True) for types in _ORDERED]
        found.append(Overload(f"#operator_{op}", impl, (null, Param("right")), "F", True))
        found.append(Overload(f"#operator_{op}", impl, (some, Param("right", check=_is_null)), "F", True))
    for name, impl in (("*equal", operators.equal), ("*not_equal", operators.not_equal)):
        found.append(Overload(name, impl, _pair(_ANY, _ANY), "F", True))
    for name, impl in (("+", operators.plus), ("-", operators.negate)):
        found += [Overload(f"#unary_operator_{name}", impl, (Param("operand", t),), "F", True) for t in (_NUM, _SPAN)]
    found.append(Overload("#unary_operator_not", operators.logical_not, (Param("arg"),), "F", True))
    found.append(Overload("#indexer", operators.index, (Param("list", _SEQ), Param("index", _INT)), "F", True))
    key = (Param("dict", _DICT), Param("key"))
    found.append(Overload("#indexer", operators.index, key, "F", True))
    found.append(Overload("#indexer", operators.index, (*key, Param("default")), "F", True))
    found.append(
        Overload("#operator_.", operators.attribute, (Param("receiver"), Param("expr", Type.KEYWORD)), "F", True)
    )
    for declared in (_and, _or, _safe_attribute):
        found += getattr(declared, "__yaql__")  # noqa: B009 - what the decorator left there
    return found


OVERLOADS: tuple[Overload, ...] = tuple(_overloads())


def register(table: FunctionTable) -> None:
    """Adds the operators of the standard dialect to ``table``."""
    for overload in OVERLOADS:
        table.add(overload)


def _accepted(overloads: tuple[Overload, ...]) -> dict[str, str]:
    """What each operator accepts, as one line for errors."""
    texts: dict[str, list[str]] = {}
    for overload in overloads:
        if not any(p.check for p in overload.params):
            word = overload.name.rpartition("_")[2]
            types = [p.type.value for p in overload.params]
            if overload.name == "#indexer":
                text = f"{types[0]}[{', '.join(types[1:])}]"
            else:
                text = f" {word} ".join(types) if len(types) == 2 else f"{word} {types[0]}"
            texts.setdefault(overload.name, []).append(text)
    return {name: "accepted: " + "; ".join(found) for name, found in texts.items()}


operators.ACCEPTED.update(_accepted(OVERLOADS))
