"""The request that this thread answers."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from vetro.server.caller import Caller

#: Variables of the request that this thread answers: ``vetro.request_id``, once known ``vetro.caller``.
current: ContextVar[dict[str, Any] | None] = ContextVar("vetro_request", default=None)


def context() -> dict[str, str]:
    """Request id, user and project of the request at hand, for log lines; nothing outside of requests."""
    environ = current.get()
    if environ is None:
        return {}
    found = {"request": str(environ.get("vetro.request_id", ""))}
    caller = environ.get("vetro.caller")
    if isinstance(caller, Caller):
        found["user"] = caller.user_name
        found["project"] = caller.project_name
    return found
