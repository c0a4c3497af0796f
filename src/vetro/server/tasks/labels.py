"""Labels: what a task needs of its worker. A task with a label is run only by workers that have it, or that have no
labels at all and so serve everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from vetro.diagnostics import Text
from vetro.server.config.config import Config
from vetro.server.tasks import clock
from vetro.server.tasks.claim import LEASES, SHORT
from vetro.server.tasks.models import Task, WorkerProcess

#: Characters of a label.
LONGEST = 64


def label_of(config: Config, kind: str, environment: Any) -> str:
    """The label of a task of an environment (a row, or None): its region, or what ``dispatch.labels`` says of that.

    Tasks that work in no cloud have none.
    """
    if environment is None or kind in SHORT:
        return ""
    region = str(environment.region or config["engine.home_region"])
    meant = config["dispatch.labels"].get(region, region) if region else ""
    return str(meant)[:LONGEST]


def serves(labels: Sequence[str], label: str) -> bool:
    """Whether a worker with ``labels`` runs tasks with this label."""
    return not labels or not label or label in labels


def unserved(config: Config, wanted: Iterable[str] | None = None) -> list[str]:
    """Those labels that no worker that lives serves; of the tasks that wait or run, where none are given."""
    if wanted is None:
        waiting = Task.objects.filter(state__in=(Task.QUEUED, Task.RUNNING)).exclude(label="")
        wanted = waiting.order_by().values_list("label", flat=True).distinct()
    asked = sorted(set(wanted))
    if not asked:
        return []
    heard = clock.after(-LEASES * float(config["worker.lease_seconds"]))
    living = list(WorkerProcess.objects.filter(seen__gte=heard, draining=False).values_list("labels", flat=True))
    return [label for label in asked if not any(serves(labels, label) for labels in living)]


def why_waiting(config: Config, task: Task) -> str:
    """Why nobody begins a task, or goes on with it, in words; empty where it only has to wait for its turn."""
    if task.state == Task.QUEUED and task.label and unserved(config, [task.label]):
        return Text(
            "no worker that lives serves '{label}': start one with 'vetro worker --label {label}'", label=task.label
        )
    held = task.state == Task.RUNNING and task.lease_until is not None and task.lease_until > clock.read()
    if held or task.state not in (Task.QUEUED, Task.RUNNING):
        return ""
    heard = clock.after(-LEASES * float(config["worker.lease_seconds"]))
    versions = set(WorkerProcess.objects.filter(seen__gte=heard).values_list("version", flat=True))
    if not versions:
        return Text("no worker lives: start one with 'vetro worker', or 'vetro serve'")
    if not task.engine or task.engine in versions:
        return ""
    seconds = config["worker.version_wait"]
    return Text(
        "version {version} of Vetro took it; workers of others wait {seconds} s for one of that version",
        version=task.engine,
        seconds=f"{seconds:g}",
    )
