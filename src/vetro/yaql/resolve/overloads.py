"""Overload resolution with values at hand, exactly as YAQL.md 3.3 describes it.

The closure tier uses it where ``def`` changed what a name means, and for ``call()``; generated dispatchers
(`vetro.yaql.resolve.dispatchers`) are its unrolled form and are tested against it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from vetro.yaql.context import CodeContext, Dialect
from vetro.yaql.environment import Env
from vetro.yaql.errors import NoMatchingFunction, NoMatchingMethod, NoMethodRegistered, UnresolvedCall
from vetro.yaql.resolve import failures
from vetro.yaql.resolve.candidates import Candidates, candidates, takes_rules
from vetro.yaql.resolve.dispatchers import Plan, dispatcher
from vetro.yaql.resolve.shape import Binding, Shape
from vetro.yaql.resolve.signature import FunctionTable
from vetro.yaql.types import accepts
from vetro.yaql.values import MISSING

__all__ = ["Candidates", "Plan", "call_function", "candidates", "dispatcher", "pick", "takes_rules"]


def _fits(binding: Binding, args: Sequence[Any], dialect: Dialect) -> bool:
    return all(
        is_lazy or value is MISSING or accepts(param, value, dialect)
        for param, value, (is_lazy, _) in zip(binding.targets, args, binding.lazy, strict=False)
    )


def pick(found: Candidates, args: Sequence[Any], dialect: Dialect, keywords: Sequence[str] = ()) -> Binding:
    """The overload that serves these arguments (items 6 and 7); lazy ones are not looked at.

    Raises `NoMatchingFunction`, `NoMatchingMethod`, `AmbiguousFunction` or `AmbiguousMethod`.
    """
    for layer in found.layers:
        fitting = [binding for binding in layer if _fits(binding, args, dialect)]
        if len(fitting) == 1:
            return fitting[0]
        for binding in fitting:
            if all(binding is other or binding.beats(other) for other in fitting):
                return binding
        if fitting:
            receiver = args[:1] if found.style == "M" else ()
            raise failures.ambiguous(found.name, found.style, found.overloads, *receiver)
    raise failures.no_match(found.name, found.style, found.overloads, args, keywords)


def _constant(value: Any) -> Callable[..., Any]:
    return lambda *args, **named: value


def call_function(
    cx: CodeContext,
    table: FunctionTable,
    name: str,
    args: Sequence[Any],
    named: Mapping[str, Any] | None = None,
    *,
    receiver: Any = MISSING,
    env: Env | None = None,
) -> Any:
    """Calls a function by name with values; with ``receiver``, a method of it.

    A parameter that expects an expression gets one that always gives the value. ``env`` is the caller's scope, needed
    only by functions that make scopes (``let``…). Raises the errors of `candidates` and `pick`, naming the receiver.
    """
    dialect = cx.dialect
    style = "F" if receiver is MISSING else "M"
    given = [*args] if receiver is MISSING else [receiver, *args]
    positional = len(given)
    classes = tuple(value.__class__ if value is MISSING else None for value in given)
    words = tuple(named or ())
    if words and takes_rules(table, name, style):
        shape = Shape(positional, (), classes, len(words))
        for word in words:
            given += (word, (named or {})[word])
    else:
        shape = Shape(positional, words, classes)
        given += (named or {}).values()
    try:
        found = candidates(table, dialect, name, style, shape)
    except UnresolvedCall as error:
        raise _named(error, table, name, style, given) from None
    binding = pick(found, given, dialect, shape.keywords)
    final = tuple(_constant(v) if is_lazy else v for v, (is_lazy, _) in zip(given, found.lazy, strict=False))
    return binding.apply(env if binding.needs_env else cx, final)


def _named(error: UnresolvedCall, table: FunctionTable, name: str, style: str, args: Sequence[Any]) -> UnresolvedCall:
    """The error of a wrong shape again, with what is known by now in its text."""
    if isinstance(error, (NoMatchingFunction, NoMatchingMethod)):
        everything = [overload for layer in table.layers(name, style) for overload in layer]
        return failures.no_match(name, style, everything, args)
    if isinstance(error, NoMethodRegistered):
        return failures.unknown(table, name, style, args[0])
    return error
