"""Counts of the requests that this process has answered (API.md 12, ``/v1/stats``)."""

from __future__ import annotations

import json
import os
import platform
import threading
import time
from collections import Counter
from datetime import UTC, datetime
from typing import Any, Final

from vetro.server.caller import Caller
from vetro.server.ids import stamp

#: Projects that are counted by name; the rest is only part of the sums.
_MOST_PROJECTS: Final = 10_000


class Requests:
    """Thread-safe counters since the start of the process."""

    def __init__(self) -> None:
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

    def told(self, caller: Caller) -> dict[str, Any]:
        """The figures as the API shows them; other projects than the caller's are for administrators."""
        with self._lock:
            count, errors, spent = self._count, self._errors, self._seconds
            projects = {name: n for name, n in self._projects.items() if caller.sees(name)}
        lived = max(time.monotonic() - self._begun, 1e-3)
        cores = os.cpu_count() or 1
        return {
            "id": 1,
            "host": platform.node(),
            "created": stamp(self._created),
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
requests = Requests()
