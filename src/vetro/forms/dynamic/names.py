"""Names in expressions: what they call, which variables and which answers they read."""

from __future__ import annotations

from collections.abc import Iterator

from vetro.yaql import ast
from vetro.yaql.resolve.signature import FunctionTable

#: Stands for every field of a form, and for every form.
ALL = "*"


def calls(node: ast.Node) -> Iterator[tuple[str, str]]:
    """(name, style ``F`` or ``M``) of everything that is called, without what the expression itself defines."""
    parts = list(ast.walk(node))
    own = {
        part.args[0].value
        for part in parts
        if isinstance(part, ast.Call) and part.name == "def" and part.args and isinstance(part.args[0], ast.Constant)
    }
    for part in parts:
        if isinstance(part, (ast.Call, ast.MethodCall)) and part.name not in own:
            yield part.name, "F" if isinstance(part, ast.Call) else "M"


def variables(node: ast.Node) -> set[str]:
    """Variables by name without the dollar; nothing where the expression makes variables of its own."""
    parts = list(ast.walk(node))
    if any(isinstance(part, ast.Binary) and part.op == "->" for part in parts):
        return set()
    return {part.name for part in parts if isinstance(part, ast.Variable) and not part.name.isdigit()}


def data_paths(node: ast.Node, table: FunctionTable) -> Iterator[tuple[str, ...]]:
    """The chains of names behind ``$`` and ``$forms`` where they stand for the data of the forms.

    ``$.a.b`` and ``$.get(a).get(b)`` are chains; ``$`` alone is the empty one. Inside arguments that are evaluated
    again and again (``select($.x)``) ``$`` stands for something else.
    """
    stack = [node]
    while stack:
        part = stack.pop()
        path = _path(part)
        if path is not None:
            yield path
        elif isinstance(part, ast.Binary) and part.op == "->":
            continue
        elif isinstance(part, (ast.Call, ast.MethodCall)):
            if isinstance(part, ast.MethodCall):
                stack.append(part.receiver)
            if not _rebinds(table, part.name):
                stack.extend(part.args)
            elif isinstance(part, ast.Call):
                stack.extend(part.args[:1])
        else:
            stack.extend(ast.children(part))


def answers_read(node: ast.Node, table: FunctionTable) -> frozenset[tuple[str, str]]:
    """Pairs (form, field) that an expression reads; `ALL` where a form, or everything, is read as a whole."""
    found = ((*path, ALL, ALL) for path in data_paths(node, table))
    return frozenset((form, field) for form, field, *_ in found)


def _path(node: ast.Node) -> tuple[str, ...] | None:
    names: list[str] = []
    while not isinstance(node, ast.Variable):
        if isinstance(node, ast.Attribute):
            names.append(node.name)
        elif isinstance(node, ast.MethodCall) and node.name == "get" and node.args:
            first = node.args[0]
            if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
                return None
            names.append(first.value)
        else:
            return None
        node = node.receiver
    return tuple(names[::-1]) if node.name in ("1", "forms") else None


def _rebinds(table: FunctionTable, name: str) -> bool:
    """Whether some function of this name evaluates an argument with another ``$``."""
    layer: FunctionTable | None = table
    while layer is not None:
        for overload in layer.functions.get(name, ()):
            if any(param.lazy and param.arity != 0 for param in overload.params):
                return True
        layer = layer.parent
    return False
