"""The sentences that a module makes: texts of errors and problems, with the names of their values in braces."""

from __future__ import annotations

import ast
import builtins
import itertools
from collections.abc import Iterator

from vetro.yaql.errors import VetroError

#: Names under which the others keep them.
_NAMES = frozenset(("civil", "invalid", "hint", "unavailable"))
#: Arguments that are texts: number of the first one.
_PLACES = {"Problem": 1, "Refused": 1, "name_of": 1, "add": 2}


class Raised:
    """The texts of one module: of errors and problems that it makes."""

    def __init__(self, tree: ast.Module, names: dict[str, object]) -> None:
        self._tree, self._names = tree, names
        self._constants = assigned(tree.body)

    def sentences(self) -> Iterator[str]:
        yield from self._of(self._tree, {}, set())

    def _of(self, node: ast.AST, around: dict[str, list[ast.expr]], raised: set[ast.AST]) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            known = around
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                known = {**around, **assigned(ast.walk(child))}
            if isinstance(child, ast.Raise) and child.exc is not None:
                raised.add(child.exc)
            if isinstance(child, (ast.Assign, ast.AnnAssign)) and child.value is not None:
                targets = child.targets if isinstance(child, ast.Assign) else [child.target]
                if any(getattr(target, "id", getattr(target, "attr", "")) in _NAMES for target in targets):
                    yield from self._texts(child.value, known)
            if isinstance(child, ast.Yield) and child.value is not None:
                yield from self._texts(child.value, known)
            if isinstance(child, ast.Call):
                name = getattr(child.func, "id", getattr(child.func, "attr", ""))
                if name in _PLACES or self._is_error(child, name, raised):
                    place = _PLACES.get(name, 0)
                    said = [
                        *child.args[place : place + 1],
                        *(k.value for k in child.keywords if k.arg in ("hint", "message")),
                    ]
                    for value in said:
                        yield from self._texts(value, known)
            yield from self._of(child, known, raised)

    def _is_error(self, call: ast.Call, name: str, raised: set[ast.AST]) -> bool:
        known = self._names.get(name, getattr(builtins, name, None))
        if isinstance(known, type):
            return issubclass(known, VetroError) and known.__name__ not in ("ConfigError", "PolicyError")
        return call in raised

    def _texts(self, node: ast.expr, known: dict[str, list[ast.expr]]) -> Iterator[str]:
        return texts(node, {**self._constants, **known})


def assigned(nodes: object) -> dict[str, list[ast.expr]]:
    """What is assigned to each name by these statements."""
    found: dict[str, list[ast.expr]] = {}
    for node in nodes:  # type: ignore[attr-defined]
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(node.value)
                elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    for name, value in zip(target.elts, node.value.elts, strict=False):
                        if isinstance(name, ast.Name):
                            found.setdefault(name.id, []).append(value)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            found.setdefault(node.target.id, []).append(node.value)
    return found


Part = str | ast.expr


def texts(node: ast.expr, known: dict[str, list[ast.expr]]) -> Iterator[str]:
    """The texts that an expression may be; nothing where it is no text of this module."""
    for parts in _variants(node, known):
        if any(isinstance(part, str) for part in parts):
            yield _sentence(parts)


def _variants(node: ast.expr, known: dict[str, list[ast.expr]]) -> list[list[Part]]:
    if isinstance(node, ast.Constant):
        return [[node.value]] if isinstance(node.value, str) else []
    if isinstance(node, ast.JoinedStr):
        found: list[list[Part]] = [[]]
        for part in node.values:
            value = part.value if isinstance(part, ast.FormattedValue) else part
            found = [[*before, *more] for before in found for more in _closed(value, known) or [[value]]]
        return found
    if isinstance(node, ast.IfExp):
        return _variants(node.body, known) + _variants(node.orelse, known)
    if isinstance(node, ast.BoolOp):
        return [found for value in node.values for found in _variants(value, known)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _variants(node.left, known) or [[node.left]], _variants(node.right, known) or [[node.right]]
        return [[*a, *b] for a, b in itertools.product(left, right)]
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("str", "told") and node.args:
        return _variants(node.args[0], known)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.JoinedStr):
        return _variants(node.value, known)  # cut off where it is too long
    if isinstance(node, ast.Name) and node.id in known:
        rest = {name: values for name, values in known.items() if name != node.id}
        return [found for value in known[node.id] for found in _variants(value, rest)]
    return []


def _closed(node: ast.expr, known: dict[str, list[ast.expr]]) -> list[list[Part]]:
    """The texts of a part that is one of a few texts; nothing for any other."""
    if isinstance(node, ast.Constant):
        return [[node.value]] if isinstance(node.value, str) else []
    if isinstance(node, ast.IfExp):
        left, right = _closed(node.body, known), _closed(node.orelse, known)
        return [*left, *right] if left and right else []
    if isinstance(node, ast.Name):
        values = [_closed(value, {}) for value in known.get(node.id, ())]
        return [text for texts in values for text in texts] if values and all(values) else []
    return []


def _sentence(parts: list[Part]) -> str:
    used: dict[str, int] = {}
    made = ""
    for part in parts:
        if isinstance(part, str):
            made += part.replace("{", "{{").replace("}", "}}")
        else:
            name = _name_of(part)
            used[name] = used.get(name, 0) + 1
            made += "{" + name + (str(used[name]) if used[name] > 1 else "") + "}"
    return made


def _name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id.lower().strip("_")
    if isinstance(node, ast.Attribute):
        return node.attr.lower().strip("_")
    if isinstance(node, ast.Call):
        return _name_of(node.func)
    return _name_of(node.value) if isinstance(node, ast.Subscript) else "value"
