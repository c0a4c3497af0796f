"""Calls in the closure tier: arguments, library functions, methods, host objects, ``let``, ``with`` and ``def``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from vetro.yaql import ast, failures, scopes
from vetro.yaql.candidates import candidates, mapping_error, takes_rules
from vetro.yaql.context import CodeContext, Dialect
from vetro.yaql.dispatch import Plan, dispatcher
from vetro.yaql.environment import Env
from vetro.yaql.errors import NoFunctionRegistered, YaqlError
from vetro.yaql.resolve import pick
from vetro.yaql.shape import Shape
from vetro.yaql.signature import FunctionTable
from vetro.yaql.types import _is_callable
from vetro.yaql.values import MISSING, HostObject, Missing

Fn = Callable[[Env], Any]
Build = Callable[[ast.Node, Dialect], Fn]


# --- arguments ------------------------------------------------------------------------------------------------------


def _split(args: Sequence[ast.Node]) -> tuple[list[ast.Node], list[ast.Pair]]:
    return [a for a in args if not isinstance(a, ast.Pair)], [a for a in args if isinstance(a, ast.Pair)]


def _word(key: ast.Node) -> str | None:
    return key.value if isinstance(key, ast.Constant) and key.bare and isinstance(key.value, str) else None


def _last_of_each(pairs: list[ast.Pair]) -> list[ast.Pair]:
    """Of a keyword given twice only the last one counts."""
    return list({_word(p.key) or index: p for index, p in enumerate(pairs)}.values())


def _literal(number: int, node: ast.Node) -> tuple[tuple[int, Any], ...]:
    if isinstance(node, ast.Constant):
        return ((number, node.value),)
    return ((number, MISSING),) if isinstance(node, ast.Empty) else ()


class Site:
    """The arguments of one call in source order, and the plan that serves it."""

    __slots__ = (
        "build",
        "dialect",
        "keywords",
        "name",
        "named",
        "nodes",
        "plan",
        "positional",
        "rules",
        "shape",
        "style",
    )

    def __init__(
        self, name: str, style: str, args: Sequence[ast.Node], dialect: Dialect, build: Build, table: FunctionTable
    ) -> None:
        self.name, self.style, self.dialect, self.build = name, style, dialect, build
        self.positional, pairs = _split(args)
        shift = 1 if style == "M" else 0
        try:
            self.rules = bool(pairs) and takes_rules(table, name, style)
        except YaqlError:
            self.rules = False
        self.named = pairs if self.rules else _last_of_each(pairs)
        self.keywords = tuple(_word(pair.key) for pair in self.named)
        literals = [lit for i, node in enumerate(self.positional, shift) for lit in _literal(i, node)]
        count = shift + len(self.positional)
        if self.rules:
            self.nodes = [*self.positional, *(side for pair in self.named for side in (pair.key, pair.value))]
        else:
            self.nodes = [*self.positional, *(pair.value for pair in self.named)]
            literals += [lit for i, pair in enumerate(self.named, count) for lit in _literal(i, pair.value)]
        self.plan = dispatcher(table, dialect, name, style, count, self.keywords, literals)
        classes: list[type | None] = [None] * (count + len(self.named))
        for number, value in literals:
            classes[number] = value.__class__
        words = tuple(word for word in self.keywords if word is not None)
        self.shape = (
            Shape(count, (), tuple(classes[:count]), len(self.named))
            if self.rules
            else Shape(count, words, tuple(classes))
        )

    def makers(self, lazy: Sequence[tuple[bool, int | None]]) -> list[Fn]:
        """One function per argument that gives what is handed over: a value, or a callable where it is lazy."""
        return [
            _lazy(self.build(node, self.dialect), arity) if is_lazy else self.eager(node)
            for node, (is_lazy, arity) in zip(self.nodes, lazy, strict=False)
        ]

    def eager(self, node: ast.Node) -> Fn:
        """The argument's value; the marker where it was left out."""
        return (lambda env: MISSING) if isinstance(node, ast.Empty) else self.build(node, self.dialect)

    def plain(self) -> Callable[[Env], tuple[list[Any], dict[str, Any]]]:
        """All arguments evaluated, as host methods and values of ``lambda`` take them."""
        positional = [self.eager(node) for node in self.positional]
        pairs = _last_of_each(self.named)
        words = [_word(pair.key) for pair in pairs]
        values = [self.build(pair.value, self.dialect) for pair in pairs]

        def evaluate(env: Env) -> tuple[list[Any], dict[str, Any]]:
            args = [make(env) for make in positional]
            if None in words:
                raise mapping_error()
            return args, {word: value(env) for word, value in zip(words, values, strict=False) if word is not None}

        return evaluate


