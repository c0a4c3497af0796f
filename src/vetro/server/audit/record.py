"""`record`: notes one write; called by the rules inside the transaction of the write itself."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from vetro.server.caller import Caller
from vetro.server.queries import insert


def record(caller: Caller, action: str, target_id: str = "", target_name: str = "", **details: Any) -> None:
    """Writes an audit record. ``details``: short plain values; nothing secret."""
    insert(
        "audit_auditrecord",
        {
            "at": datetime.now(UTC),
            "project_id": caller.project_id,
            "user_id": caller.user_id,
            "user_name": _storable(caller.user_name),
            "action": action,
            "target_id": target_id[:64],
            "target_name": _storable(target_name),
            "address": caller.address[:64],
            "details": details,
        },
    )


def _storable(name: str) -> str:
    """A name as databases hold it: some are what clients sent, before anybody knows whether there is such a thing."""
    return name[:255].encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
