"""Calls in the closure tier: arguments, library functions, methods, host objects, ``let``, ``with`` and ``def``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from vetro.yaql import ast
from vetro.yaql.closures import scopes
from vetro.yaql.closures.arguments import Build, Fn, Site, word_of
from vetro.yaql.context import CodeContext, Dialect
from vetro.yaql.environment import Env
from vetro.yaql.errors import NoFunctionRegistered
from vetro.yaql.resolve import failures
from vetro.yaql.resolve.candidates import candidates, mapping_error
from vetro.yaql.resolve.overloads import pick
from vetro.yaql.types import is_callable
from vetro.yaql.values import HostObject, Missing

# --- functions ------------------------------------------------------------------------------------------------------


def table_call(name: str, args: Sequence[ast.Node], dialect: Dialect, build: Build) -> Fn:
    """A call that ``def`` cannot change: operators and displays."""
    return _planned(Site(name, "F", args, dialect, build, dialect.table))


def _planned(site: Site) -> Fn:
    plan = site.plan
    if plan.error is not None:

        def fail(env: Env) -> Any:
            raise plan.make_error()

        return fail
    call, makers = plan.call, site.makers(plan.lazy)
    if plan.needs_env:
        return lambda env: call(env, *[make(env) for make in makers])
    if len(makers) == 1:
        only = makers[0]
        return lambda env: call(env.cx, only(env))
    if len(makers) == 2:
        first, second = makers
        return lambda env: call(env.cx, first(env), second(env))
    return lambda env: call(env.cx, *[make(env) for make in makers])


def function_call(node: ast.Call, dialect: Dialect, build: Build) -> Fn:
    """``name(args)``."""
    site = Site(node.name, "F", node.args, dialect, build, dialect.table)
    static = _scope_call(site) or _planned(site)
    name, base = node.name, dialect.table

    def evaluate(env: Env) -> Any:
        table = env.funcs
        while table is not None and table is not base:
            if name in table.functions:
                return _redefined(site, env)
            table = table.parent
        return static(env)

    return evaluate


def _redefined(site: Site, env: Env) -> Any:
    """A call of a name that ``def`` gave a meaning to."""
    table = env.funcs
    assert table is not None
    if isinstance(site.plan.error, NoFunctionRegistered):  # only `def` knows the name: nothing to choose from
        positional, named = site.plain()(env)
        layers = table.layers(site.name, "F")
        return layers[0][0].impl(*positional, **named)
    if None in site.keywords:
        raise mapping_error()  # what `def` makes takes no mapping rules
    if site.rules:
        layers = table.layers(site.name, "F")
        raise failures.ambiguous(site.name, "F", [overload for layer in layers for overload in layer])
    found = candidates(table, site.dialect, site.name, "F", site.shape)
    values = tuple(make(env) for make in site.makers(found.lazy))
    binding = pick(found, values, site.dialect, site.shape.keywords)
    return binding.apply(env if binding.needs_env else env.cx, values)


def _scope_call(site: Site) -> Fn | None:
    """``let``, ``with`` and ``def`` in their usual forms, without a detour over the table."""
    layers = site.dialect.table.layers(site.name, "F")
    own = layers[0][0].impl if layers and site.plan.error is None else None
    if own is scopes.def_ and len(site.positional) == 2 and not site.named:
        name, body = site.eager(site.positional[0]), site.build(site.positional[1], site.dialect)
        plan = site.plan

        def define(env: Env) -> Any:
            word = name(env)
            if not isinstance(word, str):
                return plan.call(env, word, None)
            return scopes.define(env, word, body)

        return define
    if own is scopes.let or own is scopes.with_:
        numbers = [(str(i), site.eager(n)) for i, n in enumerate(site.positional, 1) if not isinstance(n, ast.Empty)]
        names = [(word_of(p.key) or "", site.build(p.value, site.dialect)) for p in site.named]
        variables = [*numbers, *names]
        return lambda env: Env({name: make(env) for name, make in variables}, env, env.cx, env.funcs)
    return None


# --- methods --------------------------------------------------------------------------------------------------------


def method_call(node: ast.MethodCall, dialect: Dialect, build: Build) -> Fn:
    """``receiver.name(args)``: a host object's method, a host's extension, or one of the library."""
    receiver, name, safe = build(node.receiver, dialect), node.name, node.safe
    site = Site(name, "M", node.args, dialect, build, dialect.table)
    plan = site.plan
    call, makers = plan.call, site.makers(plan.lazy[1:])
    only = makers[0] if len(makers) == 1 else None
    open_, broken = plan.needs_env, plan.error is not None

    def hosted(env: Env, method: Callable[..., Any]) -> Any:
        args, named = site.plain()(env)
        return method(*args, **named)

    def evaluate(env: Env) -> Any:
        value = receiver(env)
        if value is None and safe:
            return None
        if value.__class__ is Env and "0" in value.vars:
            env, value = value, value.vars["0"]  # the result of `as`: methods are its receiver's
        cx = env.cx
        if cx.__class__ is not CodeContext or isinstance(value, HostObject):
            method = scopes.host_method(env, value, name)
            if method is not None:
                return hosted(env, method)
        if broken:
            raise plan.make_error(value)
        if open_:
            return call(env, value, *[make(env) for make in makers])
        if only is not None:
            return call(cx, value, only(env))
        return call(cx, value, *[make(env) for make in makers])

    return evaluate


def index_call(node: ast.Index, dialect: Dialect, build: Build) -> Fn:
    """``receiver[args]`` in other forms than one plain index, and in the legacy dialect."""
    return table_call("#indexer", (node.receiver, *node.args), dialect, build)


def invoke(node: ast.Invoke, dialect: Dialect, build: Build) -> Fn:
    """``value(args)``: calls what ``lambda`` made."""
    target = build(node.target, dialect)
    arguments = Site("#call", "F", node.args, dialect, build, dialect.table).plain()

    def evaluate(env: Env) -> Any:
        function = target(env)
        if not is_callable(function) or isinstance(function, Missing):
            raise failures.no_match("#call", "F", [o for o in scopes.DELEGATES if o.name == "#call"], (function,))
        args, named = arguments(env)
        return function(*args, **named)

    return evaluate
