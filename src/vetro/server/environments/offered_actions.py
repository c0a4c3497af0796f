"""The actions that the objects of an environment offer, as its last deployment wrote them into the model."""

from __future__ import annotations

from typing import Any

from vetro.model.header import id_of, name_of, parse_type_text, type_of
from vetro.model.tree import objects
from vetro.server.caller import Caller
from vetro.server.environments import queries


def actions(caller: Caller, environment_id: str) -> list[dict[str, Any]]:
    """[{id, name, title, description, help, enabled, object_id, object_name, class, version, package}], as modelled."""
    found = queries.get(caller, environment_id, model=True)
    offered = []
    for obj in objects((found.model or {}).get("Objects")):
        header = obj["?"]
        known = header.get("_actions")
        if not isinstance(known, dict):
            continue
        class_name, version, package = parse_type_text(type_of(obj))
        for id, action in known.items():
            if isinstance(action, dict):
                offered.append(
                    {
                        "id": id,
                        "name": str(action.get("name") or ""),
                        "title": str(action.get("title") or action.get("name") or ""),
                        "description": action.get("description") or None,
                        "help": action.get("helpText") or None,
                        "enabled": action.get("enabled") is not False,
                        "object_id": id_of(obj) or "",
                        "object_name": name_of(obj),
                        "class": class_name,
                        "version": version,
                        "package": package,
                    }
                )
    return offered
