"""What the watcher writes: states that changed, many in one transaction; until when all others are to be believed."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import DatabaseError, InterfaceError, OperationalError, transaction
from django.db.models import Q

from vetro.data_classes import dataclass
from vetro.diagnostics import encode_messages
from vetro.engine.outcome import Outcome
from vetro.engine.watching.states import Observation, State, worst
from vetro.server.environments.models import Environment
from vetro.server.environments.service import announce
from vetro.server.ids import new_id
from vetro.server.tasks import clock
from vetro.server.tasks.completion import WORKING
from vetro.server.tasks.models import Task
from vetro.server.watch.models import Health, HealthChange, WatchMark
from vetro.server.watch.queries import NOBODY

#: Days for which changes are kept, and how many of one environment.
DAYS, MOST_CHANGES = 90, 1000
#: Seconds for which what a watcher told is believed without another word of it.
BELIEVED = 30.0
#: Rows of one statement.
_AT_ONCE = 500
#: Seconds after which marks that nobody renewed are forgotten.
_OLD = 86400.0

#: Id of an environment, its version, and reports about components (`vetro.engine.watching.watch.Watch.changes`).
Report = tuple[str, int, Sequence[Mapping[str, Any]]]

_log = logging.getLogger("vetro.worker")


@dataclass(frozen=True, slots=True)
class Recorded:
    """How many rows were written. ``dropped``: environments that have another version by now, that a task works on, or
    that are gone; ``refused``: those of which the database took nothing.
    """

    rows: int
    dropped: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()


def record(reports: Iterable[Report], mark: str) -> Recorded:
    """Writes what changed; all of it may be believed as long as ``mark``.

    Where the database refuses, environments are written one by one: one of them is nobody else's trouble. Raises
    `OperationalError` and `InterfaceError` when there is no database.
    """
    told = {id: (number, items) for id, number, items in reports}
    try:
        return _record(told, mark)
    except (OperationalError, InterfaceError):
        raise
    except (DatabaseError, ValueError):
        pass
    rows, dropped, refused = 0, set[str](), set[str]()
    for id, one in told.items():
        try:
            found = _record({id: one}, mark)
        except (OperationalError, InterfaceError):
            raise
        except (DatabaseError, ValueError) as error:
            _log.warning("the health of environment %s cannot be written: %s", id, type(error).__name__)
            refused.add(id)
        else:
            rows += found.rows
            dropped |= found.dropped
    return Recorded(rows, frozenset(dropped), frozenset(refused))


def _record(told: Mapping[str, tuple[int, Sequence[Mapping[str, Any]]]], mark: str) -> Recorded:
    with transaction.atomic():
        there = {
            row.id: row for row in Environment.objects.filter(id__in=list(told)).only("id", "project_id", "version")
        }
        for id in at_work():
            there.pop(id, None)
        there = {id: row for id, row in there.items() if row.version == told[id][0]}
        known: dict[str, dict[str, Health]] = {id: {} for id in there}
        for row in Health.objects.filter(environment_id__in=list(there)):
            known[row.environment_id][row.component] = row
        writes = _Writes(clock.read(), mark)
        for id, environment in there.items():
            before = known[id][""].state if "" in known[id] else None
            state = writes.environment(id, told[id][1], known[id])
            if state != before:
                announce(environment.project_id, id, state or "none", kind="health")
        rows = writes.save()
        return Recorded(rows, frozenset(told.keys() - there.keys()))


def nobody_knows(environment_id: str, mark: str, text: str) -> None:
    """Nobody knows how an environment and its components are, and why."""
    with transaction.atomic():
        rows = {row.component: row for row in Health.objects.filter(environment_id=environment_id)}
        environment = Environment.objects.filter(id=environment_id).only("id", "project_id").first()
        if environment is None:
            return
        before = rows[""].state if "" in rows else None
        writes = _Writes(clock.read(), mark)
        writes.unknown(environment_id, rows, encode_messages({"text": text}))
        writes.save()
        if before != State.UNKNOWN:
            announce(environment.project_id, environment_id, State.UNKNOWN.value, kind="health")


def at_work() -> set[str]:
    """The environments that tasks change at this moment. What waits, for a worker or for a person, changes nothing."""
    rows = Task.objects.filter(state=Task.RUNNING, lease_until__gte=clock.after(), kind__in=WORKING)
    return set(rows.exclude(environment_id="").order_by().values_list("environment_id", flat=True))


def begun(environment_id: str) -> bool:
    """Whether a task that changes an environment has begun and not ended, whoever works on it, or nobody now."""
    left = Q(state__in=(Task.RUNNING, Task.NEEDS_PERSON)) | Q(state=Task.QUEUED, attempts__gt=0)
    return Task.objects.filter(left, environment_id=environment_id, kind__in=WORKING).exists()


def retarget(environment_id: str, mark: str, components: Iterable[str]) -> dict[str, Health]:
    """The components that there are to watch now; those that are not among them are forgotten. By id those that may be
    believed, as they were.

    What was told by ``mark`` holds for a moment more: until it is told again, it is not what anybody has just seen.
    """
    wanted = {*components, ""}
    mine = Health.objects.filter(environment_id=environment_id)
    rows = {row.component: row for row in mine}
    gone = [row.pk for name, row in rows.items() if name not in wanted]
    if gone:
        Health.objects.filter(pk__in=gone).delete()
    whole = rows.get("")
    if wanted == {""} and (whole is None or whole.state):
        if whole is not None:
            whole.delete()
        Health.objects.create(environment_id=environment_id, since=clock.read(), label=mark)
    living = set(WatchMark.objects.filter(until__gte=clock.after()).values_list("label", flat=True))
    hold = new_id()
    if mark in living and mine.filter(label=mark).exclude(state="").update(label=hold):
        believe([hold], "", BELIEVED)
    now, fresh = clock.read(), [name for name in wanted if name and name not in rows]
    Health.objects.bulk_create(
        (
            Health(
                environment_id=environment_id,
                component=name,
                state=State.UNKNOWN.value,
                since=now,
                detail=encode_messages({"text": NOBODY}),
                label=mark,
            )
            for name in fresh
        ),
        batch_size=_AT_ONCE,
        ignore_conflicts=True,
    )
    return {name: row for name, row in rows.items() if name in wanted and name and row.label in living}


def believe(marks: Iterable[str], worker: str, seconds: float) -> None:
    """What was told by these marks holds for so long from now on."""
    for mark in marks:
        if not WatchMark.objects.filter(label=mark).update(worker=worker, until=clock.after(seconds)):
            WatchMark.objects.filter(until__lt=clock.after(-_OLD)).delete()
            WatchMark.objects.create(label=mark, worker=worker, until=clock.after(seconds))


def outdated(task: Task, outcome: Outcome) -> None:
    """A task that worked on an environment has ended: what somebody found by looking once was found before it. What
    watchers tell is told anew by them."""
    once = WatchMark.objects.filter(worker="").values("label")
    Health.objects.filter(environment_id=task.environment_id, label__in=once).exclude(label="").update(label="")


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
    """Rows to be written in a few statements, however many they are; they are believed as long as ``mark``."""

    def __init__(self, now: datetime, mark: str) -> None:
        self._now = now
        self._mark = mark
        self._new: list[Health] = []
        self._changed: dict[int, Health] = {}
        self._again: list[int] = []
        self._history: list[HealthChange] = []

    def environment(self, id: str, items: Sequence[Mapping[str, Any]], known: dict[str, Health]) -> str:
        """Takes reports in; the state of the environment that follows."""
        for item in items:
            detail = {name: item[name] for name in ("text", "texts", "checks") if name in item}
            self._put(known, Health(environment_id=id, component=item["id"]), item["state"], detail)
        parts = [row for name, row in known.items() if name]
        finding = worst(Observation(State(row.state), row.component) for row in parts if row.state)
        state = "" if finding is None else finding.state.value
        detail = {}
        if finding is not None and finding.state is not State.RUNNING:
            told = known[finding.text].detail or {}
            detail = {"component": finding.text, **{name: told[name] for name in ("text", "texts") if name in told}}
        # As long as some of it was not looked at by who looks now, all of it is what somebody told before.
        whole = all(row.label == self._mark for row in parts)
        self._put(known, Health(environment_id=id, component=""), state, detail, whole)
        return state

    def unknown(self, id: str, known: dict[str, Health], detail: dict[str, Any]) -> None:
        """Nobody knows how an environment is."""
        for name in {*known, ""}:
            self._put(known, Health(environment_id=id, component=name), State.UNKNOWN.value, detail)

    def _put(
        self, known: dict[str, Health], fresh: Health, state: str, detail: dict[str, Any], seen: bool = True
    ) -> None:
        row = known.get(fresh.component)
        mark = self._mark if seen or row is None else row.label
        before = "" if row is None else row.state
        if row is None:
            row = known[fresh.component] = fresh
            self._new.append(row)
        elif row.state == state and row.detail == detail:
            if row.label != mark:
                row.label = mark
                if row.pk is not None:
                    self._again.append(row.pk)
            return
        elif row.pk is not None:
            self._changed[row.pk] = row
        if row.state != state or row.pk is None:
            row.since = self._now
            shown: dict[str, Any] = {name: detail[name] for name in ("text", "texts", "component") if name in detail}
            self._history.append(
                HealthChange(
                    environment_id=row.environment_id,
                    component=row.component,
                    state=state,
                    before=before,
                    at=self._now,
                    detail=shown,
                    pending=bool(row.component),  # of the whole nobody is told
                )
            )
        row.state, row.detail, row.label = state, detail, mark

    def save(self) -> int:
        """Writes all; how many rows."""
        Health.objects.bulk_create(self._new, batch_size=_AT_ONCE, ignore_conflicts=True)
        changed = ["state", "since", "detail", "label"]
        Health.objects.bulk_update(self._changed.values(), changed, batch_size=_AT_ONCE)
        for first in range(0, len(self._again), _AT_ONCE):
            Health.objects.filter(pk__in=self._again[first : first + _AT_ONCE]).update(label=self._mark)
        HealthChange.objects.bulk_create(self._history, batch_size=_AT_ONCE)
        return len(self._new) + len(self._changed) + len(self._history)
