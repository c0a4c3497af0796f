"""Object models as a server shows them, as environments of this machine's tools, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vetro.cli.client.requests import Client
from vetro.model.environment import Environment
from vetro.model.header import label_of
from vetro.model.tree import by_id


def names_in(model: Environment) -> dict[str, str]:
    """What people call the objects, by id."""
    return {own: label_of(obj) for own, obj in by_id(model.root).items()}


def newest(client: Client, environment: Mapping[str, Any]) -> Environment:
    """What is deployed now."""
    return state(client, environment, int(environment["version"]))


def state(client: Client, environment: Mapping[str, Any], number: int) -> Environment:
    """A state of the environment. Negative: the newest."""
    wanted = int(environment["version"]) if number < 0 else number
    return Environment.of_view(client.get(f"/environments/{environment['id']}/states/{wanted}")["model"])


def own_draft(client: Client, environment: Mapping[str, Any]) -> dict[str, Any] | None:
    """The caller's newest session with changes that can be deployed."""
    for session in client.items(f"/environments/{environment['id']}/sessions"):
        if session["own"] and session["usable"] and session["changed"] and session["state"] == "opened":
            return dict(session)
    return None


def present(client: Client, environment: Mapping[str, Any]) -> Environment:
    """The environment as it is: on this machine, whose only user has made all drafts, with what is not deployed yet."""
    session = own_draft(client, environment) if client.local else None
    if session is None:
        return newest(client, environment)
    return Environment.of_view(client.get(f"/sessions/{session['id']}/model"))
