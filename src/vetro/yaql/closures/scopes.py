"""Functions that make scopes or need the caller's: ``let``, ``with``, ``def``, ``unpack``, ``call`` (YAQL.md 4.1).

Their implementations receive the caller's `Env` (marked ``__needs_env__``) in place of a `CodeContext`. The closure
tier builds the common forms of ``let``, ``with`` and ``def`` directly; these overloads serve ``call()``, unusual
argument forms and the error texts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, TypeVar

from vetro.yaql.environment import Env
from vetro.yaql.errors import NoMatchingFunction
from vetro.yaql.laziness import ROUNDS, settle
from vetro.yaql.resolve.signature import FunctionTable, Kind, Overload, Param, Type
from vetro.yaql.types import describe
from vetro.yaql.values import FROZEN, MISSING, HostObject, take_all

F = TypeVar("F", bound=Callable[..., Any])

STANDARD: list[Overload] = []
LEGACY: list[Overload] = []
DELEGATES: list[Overload] = []

_ARGS = Param("args", kind=Kind.VARARGS)
_NAMED = Param("kwargs", kind=Kind.KWARGS)


def _scoped(target: list[Overload], name: str, *params: Param, style: str = "F") -> Callable[[F], F]:
    def register(impl: F) -> F:
        impl.__needs_env__ = True  # type: ignore[attr-defined]
        target.append(Overload(name, impl, params, style, True, (impl.__doc__ or "").strip()))
        return impl

    return register


def numbered(args: tuple[Any, ...]) -> dict[str, Any]:
    """Values as variables ``$1``, ``$2``…; those left out are not set."""
    return {str(number): value for number, value in enumerate(args, 1) if value is not MISSING}


def camel(name: str) -> str:
    """The name under which ``def`` registers a host-style name: ``my_f`` is ``myF``."""
    words = name.rstrip("_")
    for position in range(len(words) - 2, 0, -1):
        if words[position] == "_" and words[position - 1] != "_" and words[position + 1] != "_":
            words = words[:position] + words[position + 1].upper() + words[position + 2 :]
    return words


def define(env: Env, name: str, body: Callable[[Env], Any]) -> Env:
    """A scope inside ``env`` with a function ``name``; ``body`` is evaluated in that scope, so it may call itself."""
    scope = Env({}, env, env.cx)
    rt = env.cx.rt
    depth = 0

    def call(*args: Any, **named: Any) -> Any:
        nonlocal depth
        variables = numbered(args)
        variables.update(named)
        rt.charge(1)
        depth += 1
        try:
            result = body(Env(variables, scope, scope.cx, scope.funcs))
        finally:
            depth -= 1
        return result if depth < ROUNDS or result.__class__ in FROZEN else settle(rt, result)

    table = FunctionTable(parent=env.funcs or env.cx.dialect.table)
    for word in {camel(name), name if name.endswith("_") else camel(name)}:
        table.add(Overload(word, call, (_ARGS, _NAMED), "F", False))
    scope.funcs = table
    return scope


@_scoped(STANDARD, "#get_context_data", Param("name", Type.STR))
def get_context_data(env: Env, name: str) -> Any:
    """The value of a variable; null where nobody set it."""
    return env.get(name.removeprefix("$") or "1")


@_scoped(STANDARD, "let", _ARGS, _NAMED)
def let(env: Env, /, *args: Any, **named: Any) -> Env:
    """A scope with ``$1``… from the arguments and ``$name`` from the keyword arguments."""
    return env.child({**numbered(args), **named})


@_scoped(STANDARD, "with", _ARGS)
def with_(env: Env, /, *args: Any) -> Env:
    """A scope with ``$1``, ``$2``…"""
    return env.child(numbered(args))


@_scoped(STANDARD, "def", Param("name", Type.STR), Param("func", Type.LAMBDA, arity=None))
def def_(env: Env, name: str, func: Callable[..., Any]) -> Env:
    """A scope with a function ``name``, of which ``func`` is the body."""
    return define(env, name, lambda inner: func(*_numbers(inner), **_names(inner)))


def _numbers(env: Env) -> list[Any]:
    count = max((int(name) for name in env.vars if name.isdigit()), default=0)
    return [env.vars.get(str(number), MISSING) for number in range(1, count + 1)]


def _names(env: Env) -> dict[str, Any]:
    return {name: value for name, value in env.vars.items() if not name.isdigit()}


@_scoped(STANDARD, "unpack", Param("sequence", Type.ITER), Param("names", Type.STR, kind=Kind.VARARGS), style="M")
def unpack(env: Env, sequence: Any, *names: str) -> Env:
    """A scope with the items as ``$1``…, or under ``names``. Raises ValueError when their numbers differ."""
    if not names:
        items = take_all(sequence, env.cx.rt.limits.max_sequence)
        return env.child(numbered(tuple(items)))
    found = list(itertools.islice(sequence, len(names) + 1))
    if len(found) != len(names):
        count = str(len(sequence)) if hasattr(sequence, "__len__") else str(len(found))
        raise ValueError(f"Cannot unpack {count} elements into {len(names)}")
    return env.child({_variable(name): value for name, value in zip(names, found, strict=False)})


def _variable(name: str) -> str:
    return name.removeprefix("$") or "1"


@_scoped(
    STANDARD,
    "call",
    Param("name", Type.STR),
    Param("args", Type.SEQ),
    Param("kwargs", Type.DICT),
    Param("receiver", default=MISSING),
)
def call(env: Env, name: str, args: Any, kwargs: Any, receiver: Any = MISSING) -> Any:
    """Calls the function ``name``, or that method of ``receiver``, with values.

    Raises what the call itself would; TypeError when a keyword is no text.
    """
    from vetro.yaql.resolve.overloads import call_function  # resolution knows these overloads by their tables only

    named = dict(kwargs)
    for word in named:
        if not isinstance(word, str):
            raise TypeError(f"keyword arguments need text as names, not {describe(word)}")
    if receiver is not MISSING:
        method = host_method(env, receiver, name)
        if method is not None:
            return method(*args, **named)
    table = env.funcs or env.cx.dialect.table
    return call_function(env.cx, table, name, tuple(args), named, receiver=receiver, env=env)


def host_method(env: Env, receiver: Any, name: str) -> Callable[..., Any] | None:
    """The method of a host object, or the host's extension method for any value; None where the library is asked."""
    if isinstance(receiver, HostObject):
        method = receiver.yaql_method(name, env.cx)
        if method is not None:
            return method
    return env.cx.find_extension(name, receiver)


