"""`of_environment`: the resources that an environment has in the cloud. Of the local one its file says it; nothing is
started. Other clouds are asked, and a page waits for them a moment only: without an answer it shows what was known.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from concurrent.futures import Future
from contextlib import closing
from typing import Any

from vetro.clouds.interface import Cloud, Owner, ShowsResources
from vetro.clouds.stacks.kind import DriverKind
from vetro.server.config import cloud_settings
from vetro.server.forms import cloud_lists
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


#: Seconds that a page waits for a far cloud, for which its answer is good, and after which it is asked again when it
#: gave none; environments whose resources are kept.
_WAIT, _FRESH, _AGAIN, _KEPT = 2.0, 5.0, 30.0, 200

_lock = threading.Lock()
_known: dict[tuple[str, str], tuple[float, list[dict[str, Any]]]] = {}
_asked: dict[tuple[str, str], Future[list[dict[str, Any]]]] = {}


def of_environment(project_id: str, environment_id: str) -> list[dict[str, Any]]:
    """[{id, owner, name, type, state, uses: [ids]}], owners first; empty where the cloud does not tell."""
    if isinstance(cloud_settings.kind(config()), DriverKind):
        return _kept(project_id, environment_id)
    return _far(project_id, environment_id)


def forget() -> None:
    """Asks anew the next time."""
    with _lock:
        _known.clear()
        _asked.clear()


def _far(project_id: str, environment_id: str) -> list[dict[str, Any]]:
    key = (project_id, environment_id)
    with _lock:
        until, known = _known.get(key, (0.0, []))
        if until > time.monotonic():
            return known
        asked = _asked.get(key)
        if asked is None:
            owner = Owner(project_id, environment_id, "pages")
            asked = _asked[key] = cloud_lists.ask(owner, lambda cloud: _told(cloud, owner))
    good = _FRESH
    try:
        known = asked.result(_WAIT)
    except TimeoutError:
        if not asked.done():
            return known  # whoever comes next gets the answer
        good = _AGAIN
    except Exception:  # whatever a cloud, or a library about it, comes up with: the objects are shown all the same
        good = _AGAIN
    with _lock:
        _asked.pop(key, None)
        if len(_known) >= _KEPT:
            _known.clear()
        _known[key] = time.monotonic() + good, known
    return known


def _told(cloud: Cloud, owner: Owner) -> list[dict[str, Any]]:
    if not isinstance(cloud, ShowsResources):
        return []
    return [
        {
            "id": found.id,
            "owner": found.owner,
            "name": found.name,
            "type": found.type,
            "state": found.status,
            "uses": list(found.uses),
        }
        for found in cloud.resources(owner)[:_MOST]
    ]


def _kept(project_id: str, environment_id: str) -> list[dict[str, Any]]:
    file = config().path("cloud.directory") / "cloud.db"
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
