"""The closure tier: each node of a syntax tree becomes one Python function of an `Env`.

It serves expressions that run once or a few times (forms, contracts' odd corners, ``let`` and ``def`` with computed
parts) and is the oracle of the compiled tier. Functions are resolved when the closure is built; what only values can
tell is left to the dispatchers of `vetro.yaql.resolve.dispatchers`. Calls live in `vetro.yaql.closures.calls`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vetro.yaql import ast
from vetro.yaql.closures import scopes
from vetro.yaql.closures.arguments import Fn
from vetro.yaql.closures.calls import function_call, index_call, invoke, method_call, table_call
from vetro.yaql.context import Dialect
from vetro.yaql.environment import Env
from vetro.yaql.resolve import operators
from vetro.yaql.resolve.failures import no_match
from vetro.yaql.spine import cut, long_spine
from vetro.yaql.values import SCALARS, FDict, check_depth, freeze

_BINARY: dict[str, Callable[[Any, Any, Any], Any]] = {
    "+": operators.add,
    "-": operators.sub,
    "*": operators.mul,
    "/": operators.div,
    "mod": operators.mod,
    "=": operators.equal,
    "!=": operators.not_equal,
    "<": operators.less,
    "<=": operators.less_equal,
    ">": operators.greater,
    ">=": operators.greater_equal,
    "in": operators.contains,
    "=~": operators.matches,
    "!~": operators.not_matches,
}
_UNARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operators.plus,
    "-": operators.negate,
    "not": operators.logical_not,
}


def build(node: ast.Node, dialect: Dialect) -> Fn:
    """A function that evaluates ``node`` in an `Env`.

    Nothing is evaluated and nothing raised here: calls that cannot be resolved raise when they are evaluated.
    Raises `RecursionError` for trees deeper than Python's stack allows.
    """
    below = long_spine(node)
    if below is None:
        return _BUILDERS[node.__class__](node, dialect)
    return cut(node, below, lambda piece: _BUILDERS[piece.__class__](piece, dialect))


# --- leaves ---------------------------------------------------------------------------------------------------------


def _constant(node: ast.Constant, dialect: Dialect) -> Fn:
    value = node.value
    return lambda env: value


def _variable(node: ast.Variable, dialect: Dialect) -> Fn:
    name = node.name

    def evaluate(env: Env) -> Any:
        scope: Env | None = env
        while scope is not None:
            if name in scope.vars:
                return scope.vars[name]
            scope = scope.parent
        return None

    return evaluate


def _misplaced(node: ast.Node, dialect: Dialect) -> Fn:
    """Pairs and empty arguments are handled by what surrounds them; the parser makes none elsewhere."""
    raise AssertionError(f"{type(node).__name__} outside of an argument list")


# --- displays -------------------------------------------------------------------------------------------------------


def _list(node: ast.ListDisplay, dialect: Dialect) -> Fn:
    if any(isinstance(arg, (ast.Pair, ast.Empty)) for arg in node.args):
        return table_call("#list", node.args, dialect, build)
    if all(isinstance(arg, ast.Constant) for arg in node.args):
        whole = tuple(arg.value for arg in node.args if isinstance(arg, ast.Constant))
        return lambda env: whole
    items = tuple(build(arg, dialect) for arg in node.args)

    def evaluate(env: Env) -> Any:
        values = [item(env) for item in items]
        for number, value in enumerate(values):
            if value.__class__ not in SCALARS:
                values[number] = freeze(value, env.cx.rt.limits.max_sequence)
        return tuple(values)

    return evaluate


def _map(node: ast.MapDisplay, dialect: Dialect) -> Fn:
    if dialect.pair_operator or not all(isinstance(arg, ast.Pair) for arg in node.args):
        return table_call("#map", node.args, dialect, build)
    pairs = [(build(p.key, dialect), build(p.value, dialect)) for p in node.args if isinstance(p, ast.Pair)]

    def evaluate(env: Env) -> Any:
        limit = env.cx.rt.limits.max_sequence
        made: dict[Any, Any] = {}
        for key, value in pairs:
            found = key(env)
            if found.__class__ not in SCALARS:
                found = freeze(found, limit)
                check_depth(found)
            item = value(env)
            made[found] = item if item.__class__ in SCALARS else freeze(item, limit)
        return FDict(made)

    return evaluate


# --- access ---------------------------------------------------------------------------------------------------------


def _attribute(node: ast.Attribute, dialect: Dialect) -> Fn:
    receiver, name = build(node.receiver, dialect), node.name
    if node.safe:

        def safe(env: Env) -> Any:
            value = receiver(env)
            return None if value is None else operators.attribute(env.cx, value, name)

        return safe
    strict = not dialect.legacy

    def evaluate(env: Env) -> Any:
        value = receiver(env)
        if value.__class__ is FDict and strict:
            return value[name]
        return operators.attribute(env.cx, value, name)

    return evaluate


def _index(node: ast.Index, dialect: Dialect) -> Fn:
    plain = len(node.args) == 1 and not isinstance(node.args[0], (ast.Pair, ast.Empty))
    if dialect.legacy or not plain:
        return index_call(node, dialect, build)
    target, key = build(node.receiver, dialect), build(node.args[0], dialect)
    return lambda env: operators.index(env.cx, target(env), key(env))


# --- operators ------------------------------------------------------------------------------------------------------


def _unary(node: ast.Unary, dialect: Dialect) -> Fn:
    operation = _UNARY.get(node.op)
    if operation is None:
        return table_call(f"#unary_operator_{node.op}", (node.operand,), dialect, build)
    if operation is operators.negate and isinstance(node.operand, ast.Constant):
        number = node.operand.value
        if number.__class__ in (int, float):
            negated = -number
            return lambda env: negated
    operand = build(node.operand, dialect)
    if operation is operators.logical_not:
        return lambda env: not operand(env)
    return lambda env: operation(env.cx, operand(env))


def _binary(node: ast.Binary, dialect: Dialect) -> Fn:
    op = node.op
    special = _SPECIAL.get(op)
    if special is not None:
        return special(node, dialect)
    operation = _BINARY.get(op)
    if operation is None:
        return table_call(f"#operator_{op}", (node.left, node.right), dialect, build)
    left = build(node.left, dialect)
    if isinstance(node.right, ast.Constant):
        value = node.right.value
        return lambda env: operation(env.cx, left(env), value)
    right = build(node.right, dialect)
    return lambda env: operation(env.cx, left(env), right(env))


def _and(node: ast.Binary, dialect: Dialect) -> Fn:
    left, right = build(node.left, dialect), build(node.right, dialect)
    return lambda env: left(env) and right(env)


def _or(node: ast.Binary, dialect: Dialect) -> Fn:
    left, right = build(node.left, dialect), build(node.right, dialect)
    return lambda env: left(env) or right(env)


def _arrow(node: ast.Binary, dialect: Dialect) -> Fn:
    left, right = build(node.left, dialect), build(node.right, dialect)

    def evaluate(env: Env) -> Any:
        scope = left(env)
        if scope.__class__ is not Env:
            raise scopes.no_context(scope)
        return right(scope)

    return evaluate


def _dot(node: ast.Binary, dialect: Dialect) -> Fn:
    """``x.'a'`` and the like: the right side of a dot must be a word or a call."""
    left, op = build(node.left, dialect), node.op

    def evaluate(env: Env) -> Any:
        value = left(env)
        if op == "?." and value is None:
            return None
        error = no_match(f"#operator_{op}", "F", (), None)
        error.hint = "write a name or a call after the dot; use value['...'] for other keys"
        raise error

    return evaluate


def _tuple(node: ast.Binary, dialect: Dialect) -> Fn:
    """``a => b => c`` of the legacy dialect: one flat tuple, unless parentheses group the left side."""
    if not dialect.table.has("#operator_=>", "F"):
        return table_call("#operator_=>", (node.left, node.right), dialect, build)
    parts = [node.right]
    left, start = node.left, node.span.start
    while isinstance(left, ast.Binary) and left.op == "=>" and left.span.start == start:
        parts.append(left.right)
        left = left.left
    parts.append(left)
    return _list(ast.ListDisplay(span=node.span, args=tuple(reversed(parts))), dialect)


_SPECIAL: dict[str, Callable[[ast.Binary, Dialect], Fn]] = {
    "and": _and,
    "or": _or,
    "->": _arrow,
    ".": _dot,
    "?.": _dot,
    "=>": _tuple,
}


# --- calls ----------------------------------------------------------------------------------------------------------


def _call(node: ast.Call, dialect: Dialect) -> Fn:
    return function_call(node, dialect, build)


def _method(node: ast.MethodCall, dialect: Dialect) -> Fn:
    return method_call(node, dialect, build)


def _invoke(node: ast.Invoke, dialect: Dialect) -> Fn:
    return invoke(node, dialect, build)


_BUILDERS: dict[type, Callable[[Any, Dialect], Fn]] = {
    ast.Constant: _constant,
    ast.Variable: _variable,
    ast.Empty: _misplaced,
    ast.Pair: _misplaced,
    ast.ListDisplay: _list,
    ast.MapDisplay: _map,
    ast.Attribute: _attribute,
    ast.Index: _index,
    ast.Unary: _unary,
    ast.Binary: _binary,
    ast.Call: _call,
    ast.MethodCall: _method,
    ast.Invoke: _invoke,
}
