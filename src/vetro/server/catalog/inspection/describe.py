"""What pages tell of the inside of a package: classes with contracts, the form's outline, source in colours.

Runs behind walls, like `read`: packages are anybody's work, so the process that answers requests parses
none of it. Nothing of a package is executed here.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

from pygments.lexers import get_all_lexers, get_lexer_by_name

from vetro.forms.dynamic.definition import FieldDefinition
from vetro.forms.dynamic.load import load_all
from vetro.muranopl.api import Engine
from vetro.muranopl.contracts.words import text_of
from vetro.muranopl.declarations.tree import (
    NO_DEFAULT,
    ArgumentDecl,
    ClassDecl,
    MetaDecl,
    MethodDecl,
    MethodUsage,
    PropertyDecl,
)
from vetro.muranopl.schema import class_schemas
from vetro.packages.archive import ArchiveLimits, ArchiveTree
from vetro.packages.deprecation import DEPRECATED
from vetro.packages.extensions.plugins import required_extensions
from vetro.packages.formats import default_registry
from vetro.packages.load import open_package
from vetro.packages.package import LoadedPackage
from vetro.packages.version_steps import text_in
from vetro.yaql.errors import VetroError

#: Longest text of a contract or default that is shown, in characters.
_LONGEST = 2000
#: Classes of a package, and members of a class, that are told; nobody reads more.
_CLASSES, _MEMBERS = 1000, 500
#: Metadata that describes a member to people -> its texts and our names for them.
_WORDS = {
    "io.murano.metadata.Title": {"text": "title"},
    "io.murano.metadata.Description": {"text": "description"},
    "io.murano.metadata.HelpText": {"text": "help"},
    DEPRECATED: {"text": "deprecated", "replacement": "replacement"},
}


def describe(data: bytes, location: str, others: Iterable[str], limits: ArchiveLimits) -> dict[str, Any]:
    """{classes: [{name, parents, ancestors, properties, methods, inherited, …}], asked, actions,
    form: [{name, fields}] | None}.

    ``asked``: [{name, words, schema}] of what the form asks that is made of the class named like the package.
    ``actions``: [{name, words}] of what its objects can be told to do, inherited ones included.

    ``others``: paths of packages that it requires. A class that cannot be linked has an ``error`` and what its own
    file declares; one that cannot be read has the error alone.
    """
    package = default_registry().load(ArchiveTree(data, location=location, limits=limits))
    known: list[Any] = [package]
    for path in others:
        try:
            known.append(open_package(path))
        except VetroError:  # the error of the class that needs it says which is missing
            continue
    extensions = required_extensions(known)
    known += extensions.packages
    session = Engine(known, natives=extensions.natives).session()
    try:
        classes = [_class(session, package, name) for name in sorted(package.classes)[:_CLASSES]]
        asked = _asked(session, package)
        actions = _actions(session, package)
    finally:
        session.close()
    return {"classes": classes, "asked": asked, "actions": actions, "form": _form(package)}


def _class(session: Any, package: LoadedPackage, name: str) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "name": name, "error": "", "file": "", "line": 0, "meta": False, "parents": [], "ancestors": [],
        "properties": [], "methods": [], "inherited": [], "words": {},
    }  # fmt: skip
    try:
        declared: ClassDecl = session.types.declaration(package, name)
    except VetroError as error:
        return {**shown, "error": error.message}
    shown |= {
        "file": declared.position.file.removeprefix(f"{package.location}/"),
        "line": declared.position.line,
        "meta": declared.usage.value == "Meta",
        "words": _words(declared, declared.meta),
        "properties": [_property(declared, item) for item in list(declared.properties.values())[:_MEMBERS]],
        "methods": [_method(declared, item) for item in list(declared.methods.values())[:_MEMBERS]],
    }
    try:
        kind = session.types.in_package(package, name)
    except VetroError as error:
        return {**shown, "error": error.message, "parents": [{"name": n, "package": ""} for n in declared.extends]}
    shown["parents"] = [{"name": p.name, "package": p.package.name} for p in kind.parents]
    shown["ancestors"] = [{"name": a.name, "package": a.package.name} for a in kind.ancestors[1:]]
    for ancestor in kind.ancestors[1:]:
        properties = [n for n in ancestor.own_properties if n not in declared.properties]
        methods = [n for n in ancestor.own_methods if n not in declared.methods and not n.startswith(".")]
        if properties or methods:
            shown["inherited"].append(
                {"name": ancestor.name, "package": ancestor.package.name, "properties": sorted(properties),
                 "methods": sorted(methods)}
            )  # fmt: skip
    return shown


def _asked(session: Any, package: LoadedPackage) -> list[dict[str, Any]]:
    """The properties of the main class as schemas of a form; none where it cannot be linked. Nothing is evaluated: a
    check that would have to be is not told.
    """
    if package.name not in package.classes:
        return []
    try:
        kind = session.types.in_package(package, package.name)
        schema = class_schemas(kind, [""], hints=lambda of: (), evaluate=_unknown, form=True)[""]
    except VetroError:
        return []
    words = {
        name: _words(item.declaring.decl, item.decl.meta)
        for name, item in kind.properties.items()
        if isinstance(getattr(item.declaring, "decl", None), ClassDecl)
    }
    shown = list(schema.get("properties", {}).items())[:_MEMBERS]
    return [{"name": name, "words": words.get(name, {}), "schema": told} for name, told in shown]


def _actions(session: Any, package: LoadedPackage) -> list[dict[str, Any]]:
    """The methods of the main class that are actions of its objects, as `vetro.muranopl.objects.actions` tells them,
    but for static ones; none where it cannot be linked."""
    if package.name not in package.classes:
        return []
    try:
        kind = session.types.in_package(package, package.name)
    except VetroError:
        return []
    found: dict[str, dict[str, Any]] = {}
    for ancestor in kind.ancestors:
        for name, method in ancestor.own_methods.items():
            decl = method.decl
            if decl is None or not decl.public or name.startswith((".", "__")):
                continue
            if decl.usage in (MethodUsage.STATIC, MethodUsage.EXTENSION):
                continue
            found.setdefault(name, {"name": name, "words": _words(ancestor.decl, decl.meta)})
    return list(found.values())[:_MEMBERS]


def _unknown(node: Any, of: Any) -> Any:
    raise VetroError("nothing is evaluated here")


def _property(of: ClassDecl, item: PropertyDecl) -> dict[str, Any]:
    return {
        "name": item.name,
        "usage": item.usage.value,
        "line": item.position.line,
        "words": _words(of, item.meta),
        **_value(item),
    }


def _method(of: ClassDecl, item: MethodDecl) -> dict[str, Any]:
    return {
        "name": item.name,
        "usage": item.usage.value,
        "public": item.public,
        "line": item.position.line,
        "words": _words(of, item.meta),
        "arguments": [
            {"name": a.name, "usage": a.usage.value, "words": _words(of, a.meta), **_value(a)} for a in item.arguments
        ],
    }


def _value(item: PropertyDecl | ArgumentDecl) -> dict[str, Any]:
    default = item.default
    return {
        "contract": written(item.contract),
        "default": None if default is NO_DEFAULT else written(default),
    }


def _words(of: ClassDecl, found: Sequence[MetaDecl]) -> dict[str, str]:
    """What metadata says to people."""
    words = {}
    for item in found:
        try:
            name = of.namespaces.resolve(item.name)
        except VetroError:
            continue
        for part, word in _WORDS.get(name, {}).items():
            text = text_in(item, part)
            if text:
                words[word] = text[:_LONGEST]
    return words


def written(value: Any) -> str:
    """A contract or default on one line, as it may be written in a class file."""
    text = text_of(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


# -- the form ----------------------------------------------------------------------------------------------------------


def _form(package: LoadedPackage) -> list[dict[str, Any]] | None:
    """The steps of the form definition as far as they are plain text; None where there is none that can be read."""
    text = package.ui
    if not text:
        return None
    definition, _ = load_all(text, "ui.yaml")
    if definition is None:
        return None

    def field(item: FieldDefinition) -> dict[str, Any]:
        said = item.static
        moving = {setting.name for setting in item.moving}
        initial = said.get("initial")
        return {
            "name": item.name,
            "type": text_of(item.declared) if not isinstance(item.declared, str) else item.declared,
            "label": str(said.get("label") or said.get("descriptiontitle") or item.name),
            "help": str(said.get("description") or said.get("helptext") or ""),
            "required": bool(said.get("required", True)) and "required" not in moving,
            "hidden": bool(said.get("hidden", False)),
            "computed": sorted(moving & {"initial", "visible", "choices", "required", "hidden"}),
            "initial": "" if initial is None else initial if isinstance(initial, (str, bool)) else written(initial),
            "choices": _choices(said.get("choices")),
        }

    return [{"name": form.name, "fields": [field(item) for item in form.fields.values()]} for form in definition.forms]


def _choices(found: Any) -> list[str]:
    """Texts of fixed choices."""
    return [str(item.label) for item in list(found or ())[:50]]


# -- source ------------------------------------------------------------------------------------------------------------

#: Kinds of tokens that the pages colour, the narrower before the wider.
_COLOURS = (
    ("Comment", "c"), ("Keyword.Constant", "l"), ("Name.Tag", "k"), ("Keyword", "k"), ("Literal.String", "s"),
    ("Literal.Scalar", "s"), ("Literal.Number", "n"), ("Name.Variable", "v"), ("Name.Namespace", "v"),
    ("Name.Function", "f"), ("Name.Builtin", "f"), ("Name.Class", "f"), ("Punctuation", "p"), ("Operator", "p"),
    ("Generic.Heading", "k"),
)  # fmt: skip


def highlight(text: str, path: str) -> list[list[list[str]]]:
    """The lines of a file, each a list of [kind, text]; ``kind`` is '' or one letter of `_COLOURS`."""
    lexer = get_lexer_by_name(language_of(path), stripnl=False, ensurenl=False)
    lines: list[list[list[str]]] = [[]]
    for kind, value in lexer.get_tokens(text):
        colour = _colour(str(kind).removeprefix("Token."))
        for number, part in enumerate(value.split("\n")):
            if number:
                lines.append([])
            if part:
                lines[-1].append([colour, part])
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    return lines


def language_of(path: str) -> str:
    """What pygments calls the language of a file, by its name or the end of that; ``text`` where it knows none.

    Not by content: guessing looks at the text with every lexer there is. Nor by pygments' own search: it compiles a
    pattern for each of a thousand names, a tenth of a second in every new process.
    """
    name = path.rpartition("/")[2].lower()
    found = _languages()
    return found.get(name) or found.get(f"*.{name.rpartition('.')[2]}") or "text"


@functools.cache
def _languages() -> dict[str, str]:
    """Language by pattern of file names. Where several share one, the language with the shortest name: SQL, Perl."""
    known = sorted(get_all_lexers(plugins=False), key=lambda lexer: (-len(lexer[0]), lexer[0]))
    return {pattern.lower(): aliases[0] for _, aliases, patterns, _ in known if aliases for pattern in patterns}


def _colour(kind: str) -> str:
    return next((letter for name, letter in _COLOURS if kind == name or kind.startswith(f"{name}.")), "")
