"""Updates with a way back: how they stand, taking them back, keeping what is now."""

from __future__ import annotations

from typing import Any

from vetro.diagnostics import decode_messages
from vetro.server.caller import Caller
from vetro.server.environments import history, lookup, queries
from vetro.server.procedures import service
from vetro.server.procedures.models import Procedure
from vetro.server.procedures.way_back import way_back


def procedure_json(row: Procedure) -> dict[str, Any]:
    """A procedure as clients see it."""
    record, about = row.record, row.about
    return {
        "id": row.id,
        "kind": row.kind,
        "environment_id": row.environment_id,
        "environment": about["environment"],
        "user_id": row.user_id,
        "step": row.step,
        "final": row.finished is not None,
        "reason": decode_messages(about.get("reason") or {}).get("text") or "",
        "unwell": record.get("unwell") or {},
        "upgrade": about["upgrade"],
        "settle": record["settle"],
        "hold": record["hold"],
        "until": service.until(row),
        "losses": about["losses"],
        "parts": service.parts_of(row),
        "together": bool(record.get("together")),
        "held": about.get("held") or [],
        "states": {"before": row.before_state, "update": row.update_state, "undo": row.undo_state},
        "undoable": service.can_be_undone(row),
        "keepable": service.can_be_kept(row),
        "tasks": [
            {**step, "error": None if step["error"] is None else decode_messages(step["error"])}
            for step in service.tasks_of(row)
        ],
        "created": row.created,
        "finished": row.finished,
    }


def show_procedure(caller: Caller, procedure_id: str) -> dict[str, Any]:
    """A procedure of the project."""
    return procedure_json(service.get(caller, procedure_id))


def list_procedures(caller: Caller, environment_id: str) -> dict[str, Any]:
    """The newest procedures of an environment, newest first."""
    rows = service.of_environment(lookup.environment(caller, environment_id))
    return {"items": [procedure_json(row) for row in rows], "total": None, "next": None}


def show_way_back(caller: Caller, session_id: str) -> dict[str, Any]:
    """Whether what a draft is to do could be taken back, and what would not come back."""
    return way_back(caller, lookup.session(caller, session_id), session_id).as_json()


def explain_undo(caller: Caller, environment_id: str) -> dict[str, Any]:
    """What taking the update back would do: {procedure, states, older, newer}."""
    row = service.undoable(caller, lookup.environment(caller, environment_id))
    found = queries.get(caller, row.environment_id)
    gone = [
        {"number": state["number"], "kind": state["kind"]}
        for state in history.states(caller, found.id, limit=history.MOST)
        if state["number"] > row.before_state
    ]
    return {"procedure": procedure_json(row), "states": gone, "older": row.before_state, "newer": found.version}


def undo_environment(caller: Caller, environment_id: str) -> dict[str, Any]:
    """Takes the update of an environment back."""
    return procedure_json(service.undo(caller, lookup.environment(caller, environment_id)))


def keep_environment(caller: Caller, environment_id: str) -> dict[str, Any]:
    """Has what is now stay: the way back is over."""
    return procedure_json(service.keep(caller, lookup.environment(caller, environment_id)))
