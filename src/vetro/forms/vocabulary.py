"""Forms as JSON Schema 2020-12 with a vocabulary of our own for what JSON Schema has no words for.

A validator that ignores the vocabulary still checks values correctly: it only adds how to show them. The one thing it
cannot know is that a text in a ``muranoType`` field must be the id of an object. Words: docs/forms/schema.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from vetro.forms.keywords import Schema
from vetro.forms.model import Field, Form
from vetro.forms.regexes import to_ecmascript
from vetro.muranopl.schema_draft import DRAFT_2020_12

VOCABULARY: Final = "urn:vetro:forms:vocabulary:1"
META_SCHEMA: Final = "urn:vetro:forms:schema:1"
#: What stands for a secret that the server keeps. ``at`` names where it stood when the form was made.
KEPT: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"secret": {"const": "kept"}, "at": {"type": "string"}},
    "required": ["secret"],
    "additionalProperties": False,
}
_STANDARD: Final = (
    "core", "applicator", "unevaluated", "validation", "meta-data", "format-annotation", "content",
)  # fmt: skip
_TYPES: Final = {"string": "string", "text": "string", "integer": "integer", "number": "number", "boolean": "boolean"}
_NOT_NULL: Final = ["boolean", "number", "string", "array", "object"]
_TEXTS: Final = (
    ("description", "description"),
    ("help", "helpText"),
    ("placeholder", "placeholder"),
    ("widget", "widget"),
    ("description_title", "descriptionTitle"),
    ("confirms", "confirms"),
    ("choices_source", "choicesSource"),
)


def meta_schema() -> dict[str, Any]:
    """The meta-schema that published schemas name: draft 2020-12 and, optional for validators, our vocabulary."""
    base = "https://json-schema.org/draft/2020-12/"
    return {
        "$schema": DRAFT_2020_12,
        "$id": META_SCHEMA,
        "$vocabulary": {**{f"{base}vocab/{name}": True for name in _STANDARD}, VOCABULARY: False},
        "$dynamicAnchor": "meta",
        "title": "Schema of a Vetro form",
        "allOf": [{"$ref": f"{base}schema"}, {"$ref": VOCABULARY}],
        "$defs": {"vocabulary": vocabulary_schema()},
    }


def vocabulary_schema() -> dict[str, Any]:
    """The schema of the words of our vocabulary."""
    text, flag = {"type": "string"}, {"type": "boolean"}
    number = {"type": "integer"}
    return {
        "$schema": DRAFT_2020_12,
        "$id": VOCABULARY,
        "$dynamicAnchor": "meta",
        "title": "Words of Vetro forms",
        "type": ["object", "boolean"],
        "properties": {
            **dict.fromkeys(("helpText", "descriptionTitle", "placeholder", "widget", "confirms"), text),
            **dict.fromkeys(("choicesSource", "formSection", "muranoType"), text),
            **dict.fromkeys(("visible", "secret", "serverChecks", "template"), flag),
            "formIndex": number,
            "formSections": {"type": "object", "additionalProperties": {"type": "object"}},
            "formPresets": {"type": "array", "items": {"type": "object", "required": ["name", "title", "values"]}},
            "level": {"enum": ["basic", "advanced"]},
            "choiceLabels": {"type": "array", "items": text},
            "messages": {"type": "object", "additionalProperties": text},
            "regex": text,
            "version": text,
            "owned": {"type": ["boolean", "null"]},
            "excludedProperties": {"type": "array", "items": text},
            "context": {"type": "array", "items": {"type": "object"}},
            "muranoClass": {"type": "object"},
            "muranoMethod": {"type": "object"},
        },
    }


def to_json_schema(form: Form, *, made_by: Schema | None = None) -> dict[str, Any]:
    """The JSON Schema of the answers of ``form``. ``made_by``: further members of the root."""
    sections = [section for page in form.pages for section in page.sections]
    schema: dict[str, Any] = {"$schema": DRAFT_2020_12, "type": "object", "title": form.title}
    if form.description:
        schema["description"] = form.description
    if form.help:
        schema["helpText"] = form.help
    properties, required = _properties(sections)
    if form.source == "class":
        properties["?"] = {"type": "object"}
    schema["properties"] = properties
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    headings = {s.name: {"title": s.title, "index": i} for i, s in enumerate(sections) if s.name}
    if headings:
        schema["formSections"] = headings
    if form.presets:
        schema["formPresets"] = [
            {"name": one.name, "title": one.title, "values": dict(one.values)}
            | ({"description": one.description} if one.description else {})
            | ({"default": True} if one.default else {})
            for one in form.presets
        ]
    return {**schema, **(made_by or {})}


def _properties(sections: Any) -> tuple[dict[str, Any], list[str]]:
    properties: dict[str, Any] = {}
    required: list[str] = []
    index = 0
    for section in sections:
        for field in section.fields:
            properties[field.name] = part = field_schema(field)
            part["formIndex"] = index
            if section.name:
                part["formSection"] = section.name
            if field.required and field.enabled:
                required.append(field.name)
            index += 1
    return properties, required


def field_schema(field: Field) -> dict[str, Any]:
    """The JSON Schema of the value of one field."""
    schema = _SHAPES.get(field.kind, _scalar)(field)
    if field.secret:
        schema = {"anyOf": [schema, dict(KEPT)], "secret": True}
    if field.label:
        schema["title"] = field.label
    for attribute, keyword in _TEXTS:
        text = getattr(field, attribute)
        if text:
            schema[keyword] = text
    if field.initial is not None and not field.secret:
        schema["default"] = field.initial
    if not field.visible:
        schema["visible"] = False
    if field.read_only:
        schema["readOnly"] = True
    if field.level != "basic":
        schema["level"] = field.level
    if field.attributes.get("data-server-checks"):
        schema["serverChecks"] = True
    if field.messages:
        schema["messages"] = {**schema.get("messages", {}), **field.messages}
    return schema


def checks_of(field: Field) -> dict[str, Any]:
    """The part of a field's schema that says what values are right: nothing for people, nothing about secrets."""
    schema = _SHAPES.get(field.kind, _scalar)(field)
    if field.messages:
        schema["messages"] = {**schema.get("messages", {}), **field.messages}
    return schema


