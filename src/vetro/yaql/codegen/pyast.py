"""Short constructors for Python syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Sequence

LOAD = ast.Load()
STORE = ast.Store()


def name(text: str) -> ast.Name:
    """``text`` read."""
    return ast.Name(text, LOAD)


def target(text: str) -> ast.Name:
    """``text`` written."""
    return ast.Name(text, STORE)


def const(value: object) -> ast.Constant:
    """A literal."""
    return ast.Constant(value)  # type: ignore[arg-type]


def call(function: str | ast.expr, *args: ast.expr, keywords: Sequence[ast.keyword] = ()) -> ast.Call:
    """``function(*args, **keywords)``."""
    return ast.Call(name(function) if isinstance(function, str) else function, list(args), list(keywords))


def attr(value: ast.expr, text: str) -> ast.Attribute:
    """``value.text``."""
    return ast.Attribute(value, text, LOAD)


def item(value: ast.expr, index: ast.expr) -> ast.Subscript:
    """``value[index]``."""
    return ast.Subscript(value, index, LOAD)


def ternary(test: ast.expr, body: ast.expr, orelse: ast.expr) -> ast.IfExp:
    """``body if test else orelse``."""
    return ast.IfExp(test, body, orelse)


def settled(test: ast.expr, body: ast.expr, orelse: ast.expr) -> ast.IfExp:
    """`ternary` whose ``body`` is frozen, or a generator of ours: only ``orelse`` needs a test of what it gives."""
    made = ast.IfExp(test, body, orelse)
    made.settled = True  # type: ignore[attr-defined]
    return made


def is_class(value: ast.expr, cls: str) -> ast.Compare:
    """``value.__class__ is cls``."""
    return ast.Compare(attr(value, "__class__"), [ast.Is()], [name(cls)])


def compare_like(test: ast.Compare, value: ast.expr) -> ast.Compare:
    """A test made by `is_class`, of another ``value``."""
    return ast.Compare(attr(value, "__class__"), test.ops, test.comparators)


def is_null(value: ast.expr, negated: bool = False) -> ast.expr:
    """``value is None``; decided here for literals, which Python would warn about."""
    if isinstance(value, ast.Constant):
        return const((value.value is None) is not negated)
    if isinstance(value, ast.Tuple) and all(isinstance(item, (ast.Constant, ast.Tuple)) for item in value.elts):
        return const(negated)
    return ast.Compare(value, [ast.IsNot() if negated else ast.Is()], [const(None)])


def both(*tests: ast.expr) -> ast.expr:
    """``test and test…``."""
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), list(tests))


def either(*tests: ast.expr) -> ast.expr:
    """``test or test…``."""
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.Or(), list(tests))


def walrus(text: str, value: ast.expr) -> ast.NamedExpr:
    """``(text := value)``."""
    return ast.NamedExpr(target(text), value)


def assign(text: str, value: ast.expr) -> ast.Assign:
    """``text = value``."""
    return ast.Assign([target(text)], value)


def arguments(names: Sequence[str], captured: Sequence[str] = ()) -> ast.arguments:
    """Positional parameters ``names``, then ``x=x`` for each captured variable."""
    return ast.arguments(
        posonlyargs=[],
        args=[ast.arg(n) for n in (*names, *captured)],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[name(n) for n in captured],
    )


def names_in(node: ast.AST) -> set[str]:
    """Every name that occurs in ``node``."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
