"""Fitting the shape of a call (how many arguments, which keywords, which constants) to overloads.

This is the part of overload resolution that needs no values (YAQL.md 3.3, items 3 to 5). Its results serve both the
dynamic resolution in `vetro.yaql.resolve.overloads` and the generated dispatchers in `vetro.yaql.resolve.dispatchers`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from vetro.data_classes import dataclass
from vetro.yaql.context import Dialect
from vetro.yaql.resolve.signature import REQUIRED, Kind, Overload, Param, Type
from vetro.yaql.types import RegexBase, predicate, specific_by_types
from vetro.yaql.values import MISSING, FDict, Missing


@dataclass(frozen=True, slots=True)
class Shape:
    """What is known of a call before anything is evaluated.

    Arguments are numbered in source order: the positional ones (the receiver of a method is number 0), then one each
    for ``keywords``, then two each (key, value) for ``pairs``, the mapping rules. ``classes`` holds the class of each
    constant argument, `Missing` for one left out, None where nothing is known.
    """

    positional: int
    keywords: tuple[str, ...] = ()
    classes: tuple[type | None, ...] = ()
    pairs: int = 0

    @property
    def size(self) -> int:
        """How many arguments there are, keys and values of rules counted each."""
        return self.positional + len(self.keywords) + 2 * self.pairs


@dataclass(frozen=True, slots=True)
class Fixed:
    """A value that is no argument: a default."""

    value: Any


@dataclass(frozen=True, slots=True)
class Pack:
    """Arguments handed over as one tuple."""

    items: tuple[Source, ...]


Source = int | Fixed | Pack

_SAMPLES: dict[type, Any] = {
    type(None): None, bool: True, int: 1, float: 1.0, str: "", Missing: MISSING, tuple: (), FDict: FDict(),
    RegexBase: RegexBase(),
}  # fmt: skip
#: A value of each class that the compiler may know of an argument, by the name it has there.
KNOWN: dict[str, Any] = {
    "null": None, "bool": True, "int": 1, "float": 1.0, "str": "", "tuple": (), "map": FDict(), "regex": RegexBase(),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Binding:
    """An overload whose shape fits a call.

    ``targets`` is the parameter each argument meets; ``positional`` and ``named`` say what the implementation is
    called with.
    """

    overload: Overload
    targets: tuple[Param, ...]
    positional: tuple[Source, ...]
    named: tuple[tuple[str, Source], ...]
    #: Which arguments stay unevaluated, and how many values the callee will pass them.
    lazy: tuple[tuple[bool, int | None], ...]

    def beats(self, other: Binding) -> bool:
        """True when this overload wins where both fit (item 7)."""
        return specific_by_types([(a.type, b.type) for a, b in zip(self.targets, other.targets, strict=False)])

    @property
    def needs_env(self) -> bool:
        """True when the implementation wants the caller's `Env` instead of its `CodeContext`."""
        return bool(getattr(self.overload.impl, "__needs_env__", False))

    def apply(self, cx: Any, args: tuple[Any, ...]) -> Any:
        """Calls the implementation with the given arguments, which were checked before."""

        def value(source: Source) -> Any:
            if isinstance(source, int):
                return args[source]
            return source.value if isinstance(source, Fixed) else tuple(value(item) for item in source.items)

        given = [value(source) for source in self.positional]
        named = {name: value(source) for name, source in self.named}
        return (
            self.overload.impl(cx, *given, **named) if self.overload.needs_cx else self.overload.impl(*given, **named)
        )


@functools.lru_cache(maxsize=4096)
def _python_parameters(impl: Callable[..., Any], skip: bool) -> tuple[inspect.Parameter, ...]:
    return tuple(inspect.signature(impl).parameters.values())[1 if skip else 0 :]


def accepts_class(param: Param, cls: type, dialect: Dialect) -> bool:
    """True when constants of class ``cls`` may be passed for ``param`` (its own ``check`` is left to run time)."""
    if cls is Missing:
        return param.type is Type.ANY
    if cls not in _SAMPLES:
        return True
    if cls is type(None):
        return param.accepts_null or param.type is Type.LAMBDA
    return predicate(param.type, dialect)(_SAMPLES[cls])


