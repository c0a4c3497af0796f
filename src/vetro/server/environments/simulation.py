"""Whether what is asked about exists at all: what a cloud makes that executes nothing is *simulated*.

The kind of the cloud decides, not its name; so this is true before a deployment, too.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from contextlib import closing
from typing import Any

from vetro.clouds.errors import CloudError
from vetro.clouds.interface import KeepsRecords, Owner
from vetro.diagnostics import Text
from vetro.server.caller import Caller
from vetro.server.config import cloud_settings
from vetro.server.environments import hooks
from vetro.server.environments.models import Environment, Session
from vetro.server.setup import config
from vetro.server.tasks.models import Task

_log = logging.getLogger("vetro.worker")
#: The header of answers of /v2 about something simulated, and its value.
HEADER, VALUE = "Vetro-Simulated", "true"
NOTHING_EXISTS = Text("nothing of it exists: its cloud writes down what it would do")


def of_service() -> bool:
    """Whether new environments of this installation are simulated."""
    return cloud_settings.simulated(config())


def of_environments(ids: Collection[str]) -> set[str]:
    """Those of these environments that are simulated; ones that are gone count as new ones, '' is none.

    One statement.
    """
    ids = set(ids) - {""}
    clouds = dict(Environment.objects.filter(id__in=ids).values_list("id", "cloud"))
    new: dict[str, Any] = {}
    # Most have the same cloud; which one new ones get is not asked without need: it loads all kinds.
    used = {str(cloud): cloud for cloud in (clouds.get(id, new) for id in ids)}
    known = {text: cloud_settings.simulated(config(), cloud) for text, cloud in used.items()}
    return {id for id in ids if known[str(clouds.get(id, new))]}


def of_tasks(tasks: Iterable[Mapping[str, Any]]) -> set[str]:
    """The ids of those of these tasks ({id, environment_id, session_id}) that are about a simulated environment: their
    own, or, for plans, that of the draft."""
    rows = list(tasks)
    drafts = [row["session_id"] for row in rows if row["session_id"] and not row["environment_id"]]
    planned = dict(Session.objects.filter(id__in=drafts).values_list("id", "environment_id")) if drafts else {}
    about = {row["id"]: row["environment_id"] or planned.get(row["session_id"], "") for row in rows}
    simulated = of_environments(about.values())
    return {id for id, environment in about.items() if environment in simulated}


def of_address(caller: Caller, parameters: Mapping[str, Any]) -> bool:
    """Whether an address is about a simulated environment that the caller sees: it names it by parameters, or a
    session, a task, a form or a procedure of it. False for an address that is about none."""
    for name, value in parameters.items():
        what = name.removesuffix("_id")
        if what in ("task", "deployment"):
            # One after the other: together each environment of the project, and each of its drafts, was looked at.
            task = Task.objects.filter(id=value).values_list("environment_id", "session_id").first() or ("", "")
            what, value = ("environment", task[0]) if task[0] else ("session", task[1])
        if what == "procedure":
            what, value = "environment", next((id for id in hooks.environment_of(str(value)) if id), "")
        if what in _PATHS:
            break
    else:
        return False
    found = Environment.objects.filter(**{_PATHS[what]: value})
    if not caller.is_admin:
        found = found.filter(project_id=caller.project_id)
    cloud = found.values_list("cloud", flat=True).first()
    return cloud is not None and cloud_settings.simulated(config(), cloud)


def forget(owner: Owner, cloud: Mapping[str, Any]) -> None:
    """Drops all that was written down of an environment of this cloud (`Environment.cloud`), passwords in plans most of
    all; nothing for a cloud that executes what it is told. Raises `CloudError`."""
    if not cloud_settings.simulated(config(), cloud):
        return
    from vetro.engine.host.config import cloud_of

    own = {name: value for name, value in cloud.items() if name != "script"}  # answers of servers, which may be gone
    with closing(cloud_of(cloud_settings.cloud(config(), own), owner, sweeps=False)) as opened:
        if isinstance(opened, KeepsRecords):
            opened.forget(owner)


def forget_quietly(owner: Owner, cloud: Mapping[str, Any]) -> None:
    """The same for an environment that is gone: what cannot be dropped is logged."""
    try:
        forget(owner, cloud)
    except CloudError as error:
        _log.warning("what was written down of environment %s is still there: %s", owner.environment, error.message)


#: Parameter of an address -> how an environment is found by it.
_PATHS = {"environment": "id", "session": "sessions__id", "form": "forms__id"}
