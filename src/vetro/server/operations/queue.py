"""`waiting`: the tasks of an installation that have not ended, of all projects: who runs them, who waits for what."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from django.db.models import Count, Q

from vetro.data_classes import dataclass
from vetro.server.accounts.models import Project, User
from vetro.server.config.config import Config
from vetro.server.environments.models import Environment
from vetro.server.tasks import clock, waits
from vetro.server.tasks.models import Task

#: States of tasks that have not ended.
STATES: Final = (Task.RUNNING, Task.QUEUED, Task.NEEDS_PERSON)


@dataclass(frozen=True, slots=True)
class QueuedTask:
    """A task that has not ended. Names are ids where nobody knows better. ``worker``: who has it; '' for nobody."""

    id: str
    kind: str
    #: The method that an action, or a switch of servers, is about; '' for other kinds.
    method: str
    state: str
    project_id: str
    project: str
    environment_id: str
    environment: str
    user: str
    worker: str
    label: str
    created: datetime
    started: datetime | None
    waits: tuple[waits.Wait, ...]

    def as_json(self, now: datetime) -> dict[str, Any]:
        """Plain data; ``now``: by the clock of the database."""
        found = {name: getattr(self, name) for name in self.__slots__ if name != "waits"}
        return {**found, "waits": [waits.as_json(wait, now) for wait in self.waits]}


@dataclass(frozen=True, slots=True)
class Queue:
    """A part of the queue, the oldest tasks first. ``counts``: state -> how many there are in all."""

    counts: Mapping[str, int]
    entries: list[QueuedTask]
    now: datetime
    more: bool


def waiting(
    config: Config, *, state: str = "", after: tuple[datetime, str] | None = None, skip: int = 0, most: int = 50
) -> Queue:
    """The tasks that have not ended, the oldest first.

    ``state``: only those of one of `STATES`. ``after``: creation and id of a task, only those that follow on it.
    """
    rows = Task.objects.filter(state__in=(state,) if state in STATES else STATES)
    counted = dict(Task.objects.filter(state__in=STATES).order_by().values_list("state").annotate(Count("id")))
    if after is not None:
        rows = rows.filter(Q(created__gt=after[0]) | Q(created=after[0], id__gt=after[1]))
    ids = list(rows.order_by("created", "id").values_list("id", flat=True)[skip : skip + most + 1])
    found = {task.id: task for task in Task.objects.filter(id__in=ids[:most])}
    tasks = [found[id] for id in ids[:most] if id in found]
    projects = dict(Project.objects.filter(id__in={task.project_id for task in tasks}).values_list("id", "name"))
    people = dict(User.objects.filter(id__in={task.user_id for task in tasks}).values_list("id", "username"))
    names = dict(Environment.objects.filter(id__in={task.environment_id for task in tasks}).values_list("id", "name"))
    entries = [
        QueuedTask(
            id=task.id,
            kind=task.kind,
            method=str((task.action or {}).get("method") or ""),
            state=task.state,
            project_id=task.project_id,
            project=projects.get(task.project_id, task.project_id),
            environment_id=task.environment_id,
            environment=names.get(task.environment_id, task.environment_id),
            user=people.get(task.user_id, task.user_id),
            worker=task.owner if task.state == Task.RUNNING else "",
            label=task.label,
            created=task.created,
            started=task.started,
            waits=tuple(waits.waits_of(config, task)),
        )
        for task in tasks
    ]
    return Queue({state: counted.get(state, 0) for state in STATES}, entries, clock.read(), len(ids) > most)