def _hidden(overload: Overload, index: int, rest: Param | None) -> bool:
    """True for a parameter whose name is free for the caller's own keywords: positional-only beside ``**kwargs``."""
    if rest is None:
        return False
    python = _python_parameters(overload.impl, overload.needs_cx)
    return index < len(python) and python[index].kind is inspect.Parameter.POSITIONAL_ONLY


def _assign(overload: Overload, shape: Shape) -> tuple[list[Param], dict[int, list[int]], dict[str, int]] | None:
    """Which parameter each argument meets: targets by argument, arguments by parameter number, extra keywords."""
    params = overload.params
    targets: list[Param] = []
    by_param: dict[int, list[int]] = {}
    extra: dict[str, int] = {}
    skipped: set[int] = set()
    at = 0
    for number in range(shape.positional):
        if at >= len(params) or params[at].kind in (Kind.KWARGS, Kind.RULES):
            return None
        targets.append(params[at])
        left_out = shape.classes[number] is Missing if number < len(shape.classes) else False
        if not left_out or params[at].kind is Kind.VARARGS:
            by_param.setdefault(at, []).append(number)
        else:
            skipped.add(at)
        if params[at].kind is Kind.NORMAL:
            at += 1
    rest = next((p for p in params if p.kind is Kind.KWARGS), None)
    names = {p.name: i for i, p in enumerate(params) if p.kind is Kind.NORMAL and not _hidden(overload, i, rest)}
    for offset, keyword in enumerate(shape.keywords):
        number = shape.positional + offset
        index = names.get(keyword)
        if index is not None:
            if index in skipped or (index in by_param and by_param[index][0] < shape.positional):
                return None  # given (or left out) by position and by name; of one name given twice the last counts
            by_param[index] = [number]
            targets.append(params[index])
        elif rest is not None:
            extra[keyword] = number
            targets.append(rest)
        else:
            return None
    if shape.pairs:
        index = next((i for i, p in enumerate(params) if p.kind is Kind.RULES), -1)
        if index < 0:
            return None
        first = shape.positional + len(shape.keywords)
        by_param[index] = list(range(first, shape.size))
        targets.extend(params[index] for _ in range(2 * shape.pairs))
    return targets, by_param, extra


def _layout(
    overload: Overload, by_param: dict[int, list[int]], extra: dict[str, int]
) -> tuple[list[Source], list[tuple[str, Source]]] | None:
    python = _python_parameters(overload.impl, overload.needs_cx)
    positional: list[Source] = []
    named: list[tuple[str, Source]] = []
    for index, param in enumerate(overload.params):
        numbers = by_param.get(index)
        host = python[min(index, len(python) - 1)] if python else None
        spread = host is not None and host.kind is inspect.Parameter.VAR_POSITIONAL
        if param.kind is Kind.NORMAL:
            if numbers is None and param.default is REQUIRED:
                return None
            source: Source = numbers[0] if numbers else Fixed(param.default)
            if host is not None and host.kind is inspect.Parameter.KEYWORD_ONLY:
                named.append((host.name, source))
            else:
                positional.append(source)
        elif param.kind is Kind.KWARGS:
            named.extend(extra.items())
        else:
            items: tuple[Source, ...] = tuple(numbers or ())
            if param.kind is Kind.RULES:
                items = tuple(Pack(items[i : i + 2]) for i in range(0, len(items), 2))
            if spread:
                positional.extend(items)
            elif host is not None and host.kind is inspect.Parameter.KEYWORD_ONLY:
                named.append((host.name, Pack(items)))
            else:
                positional.append(Pack(items))
    return positional, named


def bind(overload: Overload, shape: Shape, dialect: Dialect) -> Binding | None:
    """``overload`` bound to the call, or None when its shape or the type of a constant does not fit (item 4)."""
    assigned = _assign(overload, shape)
    if assigned is None:
        return None
    targets, by_param, extra = assigned
    layout = _layout(overload, by_param, extra)
    if layout is None:
        return None
    lazy: list[tuple[bool, int | None]] = []
    for number, param in enumerate(targets):
        cls = shape.classes[number] if number < len(shape.classes) else None
        if cls is Missing and param.kind is Kind.NORMAL:
            lazy.append((False, None))
            continue
        if cls is not None and not accepts_class(param, cls, dialect):
            return None
        lazy.append((param.lazy, param.arity if param.lazy else None))
    return Binding(overload, tuple(targets), tuple(layout[0]), tuple(layout[1]), tuple(lazy))
