"""`limit`: the most that a project may have of something; asked often, so remembered for seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping

from vetro.clouds.quotas import QUOTAS
from vetro.server.queries import fetch
from vetro.server.setup import config

#: Seconds after which a change that another process made is seen.
_SECONDS = 5.0
#: Projects that are remembered.
_MOST = 10_000
_lock = threading.Lock()
_known: dict[str, tuple[float, dict[str, int]]] = {}


def limit(project_id: str, name: str) -> int:
    """The limit of a quota; -1: none. Also for projects that nobody knows. Raises `KeyError` for unknown names."""
    return limits(project_id)[name]


def limits(project_id: str, fresh: bool = False) -> Mapping[str, int]:
    """All limits of a project, in the order of the table. ``fresh``: also what another process changed just now."""
    now = time.monotonic()
    found = _known.get(project_id)
    if found is not None and not fresh and now - found[0] < _SECONDS:
        return found[1]
    made = {name: int(config()[f"quotas.{name}"]) for name in QUOTAS}
    made.update(own_limits(project_id))
    with _lock:
        if len(_known) >= _MOST:
            _known.clear()
        _known[project_id] = (now, made)
    return made


def own_limits(project_id: str) -> dict[str, int]:
    """The limits that were set for this project, as they are now; names of later versions are left out."""
    rows = fetch("SELECT name, most FROM quotas_projectquota WHERE project_id = %s", (project_id,))
    return {name: int(most) for name, most in rows if name in QUOTAS}


def forget() -> None:
    """The next question is answered by the database."""
    with _lock:
        _known.clear()
