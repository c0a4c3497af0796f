"""Operators with inline fast paths: exact classes in line, everything else in `vetro.yaql.resolve.operators`."""

from __future__ import annotations

import ast as py

from vetro.yaql import ast
from vetro.yaql.codegen import pyast as b
from vetro.yaql.codegen.base import SCALAR_KINDS, BaseEmitter, Code, Scope, Unsupported

ARITHMETIC = {"+": (py.Add, "_add"), "-": (py.Sub, "_sub"), "*": (py.Mult, "_mul"), "mod": (py.Mod, "_mod")}
COMPARISON = {
    "<": (py.Lt, "_less"),
    "<=": (py.LtE, "_less_equal"),
    ">": (py.Gt, "_greater"),
    ">=": (py.GtE, "_greater_equal"),
}
SLOW = {"/": "_div", "=~": "_matches", "!~": "_not_matches"}
#: Products beyond this leave the fast path to have their size checked.
SMALL = 1 << 62


def emit_unary(em: BaseEmitter, node: ast.Unary, scope: Scope) -> Code:
    """``not``, ``-``, ``+``."""
    if node.op == "not":
        return Code(py.UnaryOp(py.Not(), em.emit(node.operand, scope).node), "bool")
    operand = em.emit(node.operand, scope)
    if node.op == "-":
        if operand.kind == "int":
            return Code(py.UnaryOp(py.USub(), operand.node), "int")
        return Code(b.call("_negate", b.name("cx"), operand.node))
    if node.op == "+":
        return Code(b.call("_plus", b.name("cx"), operand.node))
    raise Unsupported


def emit_binary(em: BaseEmitter, node: ast.Binary, scope: Scope) -> Code:
    """Every infix operator; contexts (``->``) and the host's own go to the closure tier."""
    op = node.op
    if op in ("and", "or"):
        left, right = em.emit(node.left, scope), em.emit(node.right, scope)
        kind = left.kind if left.kind == right.kind else "any"
        if left.frozen and right.frozen and kind == "any":
            kind = "frozen"
        return Code(py.BoolOp(py.And() if op == "and" else py.Or(), [left.node, right.node]), kind)
    if op in ARITHMETIC:
        return _arithmetic(em, op, em.emit(node.left, scope), em.emit(node.right, scope))
    if op in COMPARISON:
        return _comparison(em, op, em.emit(node.left, scope), em.emit(node.right, scope))
    if op in ("=", "!="):
        return _equality(em, op, em.emit(node.left, scope), em.emit(node.right, scope))
    if op == "in":
        return _membership(em, node, scope)
    if op in ("=~", "!~") and isinstance(node.right, ast.Constant) and isinstance(node.right.value, str):
        found = b.call(em.link("_r", "matcher", node.right.value, op), b.name("cx"), em.emit(node.left, scope).node)
        return Code(found if op == "=~" else py.UnaryOp(py.Not(), found), "bool")
    if op in SLOW:
        left, right = em.emit(node.left, scope), em.emit(node.right, scope)
        kind = "bool" if op != "/" else "any"
        return Code(b.call(SLOW[op], b.name("cx"), left.node, right.node), kind)
    raise Unsupported


def _guard(em: BaseEmitter, left: Code, right: Code) -> tuple[py.expr | None, Code, Code]:
    """(test that both are ints, repeatable left, repeatable right); the test evaluates each operand exactly once.

    Operands that are no plain names are bound by the test itself, left before right; where both need that, one chain
    of comparisons evaluates the right one even if the left is no int.
    """
    first_left, again_left = em.bind_once(left)
    first_right, again_right = em.bind_once(right)
    if not left.simple and not right.simple:
        classes = [b.attr(first_right, "__class__"), b.name("int")]
        both = py.Compare(b.attr(first_left, "__class__"), [py.Is(), py.Is()], classes)
        return both, again_left, again_right
    test_left, test_right = b.is_class(first_left, "int"), b.is_class(first_right, "int")
    tests = []
    if not (left.kind == "int" and left.simple):
        tests.append(test_left)
    if not (right.kind == "int" and right.simple):
        tests.append(test_right)
    if not right.simple:
        tests.reverse()
    return (b.both(*tests) if tests else None), again_left, again_right


def _guarded(em: BaseEmitter, left: Code, right: Code, fast: type, slow: str, compare: bool) -> Code:
    """``fast`` on two ints in line, ``slow`` out of line otherwise."""

    def quick(x: Code, y: Code) -> py.expr:
        return py.Compare(x.node, [fast()], [y.node]) if compare else py.BinOp(x.node, fast(), y.node)

    if left.kind == "int" and right.kind == "int":
        return Code(quick(left, right), "bool" if compare else "int")
    kind = "bool" if compare else "any"
    if slow == "_add" and left.kind == right.kind and left.kind in ("str", "tuple"):
        return Code(b.call(slow, b.name("cx"), left.node, right.node), left.kind)
    if {left.kind, right.kind} & {"str", "tuple", "map", "null", "float", "bool"}:
        return Code(b.call(slow, b.name("cx"), left.node, right.node), kind)
    test, x, y = _guard(em, left, right)
    assert test is not None
    return Code(b.settled(test, quick(x, y), b.call(slow, b.name("cx"), x.node, y.node)), kind)


def _arithmetic(em: BaseEmitter, op: str, left: Code, right: Code) -> Code:
    fast, slow = ARITHMETIC[op]
    made = _guarded(em, left, right, fast, slow, compare=False)
    return _bounded(em, made) if op == "*" else made


def _bounded(em: BaseEmitter, product: Code) -> Code:
    """A product whose size is checked once it is no small integer."""
    node = product.node
    if isinstance(node, py.BinOp):
        temp = em.temp()
        test = py.Compare(b.const(-SMALL), [py.Lt(), py.Lt()], [b.walrus(temp, node), b.const(SMALL)])
        return Code(b.ternary(test, b.name(temp), b.call("_big", b.name("cx"), b.name(temp))), "int")
    if isinstance(node, py.IfExp) and isinstance(node.body, py.BinOp):
        node.body = _bounded(em, Code(node.body)).node
    return product


def _comparison(em: BaseEmitter, op: str, left: Code, right: Code) -> Code:
    fast, slow = COMPARISON[op]
    return _guarded(em, left, right, fast, slow, compare=True)


def _equality(em: BaseEmitter, op: str, left: Code, right: Code) -> Code:
    fast: py.cmpop = py.Eq() if op == "=" else py.NotEq()
    if left.kind in SCALAR_KINDS or right.kind in SCALAR_KINDS:
        return Code(py.Compare(left.node, [fast], [right.node]), "bool")
    slow = "_equal" if op == "=" else "_not_equal"
    return Code(b.call(slow, b.name("cx"), left.node, right.node), "bool")


def _membership(em: BaseEmitter, node: ast.Binary, scope: Scope) -> Code:
    right = node.right
    items: tuple[ast.Node, ...] | None = None
    if isinstance(right, ast.ListDisplay) or (
        isinstance(right, ast.Call) and right.name == "list" and not em.has_extension("list")
    ):
        items = right.args
    left = em.emit(node.left, scope)
    if items and all(isinstance(i, ast.Constant) for i in items):
        choices = py.Tuple([em.emit(i, scope).node for i in items], b.LOAD)
        return Code(py.Compare(left.node, [py.In()], [choices]), "bool")
    return Code(b.call("_contains", b.name("cx"), left.node, em.emit(right, scope).node), "bool")
