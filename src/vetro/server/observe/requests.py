"""The request that is being answered, and what is told about it afterwards: one log line, two metrics."""

from __future__ import annotations

import sys
from typing import Any

from vetro.server.observe import logs, metrics, request_counters

#: Segments of /v1 that are no values of a client.
_WORDS = frozenset(
    {
        "v1", "environments", "catalog", "packages", "categories", "templates", "configure", "sessions", "deploy",
        "services", "deployments", "model", "actions", "schemas", "stats", "lastStatus", "instance-statistics", "raw",
        "aggregated", "ui", "logo", "supplier_logo", "download", "create-environment", "clone",
    }
)  # fmt: skip
_DEEPEST = 7


def answered(environ: dict[str, Any], status: int, seconds: float, pattern: str | None = None) -> None:
    """Tells that a request was answered; ``pattern``: which its path matched, in the words of Django."""
    path = environ.get("PATH_INFO", "")
    api, route = route_of(path, status, pattern)
    metrics.request_answered(api, environ["REQUEST_METHOD"], route, status, seconds)
    if api == "v1":
        caller = environ.get("vetro.caller")
        request_counters.requests.note("" if caller is None else caller.project_id, seconds, failed=status >= 500)
    if logs.access_lines() and not (status < 400 and api == "other" and path in ("/health", "/ready", "/metrics")):
        caller = environ.get("vetro.caller")
        logs.write_access(
            sys.stderr,
            environ["vetro.request_id"],
            environ.get("REMOTE_ADDR", ""),
            environ["REQUEST_METHOD"],
            path,
            status,
            seconds,
            caller.user_name if caller is not None else "",
            caller.project_name if caller is not None else "",
        )


def route_of(path: str, status: int, pattern: str | None = None) -> tuple[str, str]:
    """(API, route without values of clients): few enough to be labels whatever clients ask for."""
    if path[:4] == "/v1/":
        # Before 401 and 404 nothing says whether there is such a route.
        if status in (401, 404):
            return "v1", "none"
        parts = path.split("/")[1 : _DEEPEST + 1]
        return "v1", "/" + "/".join(part if part in _WORDS else "{}" for part in parts)
    api = "v2" if path[:4] == "/v2/" else "app" if path[:4] == "/app" else "other"
    if pattern is not None and api != "other":
        return api, f"/{pattern}"
    return api, "none"