def _lazy(body: Fn, arity: int | None) -> Fn:
    """A function that makes, in an `Env`, the callable which evaluates ``body`` with values as ``$1``…"""
    if arity == 1:

        def one(env: Env) -> Any:
            cx, funcs = env.cx, env.funcs
            return lambda value: body(Env({"1": value}, env, cx, funcs))

        return one
    if arity == 2:

        def two(env: Env) -> Any:
            cx, funcs = env.cx, env.funcs
            return lambda first, second: body(Env({"1": first, "2": second}, env, cx, funcs))

        return two
    if arity == 0:
        return lambda env: lambda: body(env)
    return lambda env: lambda_value(body, env)


def lambda_value(body: Fn, env: Env) -> Callable[..., Any]:
    """``body`` as a function of any number of values; without any, ``$`` stays what it is outside."""

    def call(*args: Any, **named: Any) -> Any:
        if not args and not named:
            return body(env)
        variables = scopes.numbered(args)
        variables.update(named)
        return body(Env(variables, env, env.cx, env.funcs))

    return call


def _first_argument(plan: Plan) -> Callable[[Env], Any]:
    return (lambda env: env) if plan.needs_env else (lambda env: env.cx)


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
                return _redefined(site, node.args, env)
            table = table.parent
        return static(env)

    return evaluate


def _redefined(site: Site, args: Sequence[ast.Node], env: Env) -> Any:
    """A call of a name that ``def`` gave a meaning to."""
    table = env.funcs
    assert table is not None
    if isinstance(site.plan.error, NoFunctionRegistered):  # only `def` knows the name: nothing to choose from
        positional, named = site.plain()(env)
        layers = table.layers(site.name, "F")
        return layers[0][0].impl(*positional, **named)
    here = Site(site.name, "F", args, site.dialect, site.build, table) if site.named else site
    if here.plan.error is not None and None in here.keywords and not here.rules:
        raise mapping_error()
    found = candidates(table, site.dialect, site.name, "F", here.shape)
    values = tuple(make(env) for make in here.makers(found.lazy))
    binding = pick(found, values, site.dialect, here.shape.keywords)
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
        names = [(_word(p.key) or "", site.build(p.value, site.dialect)) for p in site.named]
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
    host: list[Callable[[Env], tuple[list[Any], dict[str, Any]]]] = []

    def hosted(env: Env, method: Callable[..., Any]) -> Any:
        if not host:
            host.append(site.plain())
        args, named = host[0](env)
        return method(*args, **named)

    def evaluate(env: Env) -> Any:
        value = receiver(env)
        if value is None and safe:
            return None
        cx = env.cx
        if cx.__class__ is not CodeContext or isinstance(value, HostObject):
            method = scopes.host_method(env, value, name)
            if method is not None:
                return hosted(env, method)
        elif value.__class__ is Env and "0" in value.vars:
            env, value = value, value.vars["0"]  # the result of `as`: methods are its receiver's
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
        if not _is_callable(function) or isinstance(function, Missing):
            raise failures.no_match("#call", "F", [o for o in scopes.DELEGATES if o.name == "#call"], (function,))
        args, named = arguments(env)
        return function(*args, **named)

    return evaluate
