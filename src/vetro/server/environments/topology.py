"""What an environment consists of, as a picture wants it: objects, who owns whom, who refers to whom. No values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vetro.engine.models.differences import diff
from vetro.server.caller import Caller
from vetro.server.environments import content, drafts, queries


def of_environment(caller: Caller, environment_id: str, session_id: str = "") -> dict[str, Any]:
    """{nodes: [{id, type, name, owner, property, status}], edges: [{source, target, property, kind}]}.

    ``status``: ``deployed``, or with a session what its draft makes of the object: ``new``, ``changed``. Raises as
    `reading.get` and `sessions.readable`.
    """
    found = queries.get(caller, environment_id, model=True)
    root = drafts.root_for(caller, found, session_id)
    present = content.deployed_objects(found.model or {})
    content.check_comparable(present, root)
    words = {"created": "new", "changed": "changed", "moved": "changed"}
    status = {item.id: words[item.what] for item in diff(present, root) if item.what in words}
    return picture(root, status)


def picture(root: Any, status: dict[str, str] | None = None) -> dict[str, Any]:
    """The same of a root object; objects without an id are left out."""
    content.check_comparable(root)
    nodes = []
    edges: list[dict[str, Any]] = []
    placed = list(_placed(root))
    known = {content.id_of(obj) for obj, _, _ in placed}
    for obj, owner, name in placed:
        own = content.id_of(obj)
        if not isinstance(own, str):
            continue
        header = obj["?"]
        label = header.get("name") or obj.get("name")
        nodes.append(
            {
                "id": own,
                "type": str(header.get("type") or "").partition("/")[0].partition("@")[0],
                "name": label if isinstance(label, str) else "",
                "owner": owner,
                "property": name,
                "status": (status or {}).get(own, "deployed"),
            }
        )
        if owner is not None:
            edges.append({"source": owner, "target": own, "property": name, "kind": "owns"})
        seen = set()
        for key, value in obj.items():
            for target in _references(value, known) if key != "?" else ():
                if (key, target) not in seen and target != own:
                    seen.add((key, target))
                    edges.append({"source": own, "target": target, "property": key, "kind": "uses"})
    return {"nodes": nodes, "edges": edges}


def _placed(root: Any) -> Iterator[tuple[dict[str, Any], str | None, str | None]]:
    """(object, id of its owner, the owner's property), owners first."""
    stack: list[tuple[Any, str | None, str | None]] = [(root, None, None)]
    while stack:
        value, owner, name = stack.pop()
        if isinstance(value, dict):
            if isinstance(value.get("?"), dict):
                yield value, owner, name
                own = content.id_of(value)
                owner = own if isinstance(own, str) else owner
                below = [(item, owner, key) for key, item in value.items() if key != "?"]
            else:
                below = [(item, owner, name) for item in value.values()]
        elif isinstance(value, list):
            below = [(item, owner, name) for item in value]
        else:
            continue
        stack.extend(item for item in reversed(below) if isinstance(item[0], (dict, list)))


def _references(value: Any, known: set[Any]) -> Iterator[str]:
    """Ids of objects that a value names, outside of the objects in it."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if item in known:
                yield item
        elif isinstance(item, list):
            stack.extend(reversed(item))
        elif isinstance(item, dict) and not isinstance(item.get("?"), dict):
            stack.extend(reversed(item.values()))