@_scoped(LEGACY, "as", Param("receiver"), Param("args", Type.LAMBDA, kind=Kind.VARARGS, arity=1), style="M")
def as_(env: Env, receiver: Any, *args: Callable[[Any], Any]) -> Env:
    """A scope with ``$name`` for each ``expr => name`` and the receiver as ``$0``. Raises ValueError for others."""
    variables: dict[str, Any] = {}
    for arg in args:
        pair = arg(receiver)
        if pair.__class__ is not tuple or len(pair) != 2 or not isinstance(pair[1], str):
            raise ValueError("as() must have tuple parameters")
        variables[_variable(pair[1])] = pair[0]
    variables["0"] = receiver
    return env.child(variables)


@_scoped(DELEGATES, "lambda", Param("func", Type.LAMBDA, arity=None))
def lambda_(env: Env, func: Callable[..., Any]) -> Callable[..., Any]:
    """The expression as a value that can be called; it sees the variables of the place where it stands."""
    return func


@_scoped(DELEGATES, "#call", Param("callable", Type.CALLABLE), _ARGS, _NAMED)
def call_value(env: Env, callable_: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
    """Calls what ``lambda`` made."""
    return callable_(*args, **named)


def no_context(left: Any) -> NoMatchingFunction:
    """The error of ``left -> right`` where the left side is no scope."""
    error = NoMatchingFunction(f'No function "#operator_->" matches supplied arguments ({describe(left)}, expression)')
    error.hint = "the left side must be a context: let(...), with(...), def(...) or value.unpack(...)"
    return error


def register(table: FunctionTable, *, legacy: bool = False, delegates: bool = False) -> None:
    """Adds these functions to ``table``; with ``legacy`` or ``delegates`` only those of that extension."""
    for overload in LEGACY if legacy else DELEGATES if delegates else STANDARD:
        table.add(overload)
