"""Short constructors for Python syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

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


#: Fields that hold no nodes, or operators and the like, which stand nowhere.
_BARE = frozenset(
    {"arg", "attr", "conversion", "ctx", "id", "is_async", "kind", "name", "names", "op", "ops", "type_comment"}
)
_NODES = [cls for cls in vars(ast).values() if isinstance(cls, type) and issubclass(cls, ast.AST)]
#: Fields of nodes that hold nodes with positions, by class.
_INNER: dict[type, tuple[str, ...]] = {cls: tuple(name for name in cls._fields if name not in _BARE) for cls in _NODES}
_INNER[ast.Constant] = ()


def _inner(node: ast.AST) -> Sequence[ast.AST]:
    """The nodes directly in ``node`` that can have a position; `ast.iter_child_nodes` takes three times as long."""
    fields = _INNER[node.__class__]
    if not fields:  # names and literals: most are
        return ()
    found: list[ast.AST] = []
    for field in fields:
        value = getattr(node, field, None)
        if value.__class__ is list:
            found += filter(None, value)
        elif value is not None:
            found.append(value)
    return found


def place(node: ast.AST, line: int, column: int, end_line: int, end_column: int) -> None:
    """Gives a position to every node in ``node`` that has none; what is in one that has was placed before."""
    position = {"lineno": line, "col_offset": column, "end_lineno": end_line, "end_col_offset": end_column}
    stack = [node]
    while stack:
        current = stack.pop()
        if current._attributes:
            known = current.__dict__
            if "lineno" in known:
                continue
            known.update(position)
        stack += _inner(current)


def complete(function: ast.FunctionDef) -> None:
    """Gives nodes without a position that of their parent; the outermost one stands at the beginning of its file."""
    first: ast.AST = ast.Pass(lineno=1, col_offset=0, end_lineno=1, end_col_offset=0)
    stack: list[tuple[Any, Any]] = [(function, first)]
    while stack:
        node, parent = stack.pop()
        if node._attributes:
            if "lineno" not in node.__dict__:
                node.lineno, node.col_offset = parent.lineno, parent.col_offset
                node.end_lineno, node.end_col_offset = parent.end_lineno, parent.end_col_offset
            parent = node
        stack += [(one, parent) for one in _inner(node)]


def names_in(node: ast.AST) -> set[str]:
    """Every name that occurs in ``node``."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
