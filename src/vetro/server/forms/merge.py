"""What an edited object becomes in a draft that others may have changed meanwhile; nothing of either side is lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vetro.diagnostics import Text
from vetro.model.header import class_of, id_of
from vetro.model.paths import pointer
from vetro.model.tree import by_id
from vetro.server.environments.errors import DraftChanged

_NONE = object()


def merged(base: Any, mine: Any, theirs: Any) -> Any:
    """``theirs`` with what ``mine`` changed since ``base``. Raises `DraftChanged` for a value that both changed."""
    clashes: list[str] = []
    found = _merged(base, mine, theirs, "", clashes)
    if clashes:
        raise DraftChanged(
            Text("The object was changed meanwhile, at the same place: {clashes}.", clashes=", ".join(clashes)),
            hint=Text("open its form again and repeat the change, or throw this form away"),
            details={"paths": clashes},
        )
    return found


def _merged(base: Any, mine: Any, theirs: Any, path: str, clashes: list[str]) -> Any:
    if mine == theirs or theirs == base:
        return mine
    if mine == base:
        return theirs
    if all(isinstance(value, Mapping) for value in (base, mine, theirs)) and id_of(mine) == id_of(theirs):
        found = {}
        for key in dict.fromkeys((*theirs, *mine)):
            old, own, new = (value.get(key, _NONE) for value in (base, mine, theirs))
            value = _merged(old, own, new, path + pointer(key), clashes)
            if value is not _NONE:
                found[key] = value
        return found
    clashes.append(path or "/")
    return theirs


def refilled(made: Mapping[str, Any], stored: Mapping[str, Any], print_: Any) -> dict[str, Any]:
    """What a definition made of changed answers, in the place of what it made before.

    ``stored``: the object as it is; ``print_``: the fingerprint of what was made before
    (`vetro.forms.form_source.fingerprint`). What code wrote into ``stored`` since, and what the person
    had no say in, stays.
    """
    known, answered = by_id(stored), by_id(print_)

    def read(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [read(item) for item in value]
        if not isinstance(value, Mapping):
            return value
        found = {key: part if key == "?" else read(part) for key, part in value.items()}
        own = id_of(value)
        before = known.get(own) if own is not None else None
        if own is None or before is None or class_of(before) != class_of(value):
            return found
        asked = answered.get(own) or {}
        kept = {key: part for key, part in before.items() if key not in found and key not in asked}
        header = {**value["?"], **{k: v for k, v in before["?"].items() if k not in value["?"] or k == "type"}}
        return {**found, **kept, "?": header}

    result: dict[str, Any] = read(made)
    return result
