"""What an environment consists of, as a picture wants it: objects, who owns whom, who refers to whom. No values."""

from __future__ import annotations

from typing import Any

from vetro.model.differences import diff
from vetro.model.environment import deployed_objects
from vetro.model.header import class_of, id_of, name_of
from vetro.model.tree import references, walk
from vetro.server.caller import Caller
from vetro.server.environments import drafts, limits, queries


def of_environment(caller: Caller, environment_id: str, session_id: str = "") -> dict[str, Any]:
    """{nodes: [{id, type, name, owner, property, status}], edges: [{source, target, property, kind}]}.

    ``status``: ``deployed``, or with a session what its draft makes of the object: ``new``, ``changed``. Raises as
    `queries.get` and `sessions.readable`.
    """
    found = queries.get(caller, environment_id, model=True)
    root = drafts.root_for(caller, found, session_id)
    present = deployed_objects(found.model or {})
    limits.check_comparable(present, root)
    words = {"created": "new", "changed": "changed", "moved": "changed"}
    status = {item.id: words[item.what] for item in diff(present, root) if item.what in words}
    return picture(root, status)


def picture(root: Any, status: dict[str, str] | None = None) -> dict[str, Any]:
    """The same of a root object; objects without an id are left out."""
    limits.check_comparable(root)
    nodes, edges = [], []
    placed = list(walk(root))
    known = {own for place in placed if (own := id_of(place.object)) is not None}
    for place in placed:
        obj, own, owner = place.object, id_of(place.object), place.owner
        if own is None:
            continue
        nodes.append(
            {
                "id": own,
                "type": class_of(obj),
                "name": name_of(obj),
                "owner": owner,
                "property": place.property,
                "status": (status or {}).get(own, "deployed"),
            }
        )
        if owner is not None:
            edges.append({"source": owner, "target": own, "property": place.property, "kind": "owns"})
        for key, value in obj.items():
            for target in dict.fromkeys(references(value, known)) if key != "?" else ():
                if target != own:
                    edges.append({"source": own, "target": target, "property": key, "kind": "uses"})
    return {"nodes": nodes, "edges": edges}
