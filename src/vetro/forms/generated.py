"""Class and method schemas -> forms without answers; `objects` fills them in.

The schemas are those of ``vetro.muranopl.schemas.class_schemas(…, form=True)``, plain JSON made in a task process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from vetro.forms.fields import field_of
from vetro.forms.keywords import Schema, together
from vetro.forms.model import Field, Form, Page, Preset, Section
from vetro.forms.vocabulary import to_json_schema

#: Sections come in the order of their index, those without one after them, fields of no section last.
_LAST = (2, 0, "")


def class_form(schema: Schema, *, excluded: Sequence[str] = (), contexts: Sequence[Schema] = ()) -> Form:
    """The form for a new object of a class, without nested objects.

    ``excluded``: properties that are not asked for. ``contexts``: schemas that the object must meet besides its own.
    """
    made_by = schema.get("muranoClass") or {}
    return _form(schema, "class", str(made_by.get("name", "")), excluded, contexts)


def method_form(schema: Schema) -> Form:
    """The form for the arguments of an action, a static action or a model builder."""
    made_by = schema.get("muranoMethod") or {}
    return _form(schema, "method", str(made_by.get("name", "")), (), ())


def _form(schema: Schema, source: Any, name: str, excluded: Sequence[str], contexts: Sequence[Schema]) -> Form:
    sections = sections_of(schema, excluded=excluded, contexts=contexts)
    title = str(schema.get("title") or name.rpartition(".")[2] or name)
    form = Form(
        title=title,
        source=source,
        pages=(Page(name=name, title=title, sections=sections),),
        description=str(schema.get("description") or ""),
        help=str(schema.get("helpText") or ""),
        presets=presets_of(schema, {field.name: field for section in sections for field in section.fields}),
    )
    return replace(form, schema=to_json_schema(form, made_by=made_by(schema)))


def presets_of(schema: Schema, fields: Mapping[str, Field]) -> tuple[Preset, ...]:
    """The presets of a class that set something of ``fields`` that people may see and change."""
    made = []
    for one in schema.get("formPresets", ()):
        values = {
            name: value
            for name, value in one["values"].items()
            if name in fields and not fields[name].secret and not fields[name].read_only
        }
        if values:
            title, description = str(one.get("title") or one["name"]), str(one.get("description") or "")
            made.append(Preset(str(one["name"]), title, description, values, bool(one.get("default"))))
    return tuple(made)


def made_by(schema: Schema) -> dict[str, Any]:
    """What a schema says of the class or method it was made of."""
    return {key: schema[key] for key in ("muranoClass", "muranoMethod") if key in schema}


def sections_of(
    schema: Schema, *, excluded: Sequence[str] = (), contexts: Sequence[Schema] = ()
) -> tuple[Section, ...]:
    """The fields of a class or method in their sections and order (SEMANTICS 17.4).

    Within a section: by position, then those without one as they are declared, inherited ones first.
    """
    declared: Mapping[str, Any] = schema.get("formSections") or {}
    groups: dict[str, list[tuple[tuple[Any, ...], Any]]] = {}
    for place, (name, part) in enumerate(properties_of(schema, excluded=excluded, contexts=contexts).items()):
        field = field_of(name, part)
        index = part.get("formIndex")
        order = (1, place) if index is None else (0, index, place)
        groups.setdefault(str(part.get("formSection") or ""), []).append((order, field))

    def rank(name: str) -> tuple[int, int, str]:
        if not name:
            return _LAST
        index = (declared.get(name) or {}).get("index")
        return (1, 0, _title(declared, name).casefold()) if index is None else (0, index, "")

    return tuple(
        Section(
            name=name,
            title=_title(declared, name) if name else "",
            description=str((declared.get(name) or {}).get("description") or ""),
            fields=tuple(field for _, field in sorted(groups[name], key=lambda entry: entry[0])),
        )
        for name in sorted(groups, key=rank)
    )


def properties_of(
    schema: Schema, *, excluded: Sequence[str] = (), contexts: Sequence[Schema] = ()
) -> dict[str, dict[str, Any]]:
    """Schemas of the properties that are asked for, with what ``contexts`` add. Dotted names leave out inner ones."""
    inner: dict[str, list[str]] = {}
    for name in excluded:
        head, dot, rest = name.partition(".")
        inner.setdefault(head, []).append(rest if dot else "")
    result: dict[str, dict[str, Any]] = {}
    for name, part in schema.get("properties", {}).items():
        left_out = inner.get(name, ())
        if "" in left_out:
            continue
        part = dict(part)
        if left_out:
            part["excludedProperties"] = [*part.get("excludedProperties", ()), *left_out]
        for context in contexts:
            part = _narrowed(part, of_property(context, name))
        result[name] = part
    return result


def _narrowed(part: dict[str, Any], further: Sequence[Schema]) -> dict[str, Any]:
    for schema in further:
        # What a context says of the properties of an object is no schema of the reference to it.
        if "muranoType" in part:
            part = {**part, "context": together(part.get("context"), schema)}
        else:
            part = together(part, schema)
    return part


def of_property(context: Schema, name: str) -> list[Schema]:
    """What a ``context`` schema says of one property."""
    found = [context["properties"][name]] if name in context.get("properties", {}) else []
    for part in context.get("allOf", ()):
        found += of_property(part, name)
    return found


def _title(declared: Mapping[str, Any], name: str) -> str:
    return str((declared.get(name) or {}).get("title") or name)
