"""Counts of the requests that the processes of this service have answered (API.md 12, ``/v1/stats``).

Each process counts for itself and lays its figures into a folder of the run now and then (`Requests.share`), so that
whichever of them is asked answers for all: exactly for itself, for the others as they were about a second ago. The
time that rates are about began with the first of them.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import threading
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from vetro.server.caller import Caller
from vetro.server.config.address import RUN
from vetro.server.ids import stamp

#: Projects that are counted by name; the rest is only part of the sums.
_MOST_PROJECTS: Final = 10_000


class Requests:
    """Thread-safe counters since the start of the process; ``folder``: where those of a service lay their figures."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._shared = 0
        self._lock = threading.Lock()
        self._begun = time.monotonic()
        self._created = datetime.now(UTC)
        self._count = self._errors = 0
        self._seconds = 0.0
        self._projects: Counter[str] = Counter()

    def note(self, project_id: str, seconds: float, *, failed: bool) -> None:
        """One request was answered. ``project_id`` is '' where nobody knows whose it was."""
        with self._lock:
            self._count += 1
            self._errors += failed
            self._seconds += seconds
            if project_id and (project_id in self._projects or len(self._projects) < _MOST_PROJECTS):
                self._projects[project_id] += 1

    def share(self) -> None:
        """Lays the figures into the folder, if there is one and they have changed."""
        folder = self._folder
        with self._lock:
            if folder is None or self._count == self._shared:
                return
            begun = [self._begun, self._created.timestamp()]
            figures = [self._count, self._errors, self._seconds, dict(self._projects), *begun]
            self._shared = self._count
        draft = folder / f".requests-{os.getpid()}"
        draft.write_text(json.dumps(figures), encoding="utf-8")
        draft.replace(folder / f"requests-{os.getpid()}.json")

    def _others(self) -> Iterator[tuple[int, int, float, dict[str, int], float, float]]:
        """The figures of the other processes, also of those that have ended, and when they began."""
        for path in self._folder.glob("requests-*.json") if self._folder is not None else ():
            if path.stem != f"requests-{os.getpid()}":
                # One that ends removes the folder.
                with contextlib.suppress(OSError, ValueError):
                    yield tuple(json.loads(path.read_text(encoding="utf-8")))

    def told(self, caller: Caller) -> dict[str, Any]:
        """The figures as the API shows them; other projects than the caller's are for administrators."""
        with self._lock:
            count, errors, spent, counted = self._count, self._errors, self._seconds, self._projects.copy()
        begun, created = self._begun, self._created.timestamp()
        for other in self._others():
            count, errors, spent = count + other[0], errors + other[1], spent + other[2]
            counted.update(other[3])
            begun, created = min(begun, other[4]), min(created, other[5])
        projects = {name: n for name, n in counted.items() if caller.sees(name)}
        lived = max(time.monotonic() - begun, 1e-3)  # since the first of them: of that time the counts are
        cores = os.cpu_count() or 1
        return {
            "id": 1,
            "host": platform.node(),
            "created": stamp(datetime.fromtimestamp(created, UTC)),
            "updated": stamp(datetime.now(UTC)),
            "request_count": count,
            "error_count": errors,
            "average_response_time": spent / count if count else 0.0,
            "requests_per_tenant": json.dumps(projects),
            "requests_per_second": count / lived,
            "errors_per_second": errors / lived,
            "cpu_count": cores,
            "cpu_percent": min(100.0 * os.getloadavg()[0] / cores, 100.0),
        }


#: The counters of this process.
requests = Requests(Path(os.environ[RUN]) if RUN in os.environ else None)
