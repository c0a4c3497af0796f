"""What a package says in other languages: the files `locale/LANGUAGE.yaml`, mappings from a text of its author, as it
stands in the package, to the same in another language.

`translations` reads them, `authored` gives a text with its translations, which whoever shows it chooses from
(`vetro.diagnostics.AuthorText`). `sources` lists the texts that there are to be translated. Spaces and ends of lines
count as one space in what is looked up, so that a text that a file wraps is written as one line.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from vetro.data_classes import dataclass
from vetro.diagnostics import ERROR, WARNING, AuthorText, Diagnostic, Text
from vetro.model.titles import title_of
from vetro.muranopl.contracts.checks import fold, is_value
from vetro.muranopl.contracts.model import expressions
from vetro.muranopl.declarations.tree import (
    ArgumentDecl,
    ClassDecl,
    ClassUsage,
    Literal,
    MetaDecl,
    Position,
    PropertyDecl,
    PropertyUsage,
)
from vetro.muranopl.reader.files import read_file
from vetro.packages.changelog import FILE as CHANGES
from vetro.packages.changelog import Release, read_changes
from vetro.packages.files import FileTree
from vetro.packages.flow import quoted
from vetro.packages.package import LoadedPackage
from vetro.packages.paths import MANIFEST
from vetro.packages.thrown import filled, thrown_texts, values_in
from vetro.packages.yamltree import Node, TreeError, read_documents
from vetro.visible import visible
from vetro.yaql import ast
from vetro.yaql.didyoumean import suggest
from vetro.yaql.errors import VetroError

#: Language -> text of the author (`normal`) -> the same in the language.
Translations: TypeAlias = Mapping[str, Mapping[str, str]]

FOLDER: Final = "locale"
#: Languages of a package, entries of a file, bytes of a file and of all of them, characters of a text.
MOST_LANGUAGES, MOST_ENTRIES, LARGEST, LARGEST_TOTAL, LONGEST = 20, 2000, 256 << 10, 1 << 20, 8000
_CODE: Final = "PKG116"
_UNKNOWN: Final = "PKG117"
_PLACES_LOST: Final = "PKG118"
_FILE: Final = re.compile(r"locale/([a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*)\.yaml")
#: Characters of a key on one line: YAML's own bound, with something left for quotes.
_LONGEST_KEY: Final = 1000
#: What is the same text without quotes in YAML, and what is none then.
_PLAIN: Final = re.compile(r"[^\W\d_][\w (),.;/+*'-]*")
_WORDS: Final = frozenset({"y", "n", "yes", "no", "true", "false", "on", "off", "null"})
_PLACE: Final = re.compile(r"\{\w*\}")
#: Texts that a package does not have for which the likely one is looked for: each is compared with all that it has.
_SUGGESTED: Final = 100
#: The form of a package.
_FORM: Final = "UI/ui.yaml"
#: Meta-classes -> their properties that people read.
_META: Final[Mapping[str, tuple[str, ...]]] = {
    "io.murano.metadata.Title": ("text",),
    "io.murano.metadata.Description": ("text",),
    "io.murano.metadata.HelpText": ("text",),
    "io.murano.metadata.forms.Section": ("title",),
    "io.vetro.forms.Preset": ("title", "description"),
}
#: Attributes of UI definitions that people read, in lower case.
_ATTRIBUTES: Final = frozenset({"label", "description", "descriptiontitle", "helptext", "emptyvaluemessage"})


def normal(text: str) -> str:
    """The text as it is looked up: each run of spaces and ends of lines is one space."""
    return " ".join(text.split())


def authored(text: str, translations: Translations) -> str:
    """The text with its translations; as it is where there are none, and where it is none of an author."""
    if not translations or not text or isinstance(text, (Text, AuthorText)):
        return text
    key = normal(text)
    found = {language: entries[key] for language, entries in translations.items() if key in entries}
    return AuthorText(text, found) if found else text


def worded(message: str, package: Any, class_name: str, line: int) -> str:
    """A message that a package threw at a line of a class, with the translations that it has of it.

    Whoever throws and catches has a text (decision 0050). This is for where an exception has left all packages, and
    people are told: where it was thrown is known then, so is which texts it may be made of.
    """
    known = translations(package.files) if isinstance(package, LoadedPackage) else {}
    if not known:
        return message
    for declared in _classes(package, class_name):
        for text in thrown_texts(declared, line):
            values, told = values_in(text, message), authored(text, known)
            if values is not None and isinstance(told, AuthorText):
                found = {name: filled(one, values) for name, one in told.translations.items()}
                # A translation may have a place a thousand times.
                short = {name: one for name, one in found.items() if len(one) <= LONGEST}
                return AuthorText(message, short) if short else message
    return message


def with_translations(releases: Iterable[Release], translations: Translations) -> list[Release]:
    """What is new in which version, also in the languages of the files where `changes.yaml` itself says it in one."""

    def told(texts: Mapping[str, str]) -> Mapping[str, str]:
        found = authored(_english(texts) or "", translations)
        return {**found.translations, **texts} if isinstance(found, AuthorText) else texts

    return [
        replace(
            one,
            changes=tuple(
                replace(change, text=told(change.text), do=None if change.do is None else told(change.do))
                for change in one.changes
            ),
        )
        for one in releases
    ]


# -- the files ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TextLine:
    """One line of a file: a text and its translation."""

    text: str
    translation: str
    position: Position


def translations(tree: FileTree) -> dict[str, dict[str, str]]:
    """What the files say, by language and text, in the order of both: the same for the same files."""
    found = read_translations(tree)[0]
    return {
        language: dict(sorted((entry.text, entry.translation) for entry in entries))
        for language, entries in sorted(found.items())
        if entries
    }


def read_translations(tree: FileTree) -> tuple[dict[str, list[TextLine]], list[Diagnostic]]:
    """The entries of the files by language, and what is wrong with the files. What is wrong is left out."""
    found: dict[str, list[TextLine]] = {}
    problems: list[Diagnostic] = []
    size = 0
    for path in sorted(path for path in tree.paths() if path.startswith(f"{FOLDER}/")):
        file = tree.file_id(path)
        top = Position(file, 1, 1)
        match = _FILE.fullmatch(path)
        if match is None:
            wrong = Text("files in {folder} are called after their language", folder=FOLDER)
            problems.append(Diagnostic(_CODE, WARNING, wrong, Text("as in locale/de.yaml"), top))
            continue
        try:
            data = tree.read(path)
        except (OSError, ValueError, VetroError):
            problems.append(Diagnostic(_CODE, ERROR, Text("the file cannot be read"), place=top))
            continue
        size += len(data)
        if len(data) > LARGEST or size > LARGEST_TOTAL or len(found) >= MOST_LANGUAGES:
            wrong = Text(
                "translations may have {most} KiB a language, {total} KiB and {languages} languages a package",
                most=LARGEST >> 10,
                total=LARGEST_TOTAL >> 10,
                languages=MOST_LANGUAGES,
            )
            problems.append(Diagnostic(_CODE, ERROR, wrong, place=top))
            continue
        found[match[1]] = list(_entries(data, file, problems))
    return found, problems


def _entries(data: bytes, file: str, problems: list[Diagnostic]) -> Iterator[TextLine]:
    try:
        documents = read_documents(data, file)
    except TreeError as error:
        problems.append(Diagnostic(_CODE, ERROR, error.message, error.hint, error.position))
        return
    if not documents or documents[0].null:
        return
    pairs = documents[0].pairs
    if pairs is None or len(documents) > 1:
        wrong = Text("it has to be one mapping from texts to their translations")
        problems.append(Diagnostic(_CODE, ERROR, wrong, place=documents[0].position))
        return
    if len(pairs) > MOST_ENTRIES:
        wrong = Text("it has more than {most:,} entries", most=MOST_ENTRIES)
        problems.append(Diagnostic(_CODE, ERROR, wrong, place=documents[0].position))
        return
    known: set[str] = set()
    size = 0
    for key, value in pairs:
        if value.null and key.kind == "scalar":  # what is still to be done
            continue
        size += len(key.text) + len(value.text)
        wrong_entry = _wrong(key, value, known, size)
        if wrong_entry is not None:
            problems.append(Diagnostic(_CODE, ERROR, wrong_entry, place=key.position))
            continue
        known.add(normal(key.text))
        yield TextLine(normal(key.text), value.text, key.position)


def _wrong(key: Node, value: Node, known: set[str], size: int) -> Text | None:
    """What is wrong with an entry. ``size``: characters of the file so far, of which aliases make many of few."""
    if key.kind != "scalar" or value.kind != "scalar" or not value.text.strip():
        return Text("an entry is a text and its translation, not {what}", what=_other(key, value).describe())
    if max(len(key.text), len(value.text)) > LONGEST or size > LARGEST:
        return Text("a text may have {most:,} characters, and all of them {total:,}", most=LONGEST, total=LARGEST)
    if visible(value.text) != value.text:
        return Text("the translation has characters that nobody sees, or that turn the direction of others")
    if normal(key.text) in known:
        return Text("'{text}' stands there twice", text=key.text[:80])
    return None


def _other(key: Node, value: Node) -> Node:
    return key if key.kind != "scalar" else value


# -- texts of a package ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Source:
    """A text of a package that people read, and the file that it stands in. ``derived``: it need not be translated,
    since forms make it of a name: of a property or argument without title, a step, a value that may be chosen."""

    text: str
    file: str
    derived: bool = False


def sources(package: LoadedPackage) -> list[Source]:
    """The texts of a package that are there to be translated, each once, in the order of its files.

    Titles, descriptions and help texts, sections, presets, messages of contracts, those that are thrown, texts of its
    form, name and description, and what is new, where it is told in one language. Files that cannot be read have none.
    """
    manifest = package.manifest
    found: list[tuple[Any, str, bool]] = [(manifest.raw.get("Name"), MANIFEST, False)]
    found.append((package.description, MANIFEST, False))
    first: dict[str, str] = {}
    for name, file_id in package.classes.items():
        first.setdefault(file_id, name)
    for file_id, name in first.items():
        file = file_id.removeprefix(f"{package.location}/")
        for declared in _classes(package, name):
            found += [(text, file, False) for text in _of_class(declared)]
            found += [(text, file, True) for text in _of_names(declared)]
    if package.ui:
        steps = _steps(package.ui)
        found += [(text, _FORM, False) for _, step in steps for text in _of_step(step)]
        found += [(title_of(name), _FORM, True) for name, _ in steps]
    for release in read_changes(package.files, package.version)[0]:
        for change in release.changes:
            texts = (change.text, change.do or {})
            found += [(_english(told), CHANGES, False) for told in texts if len(told) == 1]
    made: dict[str, Source] = {}
    for text, file, derived in found:
        if not isinstance(text, str) or len(text) > LONGEST or not any(map(str.isalpha, text)):
            continue
        key = normal(text)
        if key not in made or (made[key].derived and not derived):
            made[key] = Source(key, file, derived)
    places = {file: number for number, file in enumerate(dict.fromkeys(file for _, file, _ in found))}
    return sorted(made.values(), key=lambda source: places[source.file])


def _english(texts: Mapping[str, str]) -> str | None:
    return texts.get("") or texts.get("en")


def _classes(package: LoadedPackage, name: str) -> Iterable[ClassDecl]:
    """All classes of the file with the class of this name."""
    try:
        text, file_id, _ = package.read_class(name)
        read = read_file(text, file_id, format_version=package.format, default_name=name, problems=[])
    except (VetroError, ValueError):  # who checks the package says what is wrong
        return ()
    return read.classes.values()


def _of_names(declared: ClassDecl) -> Iterator[str]:
    """What forms make of names: of what they ask for, and of what may be chosen."""
    if declared.usage is ClassUsage.META:
        return
    asked: list[PropertyDecl | ArgumentDecl] = [
        item for item in declared.properties.values() if item.usage in (PropertyUsage.IN, PropertyUsage.IN_OUT)
    ]
    asked += [argument for method in declared.methods.values() if method.public for argument in method.arguments]
    for item in asked:
        yield title_of(item.name)
        for expression in expressions(item.contract):
            for node in ast.walk(expression.node):
                if isinstance(node, ast.Binary) and node.op == "in" and is_value(values := fold(node.right)):
                    yield from (value for value in values or () if isinstance(value, str))


def _of_class(declared: ClassDecl) -> Iterator[Any]:
    yield from _of_meta(declared, declared.meta)
    for item in declared.properties.values():
        yield from _of_meta(declared, item.meta)
        yield from _messages(item.contract)
    for method in declared.methods.values():
        yield from _of_meta(declared, method.meta)
        for argument in method.arguments:
            yield from _of_meta(declared, argument.meta)
            yield from _messages(argument.contract)
    yield from thrown_texts(declared)


def _of_meta(declared: ClassDecl, found: Sequence[MetaDecl]) -> Iterator[Any]:
    for item in found:
        try:
            name = declared.namespaces.resolve(item.name)
        except VetroError:
            continue
        for key in _META.get(name, ()):
            value = item.properties.get(key)
            if isinstance(value, Literal):
                yield value.value


def _messages(contract: Any) -> Iterator[Any]:
    for expression in expressions(contract):
        for node in ast.walk(expression.node):
            if isinstance(node, ast.MethodCall) and node.name == "check" and len(node.args) > 1:
                yield fold(node.args[1])


def _steps(text: str) -> list[tuple[str, Node]]:
    """Names and contents of the steps of a form."""
    try:
        documents = read_documents(text, _FORM)
    except TreeError:
        return []
    forms = _of_key(documents[0] if documents else None, "Forms")
    return [(name.text, step) for form in forms for name, step in form.pairs or ()]


def _of_step(step: Node) -> Iterator[str]:
    for field in _of_key(step, "fields"):
        yield from _of_field(field)
    for rule in _of_key(step, "validators"):
        yield from _message_of(rule)


def _message_of(rule: Node) -> Iterator[str]:
    """What a rule of a form says where it does not hold."""
    yield from (node.text for key, node in rule.pairs or () if key.text == "message")


def _of_field(field: Node) -> Iterator[str]:
    for key, value in field.pairs or ():
        name = key.text.lower().replace("_", "")
        if name in _ATTRIBUTES and value.kind == "scalar":
            yield value.text
        elif name == "errormessages":
            yield from (part.text for _, part in value.pairs or () if part.kind == "scalar")
        elif name == "validators":
            for rule in value.items or ():
                yield from _message_of(rule)
        elif name == "choices":
            yield from (label.text for _, label in value.pairs or ())
            yield from (item.items[1].text for item in value.items or () if item.items and len(item.items) > 1)


def _of_key(node: Node | None, name: str) -> Iterable[Node]:
    """The items of a list in a mapping."""
    for key, value in (node.pairs if node is not None else None) or ():
        if key.text == name:
            return value.items or ()
    return ()


# -- checks ------------------------------------------------------------------------------------------------------------


def check_translations(package: LoadedPackage) -> list[Diagnostic]:
    """What is wrong with the files, texts in them that the package does not have, and places that a translation
    lost."""
    found, problems = read_translations(package.files)
    if not any(found.values()):
        return problems
    known = frozenset(source.text for source in sources(package))
    unknown = 0
    for entries in found.values():
        for entry in entries:
            if entry.text not in known:
                unknown += 1
                close = suggest(entry.text, known) if unknown <= _SUGGESTED else None
                hint = Text("did you mean '{close}'?", close=close) if close else None
                wrong = Text("no text of the package is '{text}'", text=entry.text[:80])
                problems.append(Diagnostic(_UNKNOWN, WARNING, wrong, hint, entry.position))
                continue
            lost = _places(entry.text) ^ _places(entry.translation)
            if lost:
                wrong = Text("only one of the text and its translation has {places}", places=", ".join(sorted(lost)))
                problems.append(Diagnostic(_PLACES_LOST, ERROR, wrong, place=entry.position))
    return problems


def _places(text: str) -> frozenset[str]:
    return frozenset(_PLACE.findall(text))


def missing(found: Iterable[Source], known: Container[str]) -> list[Source]:
    """Those of the texts that are to be translated and are not among those that are ``known``."""
    return [source for source in found if source.text not in known and not source.derived]


def skeleton(found: Iterable[Source], known: Mapping[str, str]) -> str:
    """A file of a language: the texts by the files that they stand in, with the translations that are ``known``."""
    lines: list[str] = []
    file = ""
    for source in found:
        if source.file != file:
            file = source.file
            lines += [*([""] if lines else []), f"# {file}"]
        told = known.get(source.text)
        lines += _line(source.text, "" if told is None else _quoted(told))
    return "\n".join(lines) + "\n"


def _line(text: str, translation: str) -> list[str]:
    if len(text) > _LONGEST_KEY:
        return [f"? {_quoted(text)}", f": {translation}".rstrip()]
    return [f"{_quoted(text)}: {translation}".rstrip()]


def _quoted(text: str) -> str:
    """A text as YAML reads it: plain where it is one then, too."""
    if _PLAIN.fullmatch(text) and not text.endswith(" ") and text.lower() not in _WORDS:
        return text
    if "'" not in text and text.isprintable():
        return f"'{text}'"
    return quoted(text)
