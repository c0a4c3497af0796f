"""How a worker makes a plan: `vetro.engine.planning` around a task of kind ``plan``, whose result is what it tells.

Whoever only wants one enqueues it (`vetro.server.tasks.queue.enqueue_plan`), and loads nothing of this.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vetro.clouds.interface import Owner
from vetro.engine import planning
from vetro.engine.outcome import Outcome
from vetro.engine.worker.journal import Journal
from vetro.server.catalog.secret_names import as_diff, secrets_of
from vetro.server.config import cloud_settings
from vetro.server.config.config import Config
from vetro.server.tasks import spec
from vetro.server.tasks.models import Task

_SCRATCH = "plan-"


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
