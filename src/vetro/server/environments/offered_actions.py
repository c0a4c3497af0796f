"""The actions that the objects of an environment offer, as its last deployment wrote them into the model."""

from __future__ import annotations

from typing import Any

from vetro.server.caller import Caller
from vetro.server.environments import content, queries


def actions(caller: Caller, environment_id: str) -> list[dict[str, Any]]:
    """[{id, name, title, enabled, object_id, object_name, class, version, package}], in the order of the model."""
    found = queries.get(caller, environment_id, model=True)
    offered = []
    for obj in content.objects_in((found.model or {}).get("Objects")):
        header = obj["?"]
        known = header.get("_actions")
        if not isinstance(known, dict):
            continue
        written, _, package = str(header.get("type") or "").partition("@")
        class_name, _, version = written.partition("/")
        label = header.get("name") or obj.get("name")
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
                        "object_id": str(header.get("id") or ""),
                        "object_name": label if isinstance(label, str) else "",
                        "class": class_name,
                        "version": version or None,
                        "package": package or None,
                    }
                )
    return offered
