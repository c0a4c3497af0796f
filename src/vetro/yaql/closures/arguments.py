"""Arguments of calls in the closure tier: what is constant, what is left out, what stays unevaluated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from vetro.yaql import ast
from vetro.yaql.closures import scopes
from vetro.yaql.context import Dialect
from vetro.yaql.environment import Env
from vetro.yaql.errors import YaqlError
from vetro.yaql.resolve.candidates import mapping_error, takes_rules
from vetro.yaql.resolve.dispatchers import dispatcher
from vetro.yaql.resolve.shape import Shape
from vetro.yaql.resolve.signature import FunctionTable
from vetro.yaql.values import MISSING

Fn = Callable[[Env], Any]
Build = Callable[[ast.Node, Dialect], Fn]

#: Functions of the legacy library to which ``key => value`` is a value, the list of the two.
PAIR_TAKERS = frozenset({"dict", "#map", "switch", "as"})


def _split(args: Sequence[ast.Node]) -> tuple[list[ast.Node], list[ast.Pair]]:
    return [a for a in args if not isinstance(a, ast.Pair)], [a for a in args if isinstance(a, ast.Pair)]


def word_of(key: ast.Node) -> str | None:
    return key.value if isinstance(key, ast.Constant) and key.bare and isinstance(key.value, str) else None


def _last_of_each(pairs: list[ast.Pair]) -> list[ast.Pair]:
    """Of a keyword given twice only the last one counts."""
    return list({word_of(p.key) or index: p for index, p in enumerate(pairs)}.values())


def _host_split(args: Sequence[ast.Node]) -> tuple[list[ast.Node], list[ast.Pair]]:
    """The arguments of a host object's method in the legacy grammar.

    There ``=>`` makes tuples for the library, but methods of objects are called by position or name in every format
    (SEMANTICS 7.2, 3.10): ``word => value`` is a keyword.
    """
    positional: list[ast.Node] = []
    pairs: list[ast.Pair] = []
    for arg in args:
        if isinstance(arg, ast.Binary) and arg.op == "=>" and word_of(arg.left) is not None:
            pairs.append(ast.Pair(key=arg.left, value=arg.right, span=arg.span))
        else:
            positional.append(arg)
    return positional, pairs


def _as_values(name: str, args: Sequence[ast.Node]) -> Sequence[ast.Node]:
    """The arguments of a function of the legacy library that takes pairs as values: each rule makes a pair."""
    if name not in PAIR_TAKERS:
        return args
    return [
        ast.Binary(op="=>", left=arg.key, right=arg.value, span=arg.span) if isinstance(arg, ast.Pair) else arg
        for arg in args
    ]


def _literal(number: int, node: ast.Node) -> tuple[tuple[int, Any], ...]:
    if isinstance(node, ast.Constant):
        return ((number, node.value),)
    return ((number, MISSING),) if isinstance(node, ast.Empty) else ()


class Site:
    """The arguments of one call in source order, and the plan that serves it."""

    __slots__ = (
        "_made",
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
        self._made: dict[Any, Any] = {}
        self.positional, pairs = _split(_as_values(name, args) if dialect.legacy else args)
        shift = 1 if style == "M" else 0
        try:
            self.rules = bool(pairs) and takes_rules(table, name, style)
        except YaqlError:
            self.rules = False
        self.named = pairs if self.rules else _last_of_each(pairs)
        self.keywords = tuple(word_of(pair.key) for pair in self.named)
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
        key = tuple(lazy)
        made: list[Fn] | None = self._made.get(key)
        if made is None:
            made = self._made[key] = [
                _lazy(self.build(node, self.dialect), arity) if is_lazy else self.eager(node)
                for node, (is_lazy, arity) in zip(self.nodes, lazy, strict=False)
            ]
        return made

    def eager(self, node: ast.Node) -> Fn:
        """The argument's value; the marker where it was left out."""
        return (lambda env: MISSING) if isinstance(node, ast.Empty) else self.build(node, self.dialect)

    def plain(self) -> Callable[[Env], tuple[list[Any], dict[str, Any]]]:
        """All arguments evaluated, as host methods and values of ``lambda`` take them."""
        if "plain" not in self._made:
            self._made["plain"] = self._plain()
        made: Callable[[Env], tuple[list[Any], dict[str, Any]]] = self._made["plain"]
        return made

    def _plain(self) -> Callable[[Env], tuple[list[Any], dict[str, Any]]]:
        nodes, pairs = (self.positional, self.named) if not self.dialect.pair_operator else _host_split(self.positional)
        positional = [self.eager(node) for node in nodes]
        pairs = _last_of_each(pairs)
        words = [word_of(pair.key) for pair in pairs]
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
