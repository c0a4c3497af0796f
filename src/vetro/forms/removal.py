"""Objects that an edit removes, and who still refers to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from vetro.diagnostics import Diagnostic, Text
from vetro.forms.catalog import all_fields
from vetro.forms.model import Field, flaw
from vetro.forms.objects import Objects
from vetro.model.header import id_of
from vetro.model.paths import is_list
from vetro.model.tree import by_id, objects


def removed_by(stored: Mapping[str, Any] | None, answers: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Objects of ``stored`` that are gone once ``answers`` are merged, by id.

    What is not answered stays, so an object is gone only where the answer around it does not have it any more.
    """
    if stored is None:
        return {}
    before = by_id(stored)
    staying: set[str] = set()
    pairs = [(stored, answers)]
    for data in objects(answers):
        found = id_of(data)
        if found is not None:
            staying.add(found)
            if found in before and data is not answers:
                pairs.append((before[found], data))
    for old, new in pairs:
        for key, value in old.items():
            if key != "?" and key not in new:
                staying.update(by_id(value))
    root = id_of(stored)
    return {found: data for found, data in before.items() if found not in staying and found != root}


def still_used(removed: Mapping[str, Any], known: Objects, edited: Mapping[str, Any] | None) -> Iterator[Diagnostic]:
    """Objects of the environment, outside of the ``edited`` one, that refer to one that goes."""
    if not removed:
        return
    own = by_id(edited)
    for id, place in known.by_id.items():
        described = known.class_of(id) if id not in own else None
        if described is None:
            continue
        for name, field in described.fields.items():
            for target in references(field, place.object.get(name)):
                if target in removed:
                    text = Text(
                        "{label} cannot be removed: {label2} uses it ({label3}).",
                        label=known.label(target),
                        label2=known.label(id),
                        label3=field.label,
                    )
                    yield flaw("", text, "still_used", id)


def references(field: Field, value: Any) -> Iterator[str]:
    """Ids in a value of ``field``; objects defined in it are not looked into."""
    todo: list[tuple[Field | None, Any]] = [(field, value)]
    while todo:
        part, item = todo.pop()
        if part is None:
            continue
        if part.picker is not None:
            if isinstance(item, str):
                yield item
        elif is_list(item):
            todo.extend((part.leading[i] if i < len(part.leading) else part.items, v) for i, v in enumerate(item))
        elif isinstance(item, Mapping):
            own = {inner.name: inner for inner in all_fields(part.sections)}
            todo.extend((own.get(key, part.items), v) for key, v in item.items())
