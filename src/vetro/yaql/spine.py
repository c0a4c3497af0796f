"""Long chains such as ``1 + 1 + 1 …`` and ``$.a.b.c …``: trees that are deep on their left side only.

A closure for each node would need a Python frame for each when evaluated. Such a tree is cut into pieces, the value
of one being handed to the next in a hidden variable, so that any chain the parser lets through can be evaluated.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from vetro.yaql import ast
from vetro.yaql.environment import Env

Fn = Callable[[Env], Any]

#: A path of this many nodes along left sides is cut.
SPINE = 60
_HOLE = "#left"


def _left(node: ast.Node) -> ast.Node | None:
    if isinstance(node, ast.Binary) and node.op not in (".", "?.", "=>", "->"):
        return node.left
    if isinstance(node, (ast.Attribute, ast.MethodCall, ast.Index)):
        return node.receiver
    return None


def long_spine(node: ast.Node) -> ast.Node | None:
    """The node `SPINE` steps to the left of ``node``, if the path is that long."""
    for _ in range(SPINE):
        below = _left(node)
        if below is None:
            return None
        node = below
    return node if _left(node) is not None else None


def cut(node: ast.Node, below: ast.Node, build: Callable[[ast.Node], Fn]) -> Fn:
    """Evaluates the left end first and hands its value to the rest in a hidden variable, piece by piece."""
    pieces = [_without(node, below)]
    while True:
        further = long_spine(below)
        if further is None:
            break
        pieces.append(_without(below, further))
        below = further
    first = build(below)
    rest = [build(piece) for piece in reversed(pieces)]

    def evaluate(env: Env) -> Any:
        value = first(env)
        for step in rest:
            value = step(Env({_HOLE: value}, env, env.cx, env.funcs))
        return value

    return evaluate


def _without(node: ast.Node, below: ast.Node) -> ast.Node:
    path: list[ast.Node] = []
    while node is not below:
        path.append(node)
        left = _left(node)
        assert left is not None
        node = left
    result: ast.Node = ast.Variable(span=below.span, name=_HOLE)
    for outer in reversed(path):
        field = "left" if isinstance(outer, ast.Binary) else "receiver"
        result = dataclasses.replace(outer, **{field: result})  # type: ignore[arg-type]
    return result
