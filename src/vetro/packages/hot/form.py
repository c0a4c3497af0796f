"""The form of a HOT package, generated as a dynamic UI definition of version 2 (PACKAGES 4, DYNAMIC_UI 9)."""

from __future__ import annotations

import re
from typing import Any

from vetro.packages.flow import At, Yaql, write
from vetro.packages.hot.constraints import predicate
from vetro.packages.hot.template import HotTemplate, Parameter

_FIELD_TYPES = {"number": "integer", "boolean": "boolean"}
_NAME_HELP = "Enter a desired name for the application. Just A-Z, a-z, 0-9, and dash are allowed"
_PLAIN = re.compile(r"(?!__)[A-Za-z_]\w*", re.ASCII)
_WORDS = frozenset({"and", "or", "not", "in", "is", "mod", "true", "false", "null"})


def form_text(name: str, version: str, description: str | None, template: HotTemplate) -> str:
    """The definition for class ``name`` of the package of the same name and this version."""
    parameters = {p.name: p for p in template.parameters}
    grouped = {n for group in template.groups for n in group}
    rest = tuple(n for n in parameters if n not in grouped)
    groups = [*template.groups, *([rest] if rest else [])]
    title: dict[str, Any] = {"name": "title", "type": "string", "required": False, "hidden": True}
    if description:
        title["description"] = description
    label = {"name": "name", "type": "string", "label": "Application Name", "required": True}
    forms: list[Any] = [_form(0, [title, {**label, "description": _NAME_HELP}])]
    values: dict[str, At] = {}
    for number, group in enumerate(groups, 1):
        forms.append(_form(number, [_field(parameters[n]) for n in group]))
        values.update((n, At(None, Yaql(f"$.group{number}{_member(n)}"))) for n in group)
    application = {
        "?": At(None, {"type": name, "package": name, "classVersion": version}),
        "name": At(None, Yaql("$.group0.name")),
        "templateParameters": At(None, values),
    }
    return write({"Version": 2, "Application": At(None, application), "Forms": At(None, forms)})


def _form(number: int, fields: list[dict[str, Any]]) -> At:
    return At(None, {f"group{number}": {"fields": [At(None, field) for field in fields]}})


def _member(name: str) -> str:
    if _PLAIN.fullmatch(name) and name not in _WORDS:
        return f".{name}"
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return f".get('{escaped}')"


def _field(parameter: Parameter) -> dict[str, Any]:
    field: dict[str, Any] = {
        "name": parameter.name,
        "label": parameter.label or parameter.name.replace("_", " ").title(),
        "type": _FIELD_TYPES.get(parameter.type, "string"),
    }
    if parameter.description:
        field["description"] = parameter.description
    if parameter.has_default:
        field["initial"] = parameter.default
    field["required"] = not parameter.has_default
    validators: list[Any] = []
    for constraint in parameter.constraints:
        if constraint.kind == "length" and parameter.type == "string":
            low, high = constraint.value
            field.update({key: n for key, n in (("minLength", low), ("maxLength", high)) if n is not None})
            continue
        check: Any = predicate(constraint, parameter.type)
        if check is None:
            continue
        if constraint.kind == "allowed_pattern" and parameter.type == "string":
            validator: dict[str, Any] = {"expr": {"regexpValidator": constraint.value}}
        else:
            validator = {"expr": Yaql(check)}
        if constraint.description:
            validator["message"] = constraint.description
        validators.append(validator)
    if validators:
        field["validators"] = validators
    return field
