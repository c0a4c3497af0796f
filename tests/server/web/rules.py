"""All sentences of the rules that pages may show, found in the sources as `vetro.server.web.rule_words` knows them.

``python -m tests.server.web.rules`` prints entries for those that the German file lacks.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import itertools
from collections.abc import Iterator
from pathlib import Path

from tests.server.web.wording import entry
from vetro.server.web.language import read
from vetro.server.web.rule_words import path_of
from vetro.yaql.errors import VetroError

SOURCE = Path(__file__).parents[3] / "src" / "vetro"
GERMAN = path_of("de")
#: Where errors that reach pages are raised.
_RAISING = (
    "server/accounts", "server/catalog", "server/environments", "server/formdesk", "server/dispatch/classes.py",
    "server/dispatch/gate.py", "server/dispatch/queue.py", "server/dispatch/wait.py", "server/api/v2/own.py",
    "server/api/v2/package_parts.py", "server/dispatch/ending.py", "server/web", "forms/builders.py",
    "forms/checking.py", "forms/contexts.py", "forms/contracts.py", "forms/desks", "forms/removal.py",
    "forms/dynamic/types", "muranopl/contract_rt.py", "engine/planning/telling.py",
)  # fmt: skip
#: What only administrators see, in a terminal or the log.
_TERMINAL = (
    "server/accounts/keystone.py", "server/accounts/policy_file.py", "server/environments/networks.py",
)  # fmt: skip
#: Modules in which each text that begins with a capital and has a blank in it is such a sentence.
_TEXTS = (
    "forms/texts.py", "forms/which.py", "forms/dynamic/builtin.py", "forms/dynamic/texts.py", "forms/dynamic/types",
)  # fmt: skip
#: Names under which the others keep them.
_NAMES = frozenset(("civil", "invalid", "hint", "unavailable"))
#: Arguments that are texts: number of the first one.
_PLACES = {"Problem": 1, "Refused": 1, "name_of": 1, "add": 2}


def rules() -> dict[str, str]:
    """Sentence, with the names of its values in braces -> the file that says it."""
    found: dict[str, str] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        sentences: list[str] = []
        if place.startswith(_TEXTS):
            sentences += _all_of(ast.parse(path.read_text("utf-8")))
        if (place.startswith(_RAISING) and not place.startswith(_TERMINAL)) or place == "forms/dynamic/errors.py":
            module = importlib.import_module("vetro." + place.removesuffix(".py").replace("/", "."))
            sentences += _Raised(ast.parse(path.read_text("utf-8")), vars(module)).sentences()
        for sentence in sentences:
            literals = _literals(sentence)
            if " " in literals and any(part.isalpha() and len(part) > 1 for part in literals.split()):
                found.setdefault(sentence, place)
    return found


def translated() -> dict[str, str]:
    """Sentences of the German file, without words that stand in sentences."""
    entries = read(GERMAN.read_text("utf-8"))
    return {message: text for message, text in entries.items() if message and "\4" not in message}


def missing() -> dict[str, str]:
    """Sentences that the German file lacks -> the file that says them."""
    known = translated()
    return {sentence: place for sentence, place in rules().items() if sentence not in known}


def _literals(sentence: str) -> str:
    from string import Formatter

    return "".join(literal for literal, *_ in Formatter().parse(sentence))


def _all_of(tree: ast.AST) -> Iterator[str]:
    inner: set[ast.AST] = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        for body in (getattr(node, "body", None),):
            if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
                inner.add(body[0].value)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Constant, ast.JoinedStr)) and node not in inner:
            if isinstance(node, ast.Constant):
                # These are formats themselves.
                text = node.value if isinstance(node.value, str) else ""
                yield from [text] if " " in text and text[0].isupper() else []
            else:
                yield from (text for text in _texts(node, {}) if " " in text and text[0].isupper())


class _Raised:
    """The texts of one module: of errors and problems that it makes."""

    def __init__(self, tree: ast.Module, names: dict[str, object]) -> None:
        self._tree, self._names = tree, names
        self._constants = _assigned(tree.body)

    def sentences(self) -> Iterator[str]:
        yield from self._of(self._tree, {}, set())

    def _of(self, node: ast.AST, around: dict[str, list[ast.expr]], raised: set[ast.AST]) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            known = around
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                known = {**around, **_assigned(ast.walk(child))}
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
        return _texts(node, {**self._constants, **known})


def _assigned(nodes: object) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for node in nodes:  # type: ignore[attr-defined]
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(node.value)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            found.setdefault(node.target.id, []).append(node.value)
    return found


Part = str | ast.expr


def _texts(node: ast.expr, known: dict[str, list[ast.expr]]) -> Iterator[str]:
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


if __name__ == "__main__":
    import django

    django.setup()
    for one, where in missing().items():
        print(entry(one, where))
