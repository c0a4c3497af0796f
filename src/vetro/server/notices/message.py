"""`Message`: a notice on its way to one target, and the words in which people read it. `Failed`: it did not arrive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils import translation

from vetro.data_classes import dataclass
from vetro.diagnostics import TEXTS, Text, decode_messages
from vetro.engine.watching.states import State
from vetro.server.accounts.models import Project
from vetro.server.language import translated
from vetro.server.notices.kinds import DECISION, HEALTH, TEST
from vetro.server.notices.models import Delivery, Target
from vetro.server.setup import config


class Failed(Exception):
    """An attempt to deliver failed. Why, in words of ours: nothing that a receiver said. ``gone``: it wants no more."""

    def __init__(self, text: str, *, gone: bool = False) -> None:
        super().__init__(text)
        self.text = text
        self.gone = gone


@dataclass(frozen=True, slots=True)
class Message:
    """What is sent. ``kind`` and ``at``: what it tells, and when that was; ``data`` is the rest, as programs read it.

    ``title`` and ``lines`` are for people, in the language of the target; ``link``: the page about it, or empty.
    """

    id: str
    target: str
    settings: Mapping[str, Any]
    keys: Sequence[Mapping[str, Any]]
    kind: str
    level: str
    at: str
    data: Mapping[str, Any]
    title: str
    lines: Sequence[str]
    link: str
    language: str


def message_of(delivery: Delivery, target: Target) -> Message:
    """The message of a delivery: the same at each attempt. Raises `KeysUnusable`."""
    body: dict[str, Any] = delivery.body
    data = {key: value for key, value in body.items() if key not in (TEXTS, "at")}
    data["project"] = {"id": delivery.project_id, "name": _project_name(delivery.project_id)}
    data["changes"] = delivery.folded + 1
    link = _link(delivery, body)
    if link:
        data["link"] = link
    title = title_of(delivery.kind, body)
    # Programs read English, whatever people do.
    data["title"] = str.__str__(title)
    with translation.override(target.language or "en"):
        shown, lines = translated(title), [translated(text) for text in _lines(delivery, body)]
    at = str(body.get("at") or delivery.created.isoformat())
    return Message(
        delivery.id, target.kind, target.settings, target.keys or (), delivery.kind, str(body.get("level", "info")),
        at, data, shown, lines, link, target.language or "en",
    )  # fmt: skip


def title_of(kind: str, body: Mapping[str, Any]) -> str:
    """What happened, in a line; where nothing of it exists that is said in the same line."""
    about = body.get("environment") or {}
    told = _title_of(kind, body, str(about.get("name", "")))
    return Text("{what} (simulated: nothing was executed)", what=told) if about.get("simulated") else told


def _title_of(kind: str, body: Mapping[str, Any], environment: str) -> str:
    if kind == TEST:
        return Text("This is a test: notices arrive here.")
    if kind == DECISION:
        return Text(
            "Somebody has to decide before a task of environment '{environment}' goes on", environment=environment
        )
    if kind == HEALTH:
        return _of_health(environment, body)
    if "update" in body:
        return _of_update(kind, environment)
    task = body["task"]
    return _of_task(kind, task["state"] == "cancelled", environment, task.get("action") or "")


def _of_update(kind: str, environment: str) -> str:
    match kind:
        case "update.kept":
            return Text("The update of environment '{environment}' stays", environment=environment)
        case "update.restored":
            return Text(
                "The update of environment '{environment}' was taken back: all is as it was before",
                environment=environment,
            )
        case _:
            return Text(
                "The update of environment '{environment}' could not be taken back: somebody has to decide",
                environment=environment,
            )


def _of_task(kind: str, cancelled: bool, environment: str, action: str) -> str:
    match kind, cancelled:
        case "deployment.done", _:
            return Text("Environment '{environment}' is deployed", environment=environment)
        case "deployment.failed", False:
            return Text("Deploying environment '{environment}' failed", environment=environment)
        case "deployment.failed", True:
            return Text("Deploying environment '{environment}' was cancelled", environment=environment)
        case "deletion.done", _:
            return Text("Environment '{environment}' is deleted", environment=environment)
        case "deletion.failed", False:
            return Text("Deleting environment '{environment}' failed", environment=environment)
        case "deletion.failed", True:
            return Text("Deleting environment '{environment}' was cancelled", environment=environment)
        case "action.done", _:
            return Text(
                "Action '{action}' of environment '{environment}' is done", action=action, environment=environment
            )
        case "action.failed", False:
            return Text(
                "Action '{action}' of environment '{environment}' failed", action=action, environment=environment
            )
        case "action.failed", True:
            return Text(
                "Action '{action}' of environment '{environment}' was cancelled", action=action, environment=environment
            )
        case "repair.done", _:
            return Text("Environment '{environment}' is repaired", environment=environment)
        case "repair.failed", False:
            return Text("Repairing environment '{environment}' failed", environment=environment)
        case "repair.failed", True:
            return Text("Repairing environment '{environment}' was cancelled", environment=environment)
        case "power.done", _:
            return Text("Servers of environment '{environment}' were switched", environment=environment)
        case "power.failed", True:
            return Text("Switching servers of environment '{environment}' was cancelled", environment=environment)
        case _:
            return Text("Servers of environment '{environment}' could not be switched", environment=environment)


def _of_health(environment: str, body: Mapping[str, Any]) -> str:
    shown = body.get("component")
    if shown is None:
        return Text(
            "{count} applications of environment '{environment}' have changed; the worst is {state}",
            count=body["components"],
            environment=environment,
            state=_state(body["state"]),
        )
    component = str(shown["name"])
    return Text(
        "'{component}' of environment '{environment}' is {state}",
        component=component,
        environment=environment,
        state=_state(body["state"]),
    )


def _state(state: str) -> str:
    match state:
        case State.RUNNING:
            return Text("running")
        case State.STOPPED:
            return Text("stopped")
        case State.DEGRADED:
            return Text("degraded")
        case State.DOWN:
            return Text("down")
        case State.SIMULATED:
            return Text("simulated")
        case _:
            return Text("in a state that nobody knows")


def _lines(delivery: Delivery, body: Mapping[str, Any]) -> list[str]:
    found = [decode_messages(body).get("reason") or ""]
    if delivery.folded:
        found.append(Text("It changed {count} times meanwhile.", count=delivery.folded + 1))
    return [text for text in found if text]


def _link(delivery: Delivery, body: Mapping[str, Any]) -> str:
    public = str(config()["server.public_url"]).rstrip("/")
    if not public or not delivery.environment_id or delivery.kind == "deletion.done":
        return ""
    page = "health" if delivery.kind == HEALTH else ""
    if "update" in body:
        page = f"updates/{body['update']['id']}"
    return f"{public}/app/environments/{delivery.environment_id}/{page}"


def _project_name(project_id: str) -> str:
    found = Project.objects.filter(id=project_id).values_list("name", flat=True).first()
    return project_id if found is None else found
