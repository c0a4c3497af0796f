"""What a task that has not ended waits for, and since when (docs/waiting.md lists all of it).

What its effects wait for its worker writes down in the task's row, as the effects host tells it: at most once in some
seconds, and nothing while nobody waits (`vetro.engine.host.waits`). It holds for the lease under which it was written:
nobody has to clean up after a worker that was killed. Everything else (a worker, the environment, a person) is found
out when somebody asks.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.db.models import Max, Q

from vetro.data_classes import dataclass
from vetro.diagnostics import Text, decode_messages, encode_messages
from vetro.engine.host.waits import cut
from vetro.model.header import name_of
from vetro.model.tree import by_id
from vetro.server.config.config import Config
from vetro.server.tasks import clock
from vetro.server.tasks.claim import SHORT, Lease
from vetro.server.tasks.journal import DbJournal
from vetro.server.tasks.labels import why_waiting
from vetro.server.tasks.models import JournalEntry, JournalNote, JournalTask, Task

#: Seconds after which it is told that a task waits for a place, or that nothing but code of packages runs: until then
#: that is what always happens.
SOON: Final = 2.0
BUSY: Final = 5.0
#: Seconds after which an effect is told of by its journal, where its host told nothing: it may be dead.
SILENT: Final = 12.0
#: Characters of each name in what is told.
LONGEST: Final = 200
#: How the owners of leases begin that are commands, which run tasks of a workspace themselves.
_COMMAND: Final = "command-"


@dataclass(frozen=True, slots=True)
class Wait:
    """Something that a task waits for. ``text`` is a noun with its circumstances."""

    #: One word, see docs/waiting.md.
    kind: str
    text: str
    #: None: nobody knows.
    since: datetime | None
    #: The object of the model that it is about; '' for none.
    object_id: str = ""


class WaitLog:
    """Writes down what the effects of a task wait for, while it is worked on under ``lease``."""

    def __init__(self, task: Task, lease: Lease, journal: DbJournal) -> None:
        self._lease = lease
        self._journal = journal
        self._spec = (task.spec or {}).get("model") or {}
        self._names: dict[str, str] | None = None
        self._written: list[Any] = []

    def store(self, found: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Stores what an effects host tells, with the names of objects; that. Nothing where it is known already."""
        named = [self._named(one) for one in found]
        if named != self._written:
            value = {"fence": self._lease.fence, "found": named} if named else None
            mine = Task.objects.filter(id=self._lease.task_id, fence=self._lease.fence, state=Task.RUNNING)
            mine.update(waits=value)
            self._written = named
        return named

    def _named(self, one: Mapping[str, Any]) -> dict[str, Any]:
        id, told = str(one.get("id") or ""), decode_messages(one)
        text = told.get("text")
        if id and isinstance(text, Text) and "server" in text.values:
            name = self._name(id)
            if name:
                told["text"] = text.filled(server=name)
        if isinstance(text, str):  # without secrets by now, so that no half of one is left
            told["text"] = cut(told["text"], LONGEST)
        return dict(encode_messages(told))

    def _name(self, id: str) -> str:
        """What people call an object of the task's model; '' for one that it does not name. Queues have small letters.

        An object that the task has made is in its last checkpoint.
        """
        if self._names is None:
            self._names = _names_of(self._spec.get("Objects"))
        if id not in self._names:
            self._names = {id: "", **self._names, **_names_of((self._journal.model() or {}).get("Objects"))}
        return self._names[id]


def _names_of(root: Any) -> dict[str, str]:
    return {str(id).lower(): name for id, value in by_id(root).items() if (name := name_of(value))}


def of_retry(fence: int, why: str) -> dict[str, Any]:
    """The column `Task.waits` of a task that was given back because of what failed around it."""
    text = Text("the next attempt, after this: {why}", why=why)
    return {"fence": fence, "found": [encode_messages({"kind": "retry", "text": text, "since": time.time()})]}


def waits_of(config: Config, task: Task) -> list[Wait]:
    """What a task waits for now, the longest first; nothing for one that has ended or is at work."""
    if task.state == Task.NEEDS_PERSON:
        return [_person(task)]
    if task.state == Task.QUEUED:
        found = _queued(config, task)
        return [] if found is None else [found]
    if task.state != Task.RUNNING:
        return []
    if task.lease_until is None or task.lease_until <= clock.read():
        return [_left(config, task)]
    told = task.waits or {}
    if told.get("fence") == task.fence and told.get("found"):
        return [
            Wait(str(one["kind"]), one["text"], datetime.fromtimestamp(one["since"], UTC), str(one.get("id") or ""))
            for one in decode_messages(told["found"])
        ]
    return _at_work(task)


