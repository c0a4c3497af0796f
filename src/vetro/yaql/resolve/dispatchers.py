"""Generated dispatchers: one Python function per name and shape of call.

What `vetro.yaql.resolve.overloads` does with loops over overloads and parameters is unrolled here into class tests
written as Python source, so that a call of a function with one overload costs its tests and the call itself. Plans are
kept with the function table they belong to.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import Any, NoReturn

from vetro.data_classes import dataclass
from vetro.yaql.context import Dialect
from vetro.yaql.errors import YaqlError
from vetro.yaql.resolve import failures
from vetro.yaql.resolve.candidates import Candidates, candidates, mapping_error, takes_rules
from vetro.yaql.resolve.shape import Binding, Fixed, Pack, Shape, Source
from vetro.yaql.resolve.signature import FunctionTable, Overload, Type
from vetro.yaql.types import CHECK_NAMES, check_source, overlap
from vetro.yaql.values import Missing

#: So many plans are kept with a table; texts of strangers may have any number of shapes.
MAX_PLANS = 4096


@dataclass(slots=True)
class Plan:
    """How one shape of call is made.

    ``lazy`` tells for every argument whether it is handed over unevaluated, as a Python callable, and with how many
    values that will be called (None: any number, keywords possible). ``call(cx, *args)`` takes the arguments in source
    order: positional ones (the receiver first), keyword arguments, then key and value of each mapping rule; arguments
    left out are `MISSING`. It raises `NoMatchingFunction` and its kin. Where ``needs_env`` is set the first argument
    is the caller's `Env` instead of its context. ``error`` is set when the shape alone is wrong: then nothing may be
    evaluated but the receiver, and ``make_error`` gives the exception to raise.
    """

    name: str
    style: str
    lazy: tuple[tuple[bool, int | None], ...]
    call: Callable[..., Any]
    rules: bool = False
    needs_env: bool = False
    error: YaqlError | None = None
    #: Makes a fresh exception of `error`, naming the receiver where one is given.
    make_error: Callable[..., YaqlError] = field(default=lambda *args: YaqlError("no error"))


def dispatcher(
    table: FunctionTable,
    dialect: Dialect,
    name: str,
    style: str,
    n_positional: int,
    keyword_names: Sequence[str | None] = (),
    constants: Iterable[tuple[int, Any]] = (),
) -> Plan:
    """The plan for calls of ``name`` with this shape; never raises, see `Plan.error`.

    ``n_positional`` counts the receiver of a method. ``keyword_names`` holds the word left of each ``=>``, None where
    that is no bare word; for functions that take mapping rules only their number matters. ``constants`` holds
    (argument number, value) of literals, with `MISSING` as value of those left out.
    """
    known: list[type | None] = [None] * (n_positional + len(keyword_names))
    for number, value in constants:
        known[number] = value.__class__
    classes = tuple(known)
    key = (name, style, n_positional, tuple(keyword_names), classes, dialect.iterable_dicts, dialect.legacy)
    plan = table.plans.get(key)
    if plan is None:
        if len(table.plans) >= MAX_PLANS:
            table.plans.clear()
        plan = table.plans[key] = _make(table, dialect, name, style, n_positional, tuple(keyword_names), classes)
    return plan


def _make(
    table: FunctionTable,
    dialect: Dialect,
    name: str,
    style: str,
    n_positional: int,
    keywords: tuple[str | None, ...],
    classes: tuple[type | None, ...],
) -> Plan:
    size = n_positional + len(keywords)
    try:
        rules = takes_rules(table, name, style)
        if rules:
            shape = Shape(n_positional, (), classes[:n_positional], len(keywords))
        elif None in keywords:
            raise mapping_error()
        else:
            shape = Shape(n_positional, tuple(k for k in keywords if k is not None), classes)
        found = candidates(table, dialect, name, style, shape)
    except YaqlError as error:
        # The plan lives as long as its table: it must not keep the frames of whoever asked first alive.
        error.__traceback__ = error.__context__ = None
        return _failed(error, table, name, style, size)
    return Plan(name, style, found.lazy, _generate(found, shape, dialect), rules, _needs_env(found))


def _needs_env(found: Candidates) -> bool:
    return any(binding.needs_env for layer in found.layers for binding in layer)


def _failed(error: YaqlError, table: FunctionTable, name: str, style: str, size: int) -> Plan:
    def make_error(receiver: Any = Missing) -> YaqlError:
        fresh = type(error)(error.message)
        fresh.hint = error.hint
        if style == "M" and receiver is not Missing:
            words = failures.receiver_text(receiver)
            text = error.message
            mark = f'"{name}"'
            fresh = type(error)(text.replace(mark, f"{mark} for receiver {words}", 1))
            fresh.hint = error.hint
        return fresh

    def call(cx: Any, *args: Any) -> NoReturn:
        raise make_error(args[0]) if style == "M" and args else make_error()

    return Plan(name, style, ((False, None),) * size, call, error=error, make_error=make_error)


def _condition(binding: Binding, shape: Shape, dialect: Dialect, names: dict[str, Any]) -> str:
    tests: list[str] = []
    for number, param in enumerate(binding.targets):
        cls = shape.classes[number] if number < len(shape.classes) else None
        if param.type is Type.LAMBDA or cls is Missing or (cls is not None and param.check is None):
            continue
        test = check_source(param, f"a{number}", dialect, names)
        if test != "True":
            tests.append(test)
    return " and ".join(tests) or "True"


def _source(source: Source, names: dict[str, Any]) -> str:
    if isinstance(source, int):
        return f"a{source}"
    if isinstance(source, Pack):
        return "(" + "".join(_source(item, names) + ", " for item in source.items) + ")"
    return _fixed(source, names)


def _fixed(source: Fixed, names: dict[str, Any]) -> str:
    value = source.value
    if value is None or value.__class__ in (bool, int, str):
        return repr(value)
    key = f"d{len(names)}"
    names[key] = value
    return key


def _call_text(binding: Binding, names: dict[str, Any]) -> str:
    impl = f"f{len(names)}"
    names[impl] = binding.overload.impl
    parts = ["cx"] if binding.overload.needs_cx else []
    parts += [_source(source, names) for source in binding.positional]
    for word, source in binding.named:
        plain = word.isidentifier() and not keyword.iskeyword(word)
        parts.append(f"{word}={_source(source, names)}" if plain else f"**{{{word!r}: {_source(source, names)}}}")
    return f"{impl}({', '.join(parts)})"


def _is_direct(binding: Binding, shape: Shape) -> bool:
    """True when the implementation can be called with the arguments as they come."""
    return binding.overload.needs_cx and not binding.named and binding.positional == tuple(range(shape.size))


def _rivals(layer: tuple[Binding, ...], own: Binding, dialect: Dialect) -> list[int]:
    """Overloads of a layer that may fit together with ``own`` without giving way to it."""
    found = []
    for number, other in enumerate(layer):
        if other is own or own.beats(other):
            continue
        pairs = zip(own.targets, other.targets, strict=False)
        if all(a.lazy or b.lazy or overlap(a, b, dialect) for a, b in pairs):
            found.append(number)
    return found


def _generate(found: Candidates, shape: Shape, dialect: Dialect) -> Callable[..., Any]:
    names: dict[str, Any] = dict(CHECK_NAMES)
    args = "".join(f", a{number}" for number in range(shape.size))
    lines: list[str] = []
    complete = False
    for layer in found.layers:
        conditions = [_condition(binding, shape, dialect, names) for binding in layer]
        if conditions == ["True"] and not lines and _is_direct(layer[0], shape):
            return layer[0].overload.impl
        contested: list[str] = []
        for binding, condition in zip(layer, conditions, strict=False):
            rivals = [conditions[i] for i in _rivals(layer, binding, dialect)]
            test = " and ".join([condition, *(f"not ({rival})" for rival in rivals)])
            call = _call_text(binding, names)
            lines.append(f"return {call}" if test == "True" else f"if {test}: return {call}")
            complete = test == "True"
            if complete:
                break
            if rivals:
                contested.append(condition)
        if complete:
            break
        if contested:
            lines.append(f"if {' or '.join(f'({c})' for c in contested)}: ambiguous(cx{args})")
    if not complete:
        lines.append(f"fail(cx{args})")
    names["fail"], names["ambiguous"] = _raisers(found.name, found.style, found.overloads, shape)
    text = f"def call(cx{args}):\n" + "".join(f"    {line}\n" for line in lines)
    exec(compile(text, f"<call of {found.name}>", "exec"), names)
    return names["call"]  # type: ignore[no-any-return]


def _raisers(
    name: str, style: str, overloads: tuple[Overload, ...], shape: Shape
) -> tuple[Callable[..., NoReturn], Callable[..., NoReturn]]:
    def fail(cx: Any, *args: Any) -> NoReturn:
        raise failures.no_match(name, style, overloads, args, shape.keywords)

    def ambiguous(cx: Any, *args: Any) -> NoReturn:
        raise (
            failures.ambiguous(name, style, overloads, *args[:1])
            if style == "M"
            else failures.ambiguous(name, style, overloads)
        )

    return fail, ambiguous
