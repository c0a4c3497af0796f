"""`of_environment`: the resources that an environment has in the local cloud, as its file says. Nothing is started.

Other clouds are not asked: a page must not wait for them; their own dashboard shows it.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from vetro.server.dispatch import spec
from vetro.server.setup import config

#: Seconds that a page waits for a writer, and resources shown at most.
_PATIENCE, _MOST = 1.0, 2000
_STACKS = (
    "SELECT id, region, name, status, parent FROM stacks WHERE project = ? AND environment = ?"
    " AND status != 'DELETE_COMPLETE' ORDER BY region, name LIMIT ?"
)
_RESOURCES = (
    "SELECT r.stack, r.id, r.name, r.type, r.status, r.requires FROM resources r JOIN stacks s ON s.id = r.stack"
    " WHERE s.project = ? AND s.environment = ? AND r.old = 0 AND r.status != 'DELETE_COMPLETE'"
    " ORDER BY r.stack, r.place LIMIT ?"
)


def of_environment(project_id: str, environment_id: str) -> list[dict[str, Any]]:
    """[{id, owner, name, type, state, uses: [ids]}], stacks first; empty where the cloud is not the local one."""
    if config()["cloud.kind"] != "local":
        return []
    file = Path(spec.local_settings(config())["directory"]) / "cloud.db"
    if not file.exists():
        return []
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=_PATIENCE)) as cloud:
            stacks = cloud.execute(_STACKS, (project_id, environment_id, _MOST)).fetchall()
            rows = cloud.execute(_RESOURCES, (project_id, environment_id, _MOST)).fetchall() if stacks else []
    except sqlite3.Error:
        return []  # it is being made, or a newer release keeps it otherwise: the objects are shown all the same
    known = {stack[0] for stack in stacks}
    found: list[dict[str, Any]] = [
        {
            "id": f"stack:{id}",
            "owner": f"stack:{parent}" if parent in known else None,
            "name": f"{name} ({region})" if region else name,
            "type": "stack",
            "state": status,
            "uses": [],
        }
        for id, region, name, status, parent in stacks
    ]
    ids = {(stack, name): f"resource:{stack}:{id}" for stack, id, name, *_ in rows}
    for stack, id, name, type_name, status, requires in rows:
        uses = [ids[stack, other] for other in _names(requires) if (stack, other) in ids]
        found.append(
            {
                "id": f"resource:{stack}:{id}",
                "owner": f"stack:{stack}",
                "name": name,
                "type": type_name,
                "state": status,
                "uses": uses,
            }
        )
    return found


def _names(text: str) -> list[str]:
    try:
        given = json.loads(text)
    except ValueError:
        return []
    return [name for name in given if isinstance(name, str)] if isinstance(given, list) else []