def told(waits: Sequence[Wait]) -> str:
    """The same in one line, without since when; empty for nothing."""
    return "; ".join(str(wait.text) for wait in waits)


def as_json(wait: Wait, now: datetime) -> dict[str, Any]:
    """Plain data: {kind, text, since, seconds, object_id}."""
    seconds = None if wait.since is None else round(max((now - wait.since).total_seconds(), 0.0), 1)
    return {
        "kind": wait.kind,
        "text": wait.text,
        "since": wait.since,
        "seconds": seconds,
        "object_id": wait.object_id or None,
    }


def _person(task: Task) -> Wait:
    head = JournalTask.objects.filter(task_id=task.id).first()
    ended = head.ended if head is not None and head.ended else {}
    since = datetime.fromtimestamp(ended["at"], UTC) if ended.get("at") else None
    return Wait("person", Text("a person, who has to say whether something was done"), since)


def _queued(config: Config, task: Task) -> Wait | None:
    """Why a task was not begun; None for one that is about to be."""
    now = clock.read()
    if task.lease_until is not None and task.lease_until > now:
        return Wait("retry", Text("the next attempt"), None)
    if why := why_waiting(config, task):
        return Wait("worker", Text("a worker: {why}", why=why), task.created)
    first = _before(task)
    if first is not None and first.state == Task.NEEDS_PERSON:
        text = Text("a person, who has to decide about task {task} of the environment", task=first.id)
        return Wait("person", text, task.created)
    if first is not None:
        text = Text("task {task} ({kind}) of the same environment", task=first.id, kind=first.kind)
        return Wait("environment", text, task.created)
    if now - task.created < timedelta(seconds=SOON):
        return None
    running = Task.objects.filter(state=Task.RUNNING)
    own = running.filter(project_id=task.project_id).count()
    others = Task.objects.filter(state=Task.QUEUED).exclude(project_id=task.project_id).exists()
    if own and others:
        text = Text("the turn of its project, of which {count} tasks run while others wait", count=own)
        return Wait("turn", text, task.created)
    short = Q(kind__in=SHORT)
    count = running.filter(short if task.kind in SHORT else ~short).count()
    return Wait("place", Text("a free place of a worker: {count} tasks run", count=count), task.created)


def _before(task: Task) -> Task | None:
    """The task of the same environment that goes before this one."""
    if not task.environment_id:
        return None
    earlier = Q(state=Task.QUEUED) & (Q(created__lt=task.created) | Q(created=task.created, id__lt=task.id))
    rows = Task.objects.filter(environment_id=task.environment_id).exclude(id=task.id)
    rows = rows.filter(Q(state__in=(Task.RUNNING, Task.NEEDS_PERSON)) | earlier)
    return rows.only("id", "kind", "state").order_by("-state", "created", "id").first()  # running, queued, needs_person


def _left(config: Config, task: Task) -> Wait:
    """What a task waits for whose worker has let its lease lapse, or gave it back."""
    since = task.lease_until
    if why := why_waiting(config, task):
        return Wait("worker", Text("a worker: {why}", why=why), since)
    if task.owner.startswith(_COMMAND):
        return Wait("command", Text("a command that goes on with it: the one that ran it has ended"), since)
    if task.owner:
        text = Text("another worker to take it over: the last one was not heard of")
        return Wait("lease", text, since)
    return Wait("place", Text("a worker to go on with it: the last one gave it back"), since)


def _at_work(task: Task) -> list[Wait]:
    """Of a task that a worker has and whose effects are not waited for."""
    now = clock.read()
    head = JournalTask.objects.filter(task_id=task.id).only("begun").first()
    if head is None:
        since = task.started if task.attempts == 1 else None
        long = since is None or now - since >= timedelta(seconds=BUSY)
        text = Text("its worker, which reads its packages and opens its cloud")
        return [Wait("start", text, since)] if long else []
    entries = JournalEntry.objects.filter(task_id=task.id)
    silent = now.timestamp() - SILENT
    open_ = list(entries.filter(place=None).order_by("begun").only("kind", "begun")[:1])
    if open_:
        at = datetime.fromtimestamp(open_[0].begun, UTC)
        text = Text("the end of '{effect}'", effect=open_[0].kind)
        return [Wait("effect", text, at)] if open_[0].begun <= silent else []
    last = entries.aggregate(begun=Max("begun"), ended=Max("ended"))
    noted = JournalNote.objects.filter(task_id=task.id).aggregate(at=Max("at"))["at"]
    latest = max(at for at in (head.begun, last["begun"], last["ended"], noted) if at is not None)
    if now.timestamp() - latest < BUSY:
        return []
    return [Wait("code", Text("code of its packages, which computes"), datetime.fromtimestamp(latest, UTC))]
