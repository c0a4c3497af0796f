"""What the watcher writes: states that changed, many in one transaction; until when all others are to be believed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from vetro.engine.watching.states import Finding, State, worst
from vetro.server.environments.models import Environment
from vetro.server.environments.service import announce
from vetro.server.tasks import clock
from vetro.server.tasks.completion import LASTING
from vetro.server.tasks.models import Task
from vetro.server.watch.models import Health, HealthChange, WatchMark

#: Days for which changes are kept, and how many of one environment.
DAYS, MOST_CHANGES = 90, 1000
#: Seconds for which what a watcher told is believed without another word of it.
BELIEVED = 30.0
#: Rows of one statement.
_AT_ONCE = 500

#: Id of an environment, its version, and reports about components (`vetro.engine.watching.schedule.Watch.changes`).
Report = tuple[str, int, Sequence[Mapping[str, Any]]]


def record(reports: Iterable[Report], led: Mapping[str, str]) -> int:
    """Writes what changed; how many rows. ``led``: of each environment that is watched the label.

    Reports about an environment that has another version by now, that a task works on, or that is gone, are dropped.
    """
    told = {id: (number, items) for id, number, items in reports}
    with transaction.atomic():
        there = {
            row.id: row for row in Environment.objects.filter(id__in=list(told)).only("id", "project_id", "version")
        }
        for id in at_work():
            there.pop(id, None)
        known: dict[str, dict[str, Health]] = {id: {} for id in there}
        for row in Health.objects.filter(environment_id__in=list(there)):
            known[row.environment_id][row.component] = row
        writes = _Writes(clock.read())
        for id, environment in there.items():
            number, items = told[id]
            if environment.version == number:
                before = known[id][""].state if "" in known[id] else None
                state = writes.environment(id, items, known[id], led.get(id, ""))
                if state != before:
                    announce(environment.project_id, id, state or "none", kind="health")
        return writes.save()


def at_work() -> set[str]:
    """The environments that tasks change now, or will."""
    rows = Task.objects.filter(state__in=(Task.QUEUED, Task.RUNNING, Task.NEEDS_PERSON), kind__in=LASTING)
    return set(rows.exclude(environment_id="").order_by().values_list("environment_id", flat=True))


def retarget(environment_id: str, label: str, components: Iterable[str]) -> dict[str, Health]:
    """The components that there are to watch now; those that are not among them are forgotten. By id, as they were."""
    wanted = {*components, ""}
    rows = {row.component: row for row in Health.objects.filter(environment_id=environment_id)}
    gone = [row.pk for name, row in rows.items() if name not in wanted]
    if gone:
        Health.objects.filter(pk__in=gone).delete()
    whole = rows.get("")
    if wanted == {""} and (whole is None or whole.state):
        if whole is not None:
            whole.delete()
        Health.objects.create(environment_id=environment_id, since=clock.read(), label=label)
    elif whole is not None and whole.label != label:
        Health.objects.filter(pk=whole.pk).update(label=label)
    return {name: row for name, row in rows.items() if name in wanted and name}


def believe(labels: Iterable[str], worker: str, seconds: float) -> None:
    """What was told of environments of these labels holds for so long from now on."""
    for label in labels:
        if not WatchMark.objects.filter(label=label).update(worker=worker, until=clock.after(seconds)):
            WatchMark.objects.create(label=label, worker=worker, until=clock.after(seconds))


def forget(before: datetime) -> int:
    """Drops changes that are older, and of each environment those beyond the newest ones; how many."""
    count, old = 0, HealthChange.objects.filter(at__lt=before).order_by()
    while ids := list(old.values_list("pk", flat=True)[:_AT_ONCE]):
        count += HealthChange.objects.filter(pk__in=ids).delete()[0]
    environments = HealthChange.objects.order_by().values_list("environment_id", flat=True).distinct()
    for environment_id in environments.iterator():
        mine = HealthChange.objects.filter(environment_id=environment_id).order_by("-id")
        while more := list(mine.values_list("pk", flat=True)[MOST_CHANGES : MOST_CHANGES + _AT_ONCE]):
            count += HealthChange.objects.filter(pk__in=more).delete()[0]
    return count


class _Writes:
    """Rows to be written in a few statements, however many they are."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._new: list[Health] = []
        self._changed: dict[int, Health] = {}
        self._history: list[HealthChange] = []

    def environment(self, id: str, items: Sequence[Mapping[str, Any]], known: dict[str, Health], label: str) -> str:
        """Takes reports in; the state of the environment that follows."""
        for item in items:
            detail = {name: item[name] for name in ("text", "texts", "checks") if name in item}
            self._put(known, Health(environment_id=id, component=item["id"]), item["state"], detail)
        parts = [row for name, row in known.items() if name and row.state]
        finding = worst(Finding(State(row.state), row.component) for row in parts)
        state = "" if finding is None else finding.state.value
        detail = {}
        if finding is not None and finding.state is not State.RUNNING:
            told = known[finding.text].detail or {}
            detail = {"component": finding.text, **{name: told[name] for name in ("text", "texts") if name in told}}
        self._put(known, Health(environment_id=id, component="", label=label), state, detail)
        return state

    def _put(self, known: dict[str, Health], fresh: Health, state: str, detail: dict[str, Any]) -> None:
        row = known.get(fresh.component)
        if row is None:
            row = known[fresh.component] = fresh
            self._new.append(row)
        elif row.state == state and row.detail == detail:
            return
        elif row.pk is not None:
            self._changed[row.pk] = row
        if row.state != state or row.pk is None:
            row.since = self._now
            shown = {name: detail[name] for name in ("text", "texts", "component") if name in detail}
            self._history.append(
                HealthChange(
                    environment_id=row.environment_id, component=row.component, state=state, at=self._now, detail=shown
                )
            )
        row.state, row.detail = state, detail

    def save(self) -> int:
        """Writes all; how many rows."""
        Health.objects.bulk_create(self._new, batch_size=_AT_ONCE, ignore_conflicts=True)
        Health.objects.bulk_update(self._changed.values(), ["state", "since", "detail"], batch_size=_AT_ONCE)
        HealthChange.objects.bulk_create(self._history, batch_size=_AT_ONCE)
        return len(self._new) + len(self._changed) + len(self._history)
