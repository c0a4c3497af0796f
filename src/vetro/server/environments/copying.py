"""Objects for a second life: new ids, and nothing in them that only a deployment can have written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vetro.server.environments import content
from vetro.server.ids import new_id

#: The header's ``type`` -> property -> usage.
Usages = Callable[[str], Mapping[str, str]]


def renewed(value: Any) -> Any:
    """The same objects with fresh ids; references among them follow."""
    ids = {content.id_of(obj): new_id() for obj in content.objects_in(value)}
    ids.pop(None, None)
    return _with_ids(value, ids)


def undeployed(value: Any, usages: Usages, known: Mapping[str, Any] | None = None) -> Any:
    """The objects without values of usage ``Out``, and without actions. ``known``: id -> object whose ``Out`` values
    are taken instead, for objects that exist."""
    if isinstance(value, list):
        return [undeployed(item, usages, known) for item in value]
    if not isinstance(value, dict):
        return value
    header = value.get("?")
    if not isinstance(header, dict):
        return {key: undeployed(item, usages, known) for key, item in value.items()}
    present = (known or {}).get(content.id_of(value))
    usage = usages(str(header.get("type") or ""))
    made: dict[str, Any] = {"?": {key: item for key, item in header.items() if key not in ("_actions", "updated")}}
    if present is not None and "_actions" in present["?"]:
        made["?"]["_actions"] = present["?"]["_actions"]
    for name, item in value.items():
        if name == "?":
            continue
        if usage.get(name) == "Out":
            if present is not None and name in present:
                made[name] = present[name]
        else:
            made[name] = undeployed(item, usages, known)
    return made


def _with_ids(value: Any, ids: Mapping[Any, str]) -> Any:
    if isinstance(value, str):
        return ids.get(value, value)
    if isinstance(value, list):
        return [_with_ids(item, ids) for item in value]
    if isinstance(value, dict):
        made = {}
        for key, item in value.items():
            if key == "?" and isinstance(item, dict):
                own = ids.get(item.get("id"))
                made[key] = {k: v for k, v in item.items() if k != "_actions"} | ({"id": own} if own else {})
            else:
                made[key] = _with_ids(item, ids)
        return made
    return value
