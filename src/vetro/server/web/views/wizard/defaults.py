"""Defaults that are lists or mappings, as filled-in fields: a form that was just begun shows what applies anyway."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from vetro.forms.fill import ENTRIES
from vetro.forms.model import Field, Section
from vetro.model.paths import ABSENT, child, is_list


def with_default(item: Field) -> Field:
    """``item`` with its default as its answer, where that has parts; any other as it is."""
    if item.answered or item.secret or not item.initial:
        return item
    if item.kind not in ("list", "tuple", "map", "object"):
        return item
    return _filled(item, item.initial)


def _filled(item: Field, value: Any) -> Field:
    if item.kind in ("list", "tuple") and is_list(value):
        rows = []
        for i, part in enumerate(value):
            template = item.leading[i] if i < len(item.leading) else item.items
            if template is not None:
                rows.append(_filled(replace(template, name=str(i), label=template.label or str(i + 1)), part))
        return replace(item, value=list(value), answered=True, sections=(Section(fields=tuple(rows)),) if rows else ())
    if item.kind in ("map", "object") and isinstance(value, Mapping):
        return _entries(item, value)
    return replace(item, value=value, answered=True)


def _entries(item: Field, value: Mapping[str, Any]) -> Field:
    own = {part.name for section in item.sections for part in section.fields}
    sections = [
        replace(section, fields=tuple(_part(part, child(value, part.name)) for part in section.fields))
        for section in item.sections
    ]
    if item.items is not None:
        template = item.items
        rest = [(str(key), part) for key, part in value.items() if key not in own]
        rows = tuple(_filled(replace(template, name=key, label=key), part) for key, part in rest)
        sections += [Section(name=ENTRIES, fields=rows)] if rows else []
    return replace(item, value=dict(value), answered=True, sections=tuple(sections))


def _part(part: Field, value: Any) -> Field:
    return part if value is ABSENT else _filled(part, value)
