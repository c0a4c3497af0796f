"""Binding: generated global names to the objects they stand for.

`HELPERS` are the same for all code; ``links`` are per piece of code and consist of plain data (marshalled with it).
Nothing else is reachable from generated code: its globals hold no builtins beyond the few named here.
"""

from __future__ import annotations

import ast as py
import dataclasses
from collections.abc import Callable, Mapping
from itertools import repeat
from typing import Any

from vetro.yaql import ast
from vetro.yaql.api import grammar_of
from vetro.yaql.closures.nodes import build
from vetro.yaql.codegen.plans import plan_for
from vetro.yaql.environment import Env
from vetro.yaql.errors import CollectionTooLarge, NoItems
from vetro.yaql.library.formatting import format_text
from vetro.yaql.library.regexes import compile_regex
from vetro.yaql.parser import ParserDialect, parse
from vetro.yaql.resolve import operators
from vetro.yaql.types import OrderedBase
from vetro.yaql.values import FROZEN, MISSING, SCALARS, FDict, FSet, HostObject, check_depth, freeze


def _freeze(rt: Any, value: Any) -> Any:
    if value.__class__ in FROZEN:
        return value
    return freeze(value, rt.limits.max_sequence)


def _key(value: Any) -> Any:
    if value.__class__ not in SCALARS:
        check_depth(value)
    return value


def _tuple_of(rt: Any, items: list[Any]) -> tuple[Any, ...]:
    limit = rt.limits.max_sequence
    if limit is not None and len(items) > limit:
        raise CollectionTooLarge(f"collection length exceeds {limit} elements")
    if FROZEN.issuperset(map(type, items)):
        return tuple(items)
    return tuple([i if i.__class__ in FROZEN else freeze(i, limit) for i in items])


def _map_of(rt: Any, items: dict[Any, Any]) -> FDict:
    rt.check_items(len(items))
    return FDict(items)


def _charge(rt: Any, items: tuple[Any, ...]) -> bool:
    rt.steps -= len(items)
    if rt.steps < 0:
        rt.slow()
    return True


def _sum(cx: Any, items: list[Any]) -> Any:
    cx.rt.check_items(len(items))
    if set(map(type, items)) == {int}:
        return operators.within_limit(cx, sum(items))
    if not items:
        raise TypeError("sum of an empty collection without an initial value")
    total = items[0]
    for item in items[1:]:
        total = operators.add(cx, total, item)
    return total


def _first(items: Any) -> Any:
    for item in items:
        return item
    raise NoItems("first() of an empty collection")


def _batch(function: Callable[[Any], list[Any]], pure: bool) -> Any:
    from vetro.yaql.library._support import Batch  # the library stands above the compiler

    return Batch(function, pure)


def _ordered(value: Any) -> bool:
    return isinstance(value, OrderedBase)


def _plain(value: Any) -> bool:
    return not isinstance(value, HostObject)


def _library(cx: Any, value: Any, name: str) -> bool:
    """Whether ``value.name(…)`` is a call of the library; extensions are known when code is compiled."""
    return not isinstance(value, HostObject) or value.yaql_method(name, cx) is None


def _format(cx: Any, template: str, *values: Any) -> Any:
    return format_text(cx, template, values, {})


HELPERS: dict[str, Any] = {
    "_FD": FDict, "_SIZED": frozenset({str, tuple, FDict, FSet}), "_SCALARS": SCALARS,
    "_FROZEN": FROZEN, "_batch": _batch, "_M": MISSING,
    "_freeze": _freeze, "_key": _key, "_tuple_of": _tuple_of, "_map_of": _map_of, "_charge": _charge, "_sum": _sum,
    "_big": operators.within_limit, "_first": _first, "_ordered": _ordered, "_plain": _plain, "_library": _library,
    "_format": _format, "_repeat": repeat,
    "_add": operators.add, "_sub": operators.sub, "_mul": operators.mul, "_div": operators.div,
    "_mod": operators.mod, "_less": operators.less, "_less_equal": operators.less_equal,
    "_greater": operators.greater, "_greater_equal": operators.greater_equal, "_equal": operators.equal,
    "_not_equal": operators.not_equal, "_contains": operators.contains, "_matches": operators.matches,
    "_not_matches": operators.not_matches, "_negate": operators.negate, "_plus": operators.plus,
    "_index": operators.index, "_attribute": operators.attribute,
    "int": int, "str": str, "tuple": tuple, "len": len, "any": any, "all": all,
}  # fmt: skip

