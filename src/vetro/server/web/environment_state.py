"""The state of environments in the words of what is done to them: an action is no deployment, and what was never
deployed is not ready."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from vetro.server.environments.queries import ListedEnvironment
from vetro.server.tasks.models import Task

#: Kind of the task that works on an environment -> its state; others are what the status says.
_AT_WORK: Final = {"action": "acting", "power": "switching", "repair": "repairing"}


def states_of(rows: Iterable[ListedEnvironment]) -> dict[str, str]:
    """By id, for the filter `badge`. One statement, where a task works on any of them; none otherwise."""
    found = list(rows)
    at_work = [row.task_id for row in found if row.busy and row.task_id]
    kinds = dict(Task.objects.filter(id__in=at_work).values_list("id", "kind")) if at_work else {}
    return {row.id: _state(row, kinds.get(row.task_id, "")) for row in found}


def _state(row: ListedEnvironment, kind: str) -> str:
    if row.busy:
        return _AT_WORK.get(kind, row.status)
    return "empty" if row.status == "ready" and not row.version else row.status
