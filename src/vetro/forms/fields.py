"""One property, argument, item or entry of a class schema -> `Field`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from vetro.forms.keywords import Schema, flat
from vetro.forms.model import FILE, Choice, Field, Kind, Picker, Section
from vetro.forms.values import json_type
from vetro.forms.vocabulary import patterns_of
from vetro.model.files import STORED_CLASS
from vetro.model.paths import is_list
from vetro.model.titles import title_of

#: Types that a schema without ``type`` allows.
_EVERY: Final = ("null", "boolean", "number", "string", "array", "object")
_SCALAR_KINDS: Final[Mapping[str, Kind]] = {
    "string": "string",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
}
#: Name of the attribute that says: the contract tests more than this form can; ask the server.
SERVER_CHECKS: Final = "data-server-checks"
OBJECT: Final = "muranoObject"


def field_of(name: str, schema: Schema | bool, *, label: str = "", needed: bool | None = None) -> Field:
    """The field that asks for a value of ``schema``, without value.

    ``needed``: whether it must be there, for entries of mappings; else what the schema says: no default, no null.
    """
    if isinstance(schema, bool):
        schema = {}
    facts = flat(schema)
    types = facts.get("type") or list(_EVERY)
    nullable = "null" in types and ("enum" not in facts or None in facts["enum"])
    kind = _kind(facts, types)
    secret = bool(facts.get("secret"))
    initial = facts.get("default")
    has_default = "default" in facts and (initial is not None or nullable)
    required = not nullable and not has_default and "defaultExpression" not in facts
    if kind in ("list", "tuple"):
        required = required and facts.get("minItems", 0) > 0
    elif kind in ("object", "map"):
        required = required and bool(facts.get("required") or facts.get("minProperties"))
    elif kind == "boolean" and initial is None and not nullable and "defaultExpression" not in facts:
        initial, required = False, True
    return Field(
        name=name,
        kind=kind,
        label=str(facts.get("title") or label or title_of(name)),
        description=str(facts.get("description") or ""),
        help=str(facts.get("helpText") or ""),
        placeholder="" if secret else str(facts.get("defaultExpression") or ""),
        required=required if needed is None else needed,
        nullable=nullable,
        visible=facts.get("visible", True) is not False,
        read_only=bool(facts.get("readOnly")),
        secret=secret,
        widget=_widget(facts, kind, secret),
        initial=None if secret else initial,
        constraints=_constraints(facts, kind),
        choices=_choices(facts, types) if kind == "choice" else (),
        messages=dict(facts.get("messages") or {}),
        items=_items(facts, kind),
        leading=tuple(_part(part, str(i)) for i, part in enumerate(facts.get("prefixItems", ()))),
        keys=field_of("", {"type": "string", **facts["propertyNames"]}) if "propertyNames" in facts else None,
        sections=_entries(facts) if kind in ("object", "map") else (),
        picker=_picker(facts, nullable) if kind == "reference" else None,
        level="advanced" if facts.get("level") == "advanced" else "basic",
        attributes={SERVER_CHECKS: "true"} if facts.get("serverChecks") else {},
    )


def _kind(facts: Mapping[str, Any], types: Sequence[str]) -> Kind:
    if "muranoType" in facts:
        return "reference"
    if "enum" in facts:
        return "choice"
    wanted = [t for t in types if t != "null"]
    if len(wanted) != 1:
        return "json"
    if wanted[0] == "array":
        return "tuple" if "prefixItems" in facts else "list"
    if wanted[0] == "object":
        if facts.get("additionalProperties") is False:
            return "object"
        return "map"
    if wanted[0] == "string" and facts.get("widget") == "textarea":
        return "text"
    return _SCALAR_KINDS.get(wanted[0], "json")


def _widget(facts: Mapping[str, Any], kind: Kind, secret: bool) -> str:
    if kind == "reference" and facts["muranoType"] == STORED_CLASS and facts.get("owned") is not False:
        return FILE
    widget = str(facts.get("widget") or "")
    return widget or ("password" if secret and kind == "string" else "")


def _constraints(facts: Mapping[str, Any], kind: Kind) -> dict[str, Any]:
    unit = "Items" if kind in ("list", "tuple") else "Properties" if kind in ("map", "object") else "Length"
    keywords = [f"min{unit}", f"max{unit}"]
    if kind in ("integer", "number", "choice", "json"):
        keywords += ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
    made = {keyword: facts[keyword] for keyword in keywords if facts.get(keyword) is not None}
    if facts.get("uniqueItems"):
        made["uniqueItems"] = True
    return {**made, **patterns_of(facts.get("patterns", ()))}


def _choices(facts: Mapping[str, Any], types: Sequence[str]) -> tuple[Choice, ...]:
    """Choices of the right type; null is no choice but "not set"."""
    texts = facts.get("choiceTexts", {})
    return tuple(
        Choice(value, texts.get(value, value) if isinstance(value, str) else _label(value))
        for value in facts["enum"]
        if value is not None and _of_type(value, types)
    )


def _label(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if is_list(value):
        return ", ".join(map(_label, value))
    return str(value)


def _of_type(value: Any, types: Sequence[str]) -> bool:
    kind = json_type(value)
    return kind in types or (kind == "integer" and "number" in types)


def _items(facts: Mapping[str, Any], kind: Kind) -> Field | None:
    if kind in ("list", "tuple"):
        part = facts.get("items", {})
        return None if part is False else _part(part, "")
    if kind == "map":
        return _part(facts.get("additionalProperties", {}), "")
    return None


def _part(schema: Any, name: str) -> Field:
    """An item or entry: it is there, so that "required" only says that it may not be null."""
    made = field_of(name, schema)
    return field_of(name, schema, needed=not made.nullable)


def _entries(facts: Mapping[str, Any]) -> tuple[Section, ...]:
    required = facts.get("required", ())
    made = tuple(field_of(key, part, needed=key in required) for key, part in facts.get("properties", {}).items())
    return (Section(fields=made),) if made else ()


def _picker(facts: Mapping[str, Any], nullable: bool) -> Picker:
    version = facts.get("version")
    context = facts.get("context")
    return Picker(
        type=str(facts["muranoType"]),
        version=None if version is None else str(version),
        owned=facts.get("owned"),
        nullable=nullable,
        excluded=tuple(map(str, facts.get("excludedProperties", ()))),
        contexts=() if context is None else (context,),
    )
