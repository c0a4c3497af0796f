"""Pages of the form model in the vocabulary of the cases, and what a browser would send for them."""

from __future__ import annotations

import re
from typing import Any

from vetro.forms.dynamic import Wizard
from vetro.forms.model import Choice, Field, Page

_WIDGETS = {"boolean": "checkbox", "integer": "number"}
_FLAGS = re.compile(r"^\(\?[aimsx]+\)")


def widget_of(field: Field) -> str:
    """How the cases call the control."""
    if not field.visible:
        return "hidden"
    if field.widget in ("", "ipv4", "names"):
        return _WIDGETS.get(field.kind, "text")
    return field.widget


def current(field: Field) -> Any:
    """What the control holds."""
    return field.value if field.answered else field.initial


def describe_page(wizard: Wizard, page: Page, step: int) -> dict[str, Any]:
    """A form as the cases write it."""
    side = [[f.name, f.description_title, f.description] for f in page.fields() if f.description]
    side += [[s.name, s.title, s.description] for s in page.sections if s.name]
    return {
        "step": step,
        "of": len(wizard.steps),
        "form": page.name,
        "title": page.title,
        "fields": [_field(wizard, field, step) for field in page.fields()],
        "side": side,
        "intro": list(page.intro),
    }


def _field(wizard: Wizard, field: Field, step: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": field.name,
        "widget": widget_of(field),
        "label": field.label,
        "required": field.required,
        "initial": current(field),
        "help": field.help,
        "choices": _choices(field),
        "client_patterns": [
            {"regex": _FLAGS.sub("", part["regex"]), "message": part.get("messages", {}).get("pattern", "")}
            for part in (field.constraints, *field.constraints.get("allOf", ()))
            if "regex" in part
        ],
        "can_add": [choice.label for choice in field.picker.types] if field.picker is not None else [],
        "message": field.messages.get("instead"),
        "media": [f for files in (field.media.get("css") or {}).values() for f in files]
        + list(field.media.get("js") or ()),
    }
    limits = field.constraints
    for name, keyword in (
        ("min_length", "minLength"),
        ("max_length", "maxLength"),
        ("min_length", "minItems"),
        ("max_length", "maxItems"),
        ("min_value", "minimum"),
        ("max_value", "maximum"),
    ):
        if keyword in limits:
            found[name] = limits[keyword]
    if field.confirms:
        found["confirms"] = field.confirms
    else:
        declared = wizard.steps[step].fields[field.name].declared
        found["type"] = list(declared) if isinstance(declared, tuple) else declared
    return found


def _choices(field: Field) -> list[Any]:
    groups: dict[str, list[Any]] = {}
    found: list[Any] = []
    for choice in field.choices:
        entry = [choice.value, choice.label, *(["disabled"] if choice.disabled else [])]
        if choice.group is None:
            found.append(entry)
        elif choice.group in groups:
            groups[choice.group].append(entry)
        else:
            groups[choice.group] = [entry]
            found.append([choice.group, groups[choice.group]])
    return found


def as_sent(page: Page) -> dict[str, Any]:
    """What a browser sends when nothing is changed."""
    return {f.name: value for f in page.fields() if (value := sent(f)) is not None}


def sent(field: Field) -> Any:
    """What a browser sends for an untouched control; None when it sends nothing."""
    value = current(field)
    widget = widget_of(field)
    if widget == "error-text":
        return None
    if widget == "checkbox":
        return "true" if value else None
    if widget in ("select", "app-select"):
        chosen = next((c for c in field.choices if _same(c, value)), None)
        chosen = chosen or next((c for c in field.choices if not c.disabled), None)
        return None if chosen is None else chosen.value
    if value is None:
        return ""
    return value if isinstance(value, list) else str(value)


def _same(choice: Choice, value: Any) -> bool:
    return choice.value == value or (isinstance(choice.value, str) and choice.value == str(value))
