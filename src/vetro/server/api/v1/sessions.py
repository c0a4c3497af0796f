"""/v1/environments/…/configure and /sessions (API.md 6)."""

from __future__ import annotations

from typing import Any

from vetro.server.api.v1.call import Call
from vetro.server.api.v1.routing import endpoint
from vetro.server.environments import sessions
from vetro.server.procedures import service as procedures


@endpoint("POST", "environments/{environment_id}/configure", "update_environment")
def configure(call: Call, environment_id: str) -> Any:
    """Opens a session."""
    return sessions.described(sessions.open_session(call.caller, environment_id))


@endpoint("GET", "environments/{environment_id}/sessions/{session_id}", "show_environment")
def show_session(call: Call, environment_id: str, session_id: str) -> Any:
    """A session that can be used."""
    return sessions.show(call.caller, environment_id, session_id)


@endpoint("DELETE", "environments/{environment_id}/sessions/{session_id}", "update_environment")
def delete_session(call: Call, environment_id: str, session_id: str) -> None:
    """Throws a session away."""
    sessions.close(call.caller, environment_id, session_id)


@endpoint("POST", "environments/{environment_id}/sessions/{session_id}/deploy", "update_environment")
def deploy_session(call: Call, environment_id: str, session_id: str) -> None:
    """Deploys it."""
    procedures.deploy(call.caller, environment_id, session_id)