#: The only Python constructs that generated code consists of; a test walks every generated tree.
ALLOWED_NODES: frozenset[type[py.AST]] = frozenset(
    {
        py.Module, py.FunctionDef, py.Lambda, py.arguments, py.arg, py.Return, py.Assign, py.AugAssign, py.Expr, py.If,
        py.For, py.While, py.Break, py.Continue, py.Pass, py.Try, py.ExceptHandler, py.Raise, py.Nonlocal, py.Name,
        py.Load, py.Store, py.Constant, py.Tuple, py.List, py.Dict, py.BinOp, py.BoolOp, py.UnaryOp, py.Compare,
        py.IfExp, py.NamedExpr, py.Call, py.keyword, py.Attribute, py.Subscript, py.ListComp, py.DictComp,
        py.GeneratorExp, py.comprehension, py.JoinedStr, py.FormattedValue, py.And, py.Or, py.Not, py.USub, py.Add,
        py.Sub, py.Mult, py.Mod, py.BitAnd, py.Lt, py.LtE, py.Gt, py.GtE, py.Eq, py.NotEq, py.Is, py.IsNot, py.In,
        py.NotIn, py.Starred, py.Slice,
    }
)  # fmt: skip


def parser_dialect(dialect: Any) -> ParserDialect:
    """The grammar that goes with an expression dialect."""
    grammar = getattr(dialect, "grammar", None)
    if grammar is not None:
        return grammar  # type: ignore[no-any-return]
    return grammar_of(dialect)


def node_at(root: ast.Node, index: int) -> ast.Node:
    """The node with that place in the pre-order walk."""
    for number, node in enumerate(ast.walk(root)):
        if number == index:
            return node
    raise IndexError(index)


def closure_for(text: str, index: int, hole: int, dialect: Any, grammar: ParserDialect) -> Callable[[Any], Any]:
    """The closure of a sub-expression of ``text``; the hole's value is the variable ``#hole``."""
    root = parse(text, grammar)
    node = node_at(root, index)
    if hole >= 0:
        node = _replace(node, node_at(root, hole))
    return build(node, dialect)


def _replace(node: ast.Node, hole: ast.Node) -> ast.Node:
    """``node`` with ``hole`` (somewhere down its chain of receivers) read from the variable ``#hole``."""
    if node is hole:
        return ast.Variable(span=hole.span, name="#hole")
    assert isinstance(node, (ast.MethodCall, ast.Attribute, ast.Index))
    return dataclasses.replace(node, receiver=_replace(node.receiver, hole))


def bind(links: Mapping[str, tuple[Any, ...]], cx: Any, namespace: dict[str, Any], grammar: ParserDialect) -> None:
    """Puts what ``links`` name into ``namespace``; closures are built when first needed."""
    for name, spec in links.items():
        kind = spec[0]
        if kind == "plan":
            namespace[name] = plan_for(cx.dialect, *spec[1:]).call
        elif kind == "regex":
            namespace[name] = _regex_site(spec[1])
        elif kind == "matcher":
            namespace[name] = _matcher_site(spec[1], spec[2])
        elif kind == "closure":
            namespace[name] = _closure_site(spec, cx, grammar, Env)
        else:
            raise AssertionError(f"unknown link {spec!r}")


def _regex_site(pattern: str) -> Callable[[], Any]:
    """Gives the regular expression of a literal pattern, compiled when first asked for."""
    made: list[Any] = []

    def site() -> Any:
        if not made:
            made.append(compile_regex(pattern))
        return made[0]

    return site


def _matcher_site(pattern: str, operator: str) -> Callable[[Any, Any], bool]:
    """``text =~ 'pattern'``; ``operator`` is what errors name, the negation is up to the caller."""
    regex: Any = None
    search: Any = None
    longest = -1

    def site(cx: Any, text: Any) -> bool:
        nonlocal regex, search, longest
        if text.__class__ is not str:
            return (
                operators.matches(cx, text, pattern)
                if operator == "=~"
                else not operators.not_matches(cx, text, pattern)
            )
        if len(text) <= longest:
            return search(text) is not None
        if regex is None:
            regex = compile_regex(pattern)
            search, longest = regex.quick()
        return bool(regex.found_in(cx, text))

    return site


def _closure_site(
    spec: tuple[Any, ...], cx: Any, grammar: ParserDialect, env: Any
) -> Callable[[Any, dict[str, Any]], Any]:
    built: list[Callable[[Any], Any]] = []

    def site(context: Any, variables: dict[str, Any]) -> Any:
        if not built:
            built.append(closure_for(spec[1], spec[2], spec[3], cx.dialect, grammar))
        return built[0](env(variables, None, context))

    return site
