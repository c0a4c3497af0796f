"""How environments are, as it is told: what was found last, as long as somebody looks. Nothing else is ever well."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from vetro.data_classes import dataclass
from vetro.diagnostics import Text, decode_messages
from vetro.engine.watching.states import State
from vetro.model.environment import applications_of
from vetro.model.header import id_of
from vetro.server.config import cloud_settings
from vetro.server.environments.models import Environment
from vetro.server.environments.simulation import NOTHING_EXISTS
from vetro.server.setup import config
from vetro.server.tasks import clock
from vetro.server.watch.models import Health, HealthChange, WatchMark


@dataclass(frozen=True, slots=True)
class HealthStatus:
    """How something is. ``since``: when it came into this state; None: nobody knows."""

    state: State
    text: str = ""
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class ComponentHealth:
    """How a component is, and its checks: {name, guessed, state, text}."""

    id: str
    told: HealthStatus
    checks: tuple[Mapping[str, Any], ...] = ()


#: Of what there is to watch, before it was.
NOBODY = Text("nobody has looked at it yet")
SIMULATED = HealthStatus(State.SIMULATED, NOTHING_EXISTS)


def of_environments(ids: Collection[str]) -> dict[str, HealthStatus]:
    """How these environments are; those of which there is nothing to tell are left out. Three statements."""
    rows = Environment.objects.filter(id__in=list(ids), version__gt=0).values_list("id", "cloud")
    deployed = dict(rows)
    pretended = {str(cloud): cloud_settings.simulated(config(), cloud) for cloud in deployed.values()}
    found = {id: SIMULATED for id, cloud in deployed.items() if pretended[str(cloud)]}
    real = [id for id in deployed if id not in found]
    if not real:
        return found
    known = {row.environment_id: row for row in Health.objects.filter(environment_id__in=real, component="")}
    marks = dict(WatchMark.objects.values_list("label", "until"))
    now = clock.read()
    for id in real:
        row = known.get(id)
        if row is None:
            found[id] = HealthStatus(State.UNKNOWN, NOBODY)
        elif row.state:
            found[id] = _believed(row, marks, now)
    return found


def of_environment(id: str) -> HealthStatus | None:
    """How one is; None: there is nothing to tell."""
    return of_environments([id]).get(id)


def components(id: str, told: HealthStatus | None, root: Mapping[str, Any] | None) -> list[ComponentHealth]:
    """How the components of an environment are of which something is watched. ``told``: how the environment is,
    ``root`` what of it is deployed.
    """
    if told == SIMULATED:
        return [ComponentHealth(own, SIMULATED) for item in applications_of(root) if (own := id_of(item))]
    rows = list(Health.objects.filter(environment_id=id).order_by("id"))
    marks, now = dict(WatchMark.objects.values_list("label", "until")), clock.read()
    found = []
    for row in rows:
        if row.component and row.state:
            told = _believed(row, marks, now)
            checks = () if told.state is State.UNKNOWN else tuple(map(_check, (row.detail or {}).get("checks") or ()))
            found.append(ComponentHealth(row.component, told, checks))
    return found


def changes(id: str, most: int = 100) -> list[dict[str, Any]]:
    """{at, component_id, state, text} of an environment and its components, the newest first."""
    rows = HealthChange.objects.filter(environment_id=id).order_by("-id")[:most]
    return [
        {
            "at": row.at,
            "component_id": row.component or None,
            "state": row.state or None,
            "text": _text(row.detail),
        }
        for row in rows
    ]


def _believed(row: Health, marks: Mapping[str, datetime], now: datetime) -> HealthStatus:
    until = marks.get(row.label)
    if until is None or until < now:
        return HealthStatus(State.UNKNOWN, Text("nobody looks: no worker that reaches it lives"), until)
    return HealthStatus(State(row.state), _text(row.detail), row.since)


def _check(told: Mapping[str, Any]) -> dict[str, Any]:
    guessed = bool(told.get("guessed"))
    return {"name": told["name"], "guessed": guessed, "state": told["state"] or None, "text": _text(told)}


def _text(detail: Mapping[str, Any] | None) -> str:
    text: str = decode_messages(detail or {}).get("text") or ""
    return text
