"""The form model from plain JSON: what `Form.as_json` wrote, as `Form` again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vetro.diagnostics import Diagnostic, decode_messages
from vetro.forms.model import Choice, Field, Form, Page, Picker, Preset, Section, flaw


def form_of(data: Mapping[str, Any]) -> Form:
    """The form. Raises `TypeError` for keys that no form has."""
    data = decode_messages(data)
    presets = tuple(Preset(**one) for one in data.get("presets") or ())
    pages = _all(page_of, data.get("pages"))
    return Form(**{**data, "pages": pages, "problems": _problems(data), "presets": presets})


def page_of(data: Mapping[str, Any]) -> Page:
    """One page."""
    return Page(**{**data, "sections": _all(_section, data.get("sections")), "problems": _problems(data)})


def _section(data: Mapping[str, Any]) -> Section:
    return Section(**{**data, "fields": _all(field_of, data.get("fields"))})


def field_of(data: Mapping[str, Any]) -> Field:
    """One field."""
    made = dict(data)
    for name in ("choices",):
        if name in made:
            made[name] = _choices(made[name])
    for name in ("items", "keys"):
        if made.get(name) is not None:
            made[name] = field_of(made[name])
    if "leading" in made:
        made["leading"] = _all(field_of, made["leading"])
    if "sections" in made:
        made["sections"] = _all(_section, made["sections"])
    if made.get("picker") is not None:
        picker = made["picker"]
        listed = {name: _choices(picker[name]) for name in ("existing", "types") if name in picker}
        made["picker"] = Picker(**{**picker, **listed})
    if "problems" in made:
        made["problems"] = _problems(made)
    return Field(**made)


def _choices(items: Any) -> tuple[Choice, ...]:
    # A choice whose value is null comes without it: null is no default, but as_json leaves it out all the same.
    return tuple(Choice(**{"value": None, **item}) for item in items)


def _problems(data: Mapping[str, Any]) -> tuple[Diagnostic, ...]:
    return tuple(flaw(**item) for item in data.get("problems", ()))


def _all(make: Any, items: Sequence[Mapping[str, Any]] | None) -> tuple[Any, ...]:
    return tuple(make(item) for item in items or ())
