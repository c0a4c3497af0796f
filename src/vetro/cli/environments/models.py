"""Object models as a server shows them, as environments of this machine's tools, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vetro.cli.client.requests import Client
from vetro.engine.models import Environment


def environment_of(view: Mapping[str, Any]) -> Environment:
    """The environment that a model of /v2 describes: there its applications are called services."""
    if not view:
        return Environment({"Objects": None})
    root = {key: value for key, value in view.items() if key != "services"}
    return Environment({"Objects": {**root, "applications": list(view.get("services") or ())}})


def names_in(model: Environment) -> dict[str, str]:
    """What people call the objects, by id."""
    from vetro.cli.summary import name_of

    return {str(obj["?"].get("id")): name_of(obj) for obj in model.objects()}


def has_mark(value: Any) -> bool:
    """Whether a secret was left out of a model by the server."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, Mapping):
            if item.get("secret") == "kept" and item.keys() <= {"secret", "at"}:
                return True
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return False


def newest(client: Client, environment: Mapping[str, Any]) -> Environment:
    """What is deployed now."""
    return state(client, environment, int(environment["version"]))


def state(client: Client, environment: Mapping[str, Any], number: int) -> Environment:
    """A state of the environment. Negative: the newest."""
    wanted = int(environment["version"]) if number < 0 else number
    return environment_of(client.get(f"/environments/{environment['id']}/states/{wanted}")["model"])


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
    return environment_of(client.get(f"/sessions/{session['id']}/model"))
