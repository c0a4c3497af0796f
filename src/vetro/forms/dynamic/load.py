"""From text to `Definition` (DYNAMIC_UI 1): sections, forms, fields. `load` raises, `load_all` notes and goes on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from yaml.nodes import ScalarNode

from vetro.diagnostics import Diagnostic, Text
from vetro.forms.dynamic.attributes import fold
from vetro.forms.dynamic.definition import BUILT_IN_FORM, Definition, FormDefinition
from vetro.forms.dynamic.errors import DefinitionError
from vetro.forms.dynamic.expressions import Expression, MapSnippet
from vetro.forms.dynamic.load_fields import read_field, read_rules
from vetro.forms.dynamic.snippets import Reader, describe
from vetro.forms.dynamic.versions import APPLICATION_NAME, LATEST, Version, read_version
from vetro.muranopl.declarations.tree import Position
from vetro.muranopl.source.nodes import YNode
from vetro.yaql.didyoumean import suggest
from vetro.yaql.values import FDict

#: Characters of a definition. The longest known one has 40,000.
MAX_TEXT = 1_000_000
_SECTIONS = ("version", "application", "forms", "templates", "parameters", "parameters_source")
_FORM_KEYS = ("fields", "validators", "region", "name", "help_text")
_LETTER_FIRST = re.compile(r"[^\W\d_]")
_ACTION = re.compile(r"\w+(?:\.\w+)*")
_NO_HEADER = Text("Application must be a mapping with a '?' header that names the class")


def load(text: str | bytes, origin: str = "ui.yaml") -> Definition:
    """The definition in ``text``; ``origin`` names the file in messages.

    Raises `DefinitionError` and its kin with line and column. What is odd but harms nothing is in ``warnings``.
    """
    return _Loader(text, origin, collect=False).definition()


def load_all(text: str | bytes, origin: str) -> tuple[Definition | None, list[Diagnostic]]:
    """The definition as far as it can be read, and everything that is wrong or odd with it."""
    loader = _Loader("", origin, collect=True)
    try:
        loader.reader = Reader(_decoded(text, origin), origin, collect=True)
        return loader.definition(), loader.reader.problems
    except DefinitionError as error:
        loader.reader.fail(error)
        return None, loader.reader.problems


def _decoded(text: str | bytes, origin: str) -> str:
    if isinstance(text, bytes):
        data = text
        if len(data) > 4 * MAX_TEXT:
            raise _too_long(origin)
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data[: error.start].count(b"\n") + 1
            raise DefinitionError(
                Text("not valid UTF-8"), position=Position(origin, line, 1), hint=Text("save the file as UTF-8 text")
            ) from None
    if len(text) > MAX_TEXT:
        raise _too_long(origin)
    return text


def _too_long(origin: str) -> DefinitionError:
    return DefinitionError(
        Text("the definition is longer than {max_text:,} characters", max_text=MAX_TEXT),
        position=Position(origin, 1, 1),
        hint=Text("data of that size belongs into the package's resources"),
    )


class _Loader:
    def __init__(self, text: str | bytes, origin: str, *, collect: bool) -> None:
        self.reader = Reader(_decoded(text, origin), origin, collect=collect)

    def definition(self) -> Definition:
        reader = self.reader
        root = reader.root()
        sections: dict[str, YNode] = {}
        hint = Text("write the keys Version, Application and Forms")
        for name, key, value in reader.pairs(root, Text("the definition"), hint):
            folded = fold(name)
            if folded not in _SECTIONS:
                meant = suggest(folded, _SECTIONS)
                reader.warn(
                    f"section '{name}' means nothing and is ignored",
                    reader.at(key),
                    f"did you mean {_titled(meant)}?" if meant else f"known are {', '.join(map(_titled, _SECTIONS))}",
                )
            sections[folded] = value
        version = self.version(sections.get("version"))
        application = self.application(sections.get("application"), root, version)
        templates = self.templates(sections.get("templates"))
        parameters = self.parameters(sections.get("parameters"))
        source, place = self.source(sections.get("parameters_source"))
        forms = self.forms(sections.get("forms"))
        return Definition(
            origin=reader.origin,
            application=application,
            application_position=reader.at(sections.get("application", root)),
            forms=forms,
            templates=templates,
            parameters=parameters,
            parameters_source=source,
            source_position=place,
            version=version,
            warnings=tuple(p for p in reader.problems if p.severity == "warning"),
        )

    def version(self, node: YNode | None) -> Version:
        if node is None:
            return LATEST
        try:
            value = self.reader.scalar(node) if node.__class__ is ScalarNode else describe(node)
            return read_version(value.text if isinstance(value, Expression) else value, self.reader.at(node))
        except DefinitionError as error:
            self.reader.fail(error)
            return LATEST

    # -- the model ----------------------------------------------------------------------------------------------------

    def application(self, node: YNode | None, root: YNode, version: Version) -> Any:
        try:
            if node is None:
                raise DefinitionError(
                    Text("Application section is required"),
                    position=self.reader.at(root),
                    hint=Text("add 'Application:' with a '?' header and the properties of the object"),
                )
            snippet = self.reader.snippet(node)
            if isinstance(snippet, Expression):
                return snippet
            pairs = _pairs(snippet)
            header = None if pairs is None else next((v for k, v in pairs if k == "?"), None)
            if pairs is None or not isinstance(header, (FDict, MapSnippet, Expression)):
                raise DefinitionError(
                    _NO_HEADER, position=self.reader.at(node), hint=Text("write '?: {{type: full.class.Name}}'")
                )
            if version >= APPLICATION_NAME and not isinstance(header, Expression):
                # The wizard's name takes the place of it, so its own is never evaluated.
                snippet = MapSnippet([(k, _nameless(v) if k == "?" else v) for k, v in pairs], self.reader.at(node))
            return snippet
        except DefinitionError as error:
            self.reader.fail(error)
            return FDict({"?": FDict({"type": ""})})

    def templates(self, node: YNode | None) -> Mapping[str, Any]:
        found: dict[str, Any] = {}
        for name, _, value in self.named(node, "Templates"):
            found[name] = self.reader.snippet(value)
        return found

    def parameters(self, node: YNode | None) -> tuple[tuple[str, Any], ...]:
        found: dict[str, Any] = {}
        for name, key, value in self.named(node, "Parameters"):
            if not _LETTER_FIRST.match(name):
                self.reader.warn(f"parameter '{name}' is left out", self.reader.at(key), "begin its name with a letter")
                continue
            found[name] = self.reader.snippet(value)
        return tuple(found.items())

    def named(self, node: YNode | None, what: str) -> list[tuple[str, YNode, YNode]]:
        if node is None or self.reader.null(node):
            return []
        try:
            return self.reader.pairs(node, what, Text("write 'name: value' lines"))
        except DefinitionError as error:
            self.reader.fail(error)
            return []

    def source(self, node: YNode | None) -> tuple[str | None, Position | None]:
        if node is None or self.reader.null(node):
            return None, None
        text = node.value if node.__class__ is ScalarNode else ""
        if not _ACTION.fullmatch(text):
            self.reader.fail(
                DefinitionError(
                    Text("ParametersSource must name a static action, not {describe}", describe=describe(node)),
                    position=self.reader.at(node),
                    hint=Text("write method, or full.class.Name.method"),
                )
            )
            return None, None
        return text, self.reader.at(node)

    # -- forms --------------------------------------------------------------------------------------------------------

    def forms(self, node: YNode | None) -> tuple[FormDefinition, ...]:
        if node is None or self.reader.null(node):
            return ()
        found = []
        try:
            items = self.reader.items(node, "Forms", Text("write '- formName:' lines with 'fields:' below each"))
        except DefinitionError as error:
            self.reader.fail(error)
            return ()
        for item in items:
            try:
                found.append(self.form(item))
            except DefinitionError as error:
                self.reader.fail(error)
        return tuple(found)

    def form(self, node: YNode) -> FormDefinition:
        reader = self.reader
        pairs = reader.pairs(node, Text("an item of Forms"), Text("write '- formName:' and below it 'fields:'"))
        if not pairs:
            raise DefinitionError(
                Text("a form needs a name"), position=reader.at(node), hint=Text("write '- formName:'")
            )
        name, key, body = pairs[0]
        for _, other, _ in pairs[1:]:
            reader.warn(
                f"form '{other.value}' is ignored: an item of Forms holds one form",
                reader.at(other),
                "write '- ' before its name",
            )
        if name == BUILT_IN_FORM:
            raise DefinitionError(
                Text(
                    "a form cannot be called {built_in_form}: that is the last step, which every wizard has",
                    built_in_form=BUILT_IN_FORM,
                ),
                position=reader.at(key),
                hint=Text("choose another name"),
            )
        parts: dict[str, YNode] = {}
        for part, part_key, value in reader.pairs(
            body, Text("form '{name}'", name=name), Text("write 'fields:' below the name")
        ):
            if fold(part) not in _FORM_KEYS:
                reader.warn(f"'{part}' of form '{name}' means nothing and is ignored", reader.at(part_key))
            parts[fold(part)] = value
        if "fields" not in parts:
            raise DefinitionError(
                Text("form '{name}' has no fields", name=name),
                position=reader.at(key),
                hint=Text("write 'fields: []' for a step without inputs"),
            )
        fields = {}
        for item in reader.items(
            parts["fields"], Text("fields of form '{name}'", name=name), Text("write '- name: …' lines")
        ):
            try:
                field = read_field(reader, item)
                if field.name in fields:
                    reader.warn(
                        f"form '{name}' has two fields called '{field.name}'; the later one counts", field.position
                    )
                fields[field.name] = field
            except DefinitionError as error:
                reader.fail(error)
        rules = read_rules(reader, parts["validators"], of_form=True) if "validators" in parts else ()
        region = reader.snippet(parts["region"]) if "region" in parts else None
        return FormDefinition(name, fields, rules, reader.at(key), region)


def _titled(folded: str) -> str:
    return "".join(word.capitalize() for word in folded.split("_"))


def _pairs(snippet: Any) -> list[tuple[Any, Any]] | None:
    if isinstance(snippet, MapSnippet):
        return snippet.pairs
    return list(snippet.items()) if isinstance(snippet, FDict) else None


def _nameless(header: Any) -> Any:
    if isinstance(header, MapSnippet):
        return MapSnippet([(k, v) for k, v in header.pairs if k != "name"], header.position)
    return FDict((k, v) for k, v in header.items() if k != "name")
