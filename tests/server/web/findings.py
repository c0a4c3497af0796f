"""The sentences that are found wrong in packages, which import reports and pages of broken forms show."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

from tests.server.web.sentences import Raised, assigned

SOURCE = Path(__file__).parents[3] / "src" / "vetro"
#: Where what an import report says of a package is found: files, manifest, templates, classes and expressions; and
#: what is wrong with a form that a package brings.
CHECKING = tuple(
    f"{folder}/{name}.py"
    for folder, names in (
        ("packages/checks", "package bodies classes values"),
        ("packages/hot", "constraints package template values"),
        ("packages", "archive errors files formats manifest muranopl package paths plugin yamltree"),
        ("muranopl", "catalog errors contracts/reader compiler/targets compiler/unit"),
        ("muranopl/declarations", "semver version_clauses tree versions"),
        ("muranopl/reader", "classes constructs exceptions instructions members meta parts values files"),
        ("muranopl/source", "nodes checks scalars"),
        ("muranopl/types", "linker meta murano_type"),
        ("yaql", "resolve/failures lexer parser syntax_hints"),
        ("server/catalog/inspection", "read"),
        ("forms/dynamic", "attributes evaluation expressions functions load_fields load model parameters plaindata"),
        ("forms/dynamic", "snippets resolve plain_texts versions wizard types/choices types/cloud types/networks"),
    )
    for name in names.split()
)
#: Arguments that are texts there, besides those of errors.
_CHECK_PLACES = {
    "Problem": (0, 2), "TreeError": (0, 2), "ValueError": (0,), "_Malformed": (0,), "__init__": (0,), "_at": (2, 3),
    "error": (0, 2), "warn": (0, 2), "refuse": (0, 2), "_refuse": (0, 1), "entries": (2,), "_too_deep": (2,),
    "pairs": (1,), "_entry": (2,),
}  # fmt: skip
#: The same in forms of packages, whose warnings no page shows.
_FORM_PLACES = {"ValueError": (0,), "pairs": (2,), "items": (2,)}
#: Functions there that give hints, and tables whose rows end with one.
_GIVING = frozenset(("_form", "_hint", "_suggest", "did_you_mean", "hint_for"))
_TABLES = frozenset(("_HINTS", "_SLIPS"))
#: Findings have places of their own, which are taken out of the text; so is what the expression's caret shows.
_PLACE = re.compile(
    r"^(?:\{(?:location|file_id|position)\}(?:, \w+)?: |Parse error: |Lexical error: )"
    r"| at position \{\w+\}(?: of expression '.*)?$"
)
#: What is put together of two of them, which alone would explain too many other texts.
_TOGETHER = {
    "Format {message}": ("Format '{text}' is no format", "Format '{text}' is no format: '{version}' is no version"),
    "Version {message}": ("Version '{text}' is no version",),
    "unknown {what} {described}": (
        "unknown {what} {described}",
        *(f"unknown {what} usage {{described}}" for what in ("class", "property", "argument", "method")),
    ),
    "one of: {join}": ("one of: {join}", "did you mean '{near}'? (one of: {join})"),
    "{name} {error}, not {brief}": (),
}


def findings_of(place: str) -> Iterator[str]:
    """The sentences of one of the modules `CHECKING`."""
    module = importlib.import_module("vetro." + place.removesuffix(".py").replace("/", "."))
    tree = ast.parse((SOURCE / place).read_text("utf-8"))
    places = _FORM_PLACES if place.startswith("forms/") else _CHECK_PLACES
    for sentence in _Found(tree, vars(module), places).sentences():
        if place.startswith("yaql/"):
            yield sentence  # elsewhere there is no caret
        while (bare := _PLACE.sub("", sentence)) != sentence:
            sentence = bare
        if place.startswith("forms/") and sentence.startswith(("must ", "is no ")):
            yield f"{{name}} {sentence}, not {{brief}}"  # as what is wrong with an attribute is said
        else:
            yield from _TOGETHER.get(sentence, (sentence,))


class _Found(Raised):
    """The texts of a module that finds something wrong in packages: of its helpers, hints and tables, too."""

    def __init__(self, tree: ast.Module, names: dict[str, object], places: dict[str, tuple[int, ...]]) -> None:
        super().__init__(tree, names)
        self._places = places

    def _of(self, node: ast.AST, around: dict[str, list[ast.expr]], raised: set[ast.AST]) -> Iterator[str]:
        yield from super()._of(node, around, raised)
        if node is not self._tree:
            return
        for function in ast.walk(node):
            if isinstance(function, ast.FunctionDef):
                known = assigned(ast.walk(function))
                for part in ast.walk(function):
                    yield from self._of_part(part, function, known)
        for part in self._tree.body:
            yield from self._of_table(part)

    def _of_part(self, part: ast.AST, inside: ast.FunctionDef, known: dict[str, list[ast.expr]]) -> Iterator[str]:
        if isinstance(part, ast.Call):
            places = self._places.get(getattr(part.func, "id", getattr(part.func, "attr", "")))
            if places is not None:
                given = [part.args[place] for place in places if place < len(part.args)]
                given += [k.value for k in part.keywords if k.arg in ("hint", "message")]
                for value in given:
                    yield from self._texts(value, known)
        elif isinstance(part, ast.Return) and part.value is not None and inside.name in _GIVING:
            yield from self._texts(part.value, known)
        elif isinstance(part, ast.FunctionDef):
            names = [argument.arg for argument in part.args.args]
            for name, default in zip(reversed(names), reversed(part.args.defaults), strict=False):
                if name == "hint":
                    yield from self._texts(default, known)

    def _of_table(self, part: ast.stmt) -> Iterator[str]:
        value = part.value if isinstance(part, (ast.Assign, ast.AnnAssign)) else None
        names = part.targets if isinstance(part, ast.Assign) else [getattr(part, "target", None)]
        if isinstance(value, ast.Tuple) and any(getattr(name, "id", "") in _TABLES for name in names):
            for row in value.elts:
                if isinstance(row, ast.Tuple):
                    yield from self._texts(row.elts[-1], {})
