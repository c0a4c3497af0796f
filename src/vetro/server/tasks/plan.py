"""Plans of the service: `vetro.engine.planning` as tasks of kind ``plan``, whose result is what it tells."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.db import transaction

from vetro.clouds.interface import Owner
from vetro.engine import planning
from vetro.engine.outcome import Outcome
from vetro.engine.worker.journal import Journal
from vetro.packages.lock import Choice
from vetro.server.caller import Caller
from vetro.server.catalog.secret_names import as_diff, secrets_of
from vetro.server.config import cloud_settings
from vetro.server.config.config import Config
from vetro.server.tasks import spec
from vetro.server.tasks.models import Task
from vetro.server.tasks.queue import enqueue

_PRIORITY = 50
_SCRATCH = "plan-"


@transaction.atomic
def plan(
    caller: Caller,
    *,
    environment: Any,
    model: Mapping[str, Any],
    packages: Iterable[Any],
    resolution: Sequence[Choice] = (),
    session: Any = None,
    power: Sequence[Mapping[str, Any]] = (),
    action: Mapping[str, Any] | None = None,
) -> Task:
    """Enqueues the plan of a deployment (the rest is as `enqueue` takes it); wait for its result.

    ``environment`` and ``session`` are rows, ``packages`` rows of the catalog. It holds up nothing and nobody.
    """
    return enqueue(
        caller,
        "plan",
        environment=environment,
        session=session,
        model=model,
        packages=list(packages),
        resolution=resolution,
        power=power,
        action=action,
        priority=_PRIORITY,
    )


def host_config(config: Config, task: Task, folder: str) -> dict[str, Any]:
    """What the effects host of a plan gets: like that of the deployment, with a recorder in ``folder``."""
    found = spec.host_config(config, task)
    found["owner"]["environment"] = _environment(task)
    return planning.host_config(found, folder)


@contextmanager
def scratch(place: Path) -> Iterator[str]:
    """A folder for a plan below ``place``, gone afterwards: a copy of the cloud's state lies in it."""
    with tempfile.TemporaryDirectory(prefix=f"{_SCRATCH}{os.getpid()}-", dir=place) as folder:
        yield folder


def tidy(place: Path) -> None:
    """Removes the folders that processes left which were killed in the middle of a plan."""
    for path in place.glob(f"{_SCRATCH}*-*"):
        if not Path("/proc", path.name.split("-")[1]).exists():
            shutil.rmtree(path, ignore_errors=True)


def result(task: Task, outcome: Outcome, journal: Journal, config: Config, folder: str) -> Outcome:
    """The outcome of the run with the plan as its result, and without a model: nothing was deployed."""
    owner = Owner(task.project_id, _environment(task), task.user_id or "system")
    secret = as_diff(secrets_of(used["digest"] for used in spec.packages_of(task)))
    return planning.told(
        outcome,
        journal,
        model=task.spec["model"],
        owner=owner,
        real=cloud_settings.cloud(config, task.spec.get("cloud")),
        folder=folder,
        secret=secret,
    )


def _environment(task: Task) -> str:
    return str(task.spec.get("environment") or task.id)
