"""Pipelines of queries fused into one comprehension: ``$rows.where(P).select(S).sum()`` is one loop.

Fusion applies when the source is a frozen list (one class test at run time) or an ordered one; any other source takes
the ordinary functions, or the closure tier in a host language. The stages keep YAQL's order of evaluation item by item.
"""

from __future__ import annotations

import ast as py

from vetro.yaql import ast
from vetro.yaql.codegen import pyast as b
from vetro.yaql.codegen.base import BaseEmitter, Code, Scope, all_builtin

STAGES = {"where": "where", "filter": "where", "select": "select", "map": "select"}
#: What they give is walked in line as well.
ORDERING = frozenset({"orderBy", "orderByDescending", "thenBy", "thenByDescending"})
TERMINALS = {"sum": 0, "len": 0, "count": 0, "toList": 0, "first": 0, "any": 1, "all": 1, "toDict": 2}


def emit_pipeline(em: BaseEmitter, node: ast.MethodCall, scope: Scope) -> Code | None:
    """Fused code, or None when the shape is not one of a pipeline."""
    if em.dialect.legacy:
        return None
    stages: list[tuple[str, ast.Node]] = []
    terminal: ast.MethodCall | None = None
    current: ast.Node = node
    if node.name in TERMINALS:
        if not _plain_args(node) or len(node.args) > TERMINALS[node.name]:
            return None
        if node.name == "toDict" and not node.args:
            return None
        terminal = node
        current = node.receiver
    while (
        isinstance(current, ast.MethodCall)
        and current.name in STAGES
        and not current.safe
        and len(current.args) == 1
        and _plain_args(current)
        and not em.has_extension(current.name)
        and all_builtin(em.dialect.table.layers(current.name, "M"))
    ):
        stages.append((STAGES[current.name], current.args[0]))
        current = current.receiver
    stages.reverse()
    if not stages and (
        terminal is None or terminal.name not in ("any", "all", "toDict", "sum") or not _worth(terminal)
    ):
        return None
    source = em.emit(current, scope)
    if source.kind in ("map", "str", "int", "bool", "null", "self"):
        return None
    lazy = source.kind == "lazy"
    first, again = em.bind_once(source)
    generators, item = _generators(em, scope, again.node, stages)
    if terminal is None:
        fused = Code(py.GeneratorExp(item.node, generators), "lazy")
    else:
        fused = _finish(em, terminal, generators, item, scope)
    if lazy:
        return fused if source.simple else None
    if source.kind == "tuple" and source.simple:
        return fused
    test = b.both(b.is_class(first, "tuple"), b.call("_charge", b.name("rt"), again.node))
    if isinstance(current, ast.MethodCall) and current.name in ORDERING:
        test = b.either(test, b.call("_ordered", again.node))
    slow = em.closure_site(node, scope, current, again.node)
    if fused.frozen or fused.kind == "lazy":
        made = b.settled(test, fused.node, slow.node)
    else:
        made = b.ternary(test, fused.node, slow.node)
    return Code(made, fused.kind if fused.kind != "lazy" else "any")


def _worth(terminal: ast.MethodCall) -> bool:
    return bool(terminal.args) or terminal.name == "sum"


def _plain_args(node: ast.MethodCall) -> bool:
    return not any(isinstance(a, (ast.Pair, ast.Empty)) for a in node.args) and not node.safe


def _generators(
    em: BaseEmitter, scope: Scope, source: py.expr, stages: list[tuple[str, ast.Node]]
) -> tuple[list[py.comprehension], Code]:
    inner, _ = scope.child(1)
    item = Code(b.name("d1"))
    generators = [py.comprehension(b.target("d1"), source, [], 0)]
    for index, (kind, argument) in enumerate(stages):
        body = em.emit(argument, inner)
        if kind == "where":
            generators[-1].ifs.append(body.node)
        elif index == len(stages) - 1:
            item = body
        else:
            inner, item = _rebind(em, scope, generators, body)
    return generators, item


def _rebind(em: BaseEmitter, scope: Scope, generators: list[py.comprehension], value: Code) -> tuple[Scope, Code]:
    """Makes ``value`` the ``$`` of the following stages: (their scope, the item)."""
    if not any(isinstance(n, py.NamedExpr) for n in py.walk(value.node)):
        # Python compiles `for x in [e]` to a plain assignment.
        generators.append(py.comprehension(b.target("d1"), py.List([value.node], b.LOAD), [], 0))
        inner, _ = scope.child(1, (value.kind,))
        return inner, Code(b.name("d1"), value.kind)
    # Python allows no assignment expression there: a condition that always holds binds the value instead.
    temp = em.temp()
    generators[-1].ifs.append(py.List([b.walrus(temp, value.node)], b.LOAD))
    names = dict(scope.names)
    names["1"] = (temp, value.kind)
    return Scope(names, scope.fallback), Code(b.name(temp), value.kind)


def _finish(
    em: BaseEmitter, terminal: ast.MethodCall, generators: list[py.comprehension], item: Code, scope: Scope
) -> Code:
    name = terminal.name
    if name == "sum":
        return Code(b.call("_sum", b.name("cx"), py.ListComp(item.node, generators)))
    if name in ("len", "count"):
        return Code(b.call("len", py.ListComp(item.node, generators)), "int")
    if name == "toList":
        return Code(b.call("_tuple_of", b.name("rt"), py.ListComp(em.freeze(item).node, generators)), "tuple")
    if name == "first":
        return Code(b.call("_first", py.GeneratorExp(item.node, generators)))
    if isinstance(item.node, py.Name):
        names = dict(scope.names)
        names["1"] = (item.node.id, item.kind)
        inner = Scope(names, scope.fallback)
    else:
        inner, item = _rebind(em, scope, generators, item)
    if name == "toDict":
        key = em.frozen(terminal.args[0], inner)
        value = em.frozen(terminal.args[1], inner) if len(terminal.args) > 1 else em.freeze(item)
        hashed = key.node if key.kind in ("str", "int", "scalar") else b.call("_key", key.node)
        return Code(b.call("_map_of", b.name("rt"), py.DictComp(hashed, value.node, generators)), "map")
    if terminal.args:
        predicate = em.emit(terminal.args[0], inner).node
        generators[-1].ifs.append(predicate if name == "any" else py.UnaryOp(py.Not(), predicate))
        found: py.expr = b.call("any", py.GeneratorExp(b.const(True), generators))
        return Code(found if name == "any" else py.UnaryOp(py.Not(), found), "bool")
    if name == "any":
        return Code(b.call("any", py.GeneratorExp(b.const(True), generators)), "bool")
    return Code(b.call("all", py.GeneratorExp(item.node, generators)), "bool")
