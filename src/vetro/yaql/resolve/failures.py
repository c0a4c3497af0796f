"""Errors of calls that cannot be resolved: their classes and texts (YAQL.md 3.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from vetro.diagnostics import Text
from vetro.yaql.brief import brief
from vetro.yaql.errors import (
    AmbiguousFunction,
    AmbiguousMethod,
    NoFunctionRegistered,
    NoMatchingFunction,
    NoMatchingMethod,
    NoMethodRegistered,
    UnresolvedCall,
)
from vetro.yaql.resolve.signature import FunctionTable, Kind, Overload, Type
from vetro.yaql.types import describe
from vetro.yaql.values import MISSING, HostObject

_SHOWN = 6


def signature_text(overload: Overload) -> str:
    """``name(left: num, right: num = 0)`` as hints show it; methods with their receiver before the dot."""
    shown: list[str] = []
    for param in overload.params:
        type_ = "expression" if param.lazy else param.type.value
        text = f"{param.name}: {type_}" + ("?" if param.nullable and param.type is not Type.ANY else "")
        if param.kind is Kind.VARARGS:
            text = "..." + text
        elif param.kind is Kind.KWARGS:
            text = "**" + text
        elif param.kind is Kind.RULES:
            text = f"...{param.name} => value"
        elif param.default is None:
            text += " = null"
        elif type(param.default) in (bool, int, float, str):
            text += f" = {str(param.default).lower() if isinstance(param.default, bool) else repr(param.default)}"
        shown.append(text)
    if overload.style == "M" and shown:
        return f"({shown[0]}).{overload.name}({', '.join(shown[1:])})"
    return f"{overload.name}({', '.join(shown)})"


def receiver_text(value: Any) -> str:
    """A receiver as messages show it: scalars by value and type, everything else by type."""
    if value is None or isinstance(value, HostObject) or not isinstance(value, (bool, int, float, str)):
        return describe(value)
    text = str(value).lower() if isinstance(value, bool) else brief(value, 38)
    return f"{text} ({describe(value)})"


def unknown(table: FunctionTable, name: str, style: str, receiver: Any = MISSING) -> UnresolvedCall:
    """Nobody defined ``name`` in this style."""
    error: UnresolvedCall
    if style == "M":
        suffix = (
            "" if receiver is MISSING else Text(" for receiver {receiver_text}", receiver_text=receiver_text(receiver))
        )
        error = NoMethodRegistered(Text('Unknown method "{name}"{suffix}', name=name, suffix=suffix))
        if table.has(name, "F"):
            error.hint = Text("{name} is a function: write {name}(...) without a receiver", name=name)
    else:
        error = NoFunctionRegistered(Text('Unknown function "{name}"', name=name))
        if table.has(name, "M"):
            error.hint = Text("{name} is a method: write value.{name}(...)", name=name)
    if error.hint is None:
        close = _suggest(name, names(table, style))
        error.hint = Text("did you mean {close}?", close=close) if close else None
    return error


def no_attribute(receiver: Any, name: str) -> NoFunctionRegistered:
    """The error of ``receiver.name`` where there is nothing of that name (YAQL.md 2.3)."""
    kind = describe(receiver)
    error = NoFunctionRegistered(
        Text('".{name}" is read of {kind}, which has nothing of that name', name=name, kind=kind)
    )
    if receiver is None:
        error.hint = Text("what stands before the dot was not set, or nothing of that name was found; ?. allows it")
    error.attribute = name
    return error


def _suggest(name: str, known: Iterable[str]) -> str | None:
    from vetro.yaql.didyoumean import suggest  # only on the way to an error

    return suggest(name, known)


def names(table: FunctionTable, style: str) -> list[str]:
    """The names an author may call in ``style``, operators left out."""
    found: set[str] = set()
    layer: FunctionTable | None = table
    while layer is not None:
        found.update(
            n for n, all_ in layer.functions.items() if n[0] not in "#*" and any(style in o.style for o in all_)
        )
        layer = layer.parent
    return sorted(found)


def _with_candidates(error: UnresolvedCall, candidates: Sequence[Overload]) -> UnresolvedCall:
    texts = list(dict.fromkeys(signature_text(o) for o in candidates))
    if texts:
        more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
        error.hint = Text("accepted: {texts}{more}", texts="; ".join(texts[:_SHOWN]), more=more)
    return error


def no_match(
    name: str,
    style: str,
    candidates: Sequence[Overload],
    args: Sequence[Any] | None,
    named: Sequence[str] = (),
    words: Sequence[str] | None = None,
) -> UnresolvedCall:
    """Overloads of ``name`` exist, none accepts ``args``, whose last ones carry the names ``named``.

    ``args`` is None while nothing is evaluated yet; then ``words`` say what is known of their types.
    """
    shown = ""
    types = [describe(value) for value in args] if args is not None else list(words or ())
    if args is not None or words is not None:
        for offset, keyword in enumerate(named, len(types) - len(named)):
            types[offset] = f"{keyword} => {types[offset]}"
        shown = Text(" ({types})", types=", ".join(types[1:] if style == "M" else types))
    if style == "M":
        suffix = Text(" for receiver {receiver_text}", receiver_text=receiver_text(args[0])) if args else ""
        error = _with_candidates(
            NoMatchingMethod(
                Text(
                    'No method "{name}"{suffix} matches supplied arguments{shown}',
                    name=name,
                    suffix=suffix,
                    shown=shown,
                )
            ),
            candidates,
        )
        if name == "contains" and args and isinstance(args[0], str):
            error.hint = Text("whether a text has a part: part in text")
        return error
    return _with_candidates(
        NoMatchingFunction(Text('No function "{name}" matches supplied arguments{shown}', name=name, shown=shown)),
        candidates,
    )


def ambiguous(name: str, style: str, candidates: Sequence[Overload], receiver: Any = MISSING) -> UnresolvedCall:
    """Several overloads fit and none is the most specific."""
    if style == "M":
        suffix = (
            "" if receiver is MISSING else Text(" for receiver {receiver_text}", receiver_text=receiver_text(receiver))
        )
        return _with_candidates(
            AmbiguousMethod(Text('Ambiguous method "{name}"{suffix}', name=name, suffix=suffix)), candidates
        )
    return _with_candidates(AmbiguousFunction(Text('Ambiguous function "{name}"', name=name)), candidates)