def patterns_of(patterns: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Keywords for regular expressions (Python's) with their messages; ECMAScript's text stands beside it if any."""
    parts = [_pattern(regex, message) for regex, message in patterns]
    if len(parts) == 1:
        return parts[0]
    return {"allOf": parts} if parts else {}


def _pattern(regex: str, message: str) -> dict[str, Any]:
    part: dict[str, Any] = {"regex": regex}
    text = to_ecmascript(regex)
    if text is not None:
        part["pattern"] = text
    if message:
        part["messages"] = {"pattern": message}
    return part


def _or_null(field: Field, kind: str) -> Any:
    return [kind, "null"] if field.nullable else kind


def _scalar(field: Field) -> dict[str, Any]:
    return {"type": _or_null(field, _TYPES[field.kind]), **field.constraints}


def _json(field: Field) -> dict[str, Any]:
    return {**({} if field.nullable else {"type": list(_NOT_NULL)}), **field.constraints}


def _choice(field: Field) -> dict[str, Any]:
    values = [choice.value for choice in field.choices if not choice.disabled]
    schema: dict[str, Any] = {}
    if not field.choices_source:
        schema["enum"] = [*values, None] if field.nullable else values
    elif not field.nullable:
        schema["type"] = list(_NOT_NULL)
    labels = [choice.label for choice in field.choices if not choice.disabled]
    if labels != values:
        schema["choiceLabels"] = labels
    return {**schema, **field.constraints}


def _list(field: Field) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": _or_null(field, "array")}
    if field.leading:
        schema["prefixItems"] = [field_schema(item) for item in field.leading]
    schema["items"] = field_schema(field.items) if field.items is not None else not field.leading
    return {**schema, **field.constraints}


def _object(field: Field) -> dict[str, Any]:
    properties, required = _properties(field.sections)
    schema: dict[str, Any] = {"type": _or_null(field, "object"), "properties": properties}
    if required:
        schema["required"] = required
    schema["additionalProperties"] = field_schema(field.items) if field.items is not None else False
    if field.keys is not None:
        keys = field_schema(field.keys)
        schema["propertyNames"] = {"anyOf": [keys, {"enum": list(properties)}]} if properties else keys
    return {**schema, **field.constraints}


def _reference(field: Field) -> dict[str, Any]:
    picker = field.picker
    assert picker is not None
    kinds: list[Any] = []
    if picker.owned is not True:
        kinds.append({"type": "string", "minLength": 1})
    if picker.owned is not False:
        kinds.append({"type": "object", "properties": {"?": {"type": "object"}}})
    if field.nullable:
        kinds.append({"type": "null"})
    schema: dict[str, Any] = {"anyOf": kinds, "muranoType": picker.type}
    if picker.version is not None:
        schema["version"] = picker.version
    if picker.owned is not None:
        schema["owned"] = picker.owned
    if picker.excluded:
        schema["excludedProperties"] = list(picker.excluded)
    if picker.contexts:
        schema["context"] = [dict(context) for context in picker.contexts]
    return schema


_SHAPES: Final = {
    "json": _json,
    "choice": _choice,
    "list": _list,
    "tuple": _list,
    "map": _object,
    "object": _object,
    "reference": _reference,
}
