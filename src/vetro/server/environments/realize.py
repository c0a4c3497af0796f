"""Making real what is simulated: the environment is deployed as if it never had been, by a cloud that executes it.

What was written down has to go: it stands in the same folder, under the names that the other cloud will use. That is
done last before all else is committed at once, so whoever is killed has done nothing that keeps it from being repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.db import transaction

from vetro.clouds.errors import CloudError
from vetro.clouds.interface import Owner
from vetro.diagnostics import Text
from vetro.model.copies import undeployed
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.config import cloud_settings
from vetro.server.environments import deploy, fixed_properties, packages, sessions, simulation
from vetro.server.environments.models import Environment, InstanceUsage, State
from vetro.server.errors import Conflict
from vetro.server.setup import config
from vetro.server.tasks.models import Task


def realize(caller: Caller, environment_id: str, cloud: Mapping[str, Any] | None = None) -> Task:
    """Starts the deployment that makes a simulated environment real. ``cloud``: where, for who may say so
    (`Environment.cloud`).

    Raises `Busy` while a task works on it, and `Conflict` for one that is not simulated, and where nothing can be
    executed: with what is missing.
    """
    if cloud is None:
        cloud_settings.look_again(config())  # an image may have been built a moment ago
    with transaction.atomic():
        found = sessions.locked(caller, environment_id, model=True)
        found.require_free()
        row = Environment.objects.get(id=found.id)
        if not cloud_settings.simulated(config(), row.cloud):
            raise Conflict(Text("environment '{name}' is not simulated", name=found.name), hint=Text("deploy it"))
        _check(cloud)
        before = State.objects.filter(environment=row).order_by("-number")[0]
        classes = fixed_properties.classes_of([package.digest for package in packages.pinned(found.id)])
        objects = undeployed((found.model or {}).get("Objects"), classes)
        row.version, row.stopped = found.version + 1, {}
        made_before, row.cloud = row.cloud, dict(cloud or {})
        # Not through save(): `updated` is when a person changed the environment.
        Environment.objects.filter(id=row.id).update(version=row.version, stopped=row.stopped, cloud=row.cloud)
        model = {"Objects": objects, "ObjectsCopy": None}
        State.objects.create(environment=row, number=row.version, model=model, answers=before.answers, lock=before.lock)
        InstanceUsage.objects.filter(environment=row, destroyed=None).update(destroyed=datetime.now(UTC))
        record(caller, "environment.realize", found.id, found.name)
        task = deploy.deploy(caller, found.id, sessions.open_session(caller, found.id).id)
        try:
            simulation.forget(Owner(found.project_id, found.id, caller.user_id), made_before)
        except CloudError as error:
            raise Conflict(error.message, hint=error.hint) from None
    return task


def _check(cloud: Mapping[str, Any] | None) -> None:
    """Raises `Conflict` where nothing is executed."""
    try:
        selected = cloud_settings.selection(config(), cloud)
    except CloudError as error:
        raise Conflict(error.message, hint=error.hint) from None
    if not selected.executes:
        raise Conflict(
            Text("there is no cloud that could make it real; {cloud}", cloud=selected.text),
            hint=Text("once there is one, do this again: the service need not be started anew, unless settings change"),
        )
