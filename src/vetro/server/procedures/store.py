"""`reconcile`: one look at a procedure, in one transaction: its row is locked, the reducer says what it is now and what
is to be done, and that is stored and enqueued together.

Whoever is killed leaves all of it or nothing, and a look too many does nothing: tasks have keys
(`vetro.engine.procedures.guarded_update`). Rows are locked in this order: task, environment, procedure; whoever ends a
task has the first two already.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction

from vetro.data_classes import dataclass
from vetro.diagnostics import Text, encode_messages
from vetro.engine.procedures.guarded_update import ENDED, RESERVED, GuardedUpdate, Step, advance
from vetro.engine.procedures.procedure import Cancel, Command, Enqueue, Facts, Intervention, Wake
from vetro.engine.watching.states import State as Health
from vetro.model.environment import applications_of, deployed_objects
from vetro.model.header import id_of, label_of
from vetro.packages.lock import parse_lock
from vetro.server.audit.record import record as audited
from vetro.server.caller import SYSTEM, Caller
from vetro.server.environments import deploy, packages, power, usage
from vetro.server.environments.models import Environment, State
from vetro.server.environments.service import announce
from vetro.server.procedures import hooks
from vetro.server.procedures.models import Procedure, ProcedureStep
from vetro.server.tasks import clock
from vetro.server.tasks.models import Task
from vetro.server.tasks.queue import cancel, enqueue
from vetro.yaql.errors import VetroError

#: What a task of this kind does with the snapshot.
_DO: Mapping[str, str] = {"snapshot": "make", "restore": "restore", "drop": "drop"}
#: Steps that wait for a task, and seconds after which they are looked at although nobody said that it ended.
_WORK: frozenset[Step] = frozenset({"snapshotting", "deploying", "keeping", "restoring", "releasing"})
_DOUBT = 60.0
#: Steps in which what was asked is being done.
_ANSWERED: frozenset[Step] = ENDED | {"keeping", "restoring", "recovering", "releasing"}


@dataclass(frozen=True, slots=True)
class TaskEnvironment:
    """What tasks need to know of an environment, which may be gone."""

    id: str
    project_id: str
    cloud: Mapping[str, Any]
    region: str


@dataclass(frozen=True, slots=True)
class NextPart:
    """The next part of a chain, or ``why`` it cannot be begun."""

    #: Its number, from 0.
    part: int
    why: str = ""
    session_id: str = ""
    losses: Sequence[str] = ()
    ignored: Collection[str] = ()
    still: bool = False
    #: Seconds for which it is looked at.
    settle: float = 0.0


def reconcile(
    id: str, *, asked: Intervention = "", health: Mapping[str, Health] | None = None, next_part: NextPart | None = None
) -> Procedure | None:
    """Looks at a procedure: as it is then; None where it is gone, or has ended. ``asked``: what somebody wants of it;
    ``health``: how its environment is, where somebody looked; ``next_part``: its next part, where somebody made it."""
    with transaction.atomic():
        row = _locked(id)
        if row is None:
            return None
        if asked:
            row.asked = asked
        elif not Environment.objects.filter(id=row.environment_id).exists():
            row.asked = "abandon"
        drive(row, health, next_part)
        return row


def _locked(id: str) -> Procedure | None:
    row = Procedure.objects.filter(id=id, finished=None).first()
    if row is None:
        return None
    key = GuardedUpdate.from_json(row.record).key
    for task_id in row.steps.filter(key=key).values_list("task_id", flat=True):
        list(Task.objects.select_for_update().filter(id=task_id).values_list("id"))
    list(Environment.objects.select_for_update().filter(id=row.environment_id).values_list("id"))
    return Procedure.objects.select_for_update().filter(id=id, finished=None).first()


def drive(row: Procedure, health: Mapping[str, Health] | None, next_part: NextPart | None = None) -> None:
    """Goes on with a procedure whose row is locked, or new."""
    while True:
        now = clock.read()
        before = GuardedUpdate.from_json(row.record)
        names = _names(row, health or ())
        asked: Any = row.asked
        draft = next_part.why if next_part is not None and next_part.part == before.part + 1 else None
        facts = Facts(tasks=_tasks(row), health=health, names=names, asked=asked, draft=draft)
        after, commands = advance(before, facts, now.timestamp())
        if next_part is not None and after.part == before.part + 1:
            after = _begin_part(row, after, next_part, now)
        _follow(row, before, after, commands, now)
        for command in commands:
            match command:
                case Enqueue(key, kind):
                    _begin(row, key, kind)
                case Cancel(key):
                    for task_id in row.steps.filter(key=key).exclude(task_id="").values_list("task_id", flat=True):
                        cancel(SYSTEM, task_id, str(Text("its update is taken back")))
                        row.refresh_from_db()  # a task that nobody ran has ended by that
        if not any(isinstance(command, Enqueue) for command in commands):
            return


def _begin_part(row: Procedure, after: GuardedUpdate, next_part: NextPart, now: datetime) -> GuardedUpdate:
    """What a procedure knows of the part that it begins; the others are behind it, unless all go back together."""
    losses = [*row.about["losses"], *(one for one in next_part.losses if one not in row.about["losses"])]
    row.about = {
        **row.about,
        "session_id": next_part.session_id,
        "losses": losses if after.together else list(next_part.losses),
        "ignored": sorted({*row.about["ignored"], *next_part.ignored}),
        "still": next_part.still,
    }
    environment = Environment.objects.filter(id=row.environment_id).first()
    if not after.together and environment is not None:
        row.before_state, row.update_state = environment.version, None
        row.about |= {"failure": environment.failure, "stopped": environment.stopped, "since": now.isoformat()}
    return replace(after, settle=max(after.settle, next_part.settle))


def _names(row: Procedure, ids: Collection[str]) -> dict[str, str]:
    """What components and checks of them (`vetro.server.watch.guesses`) are called."""
    if not ids:
        return {}
    newest = State.objects.filter(environment_id=row.environment_id).order_by("-number")
    model: Any = newest.values_list("model", flat=True).first()
    labels = {str(id_of(item)): label_of(item) for item in applications_of(deployed_objects(model or {}))}
    parts = {id: id.partition(": ") for id in ids}
    return {id: f"{labels.get(own, own)}{colon}{check}" for id, (own, colon, check) in parts.items()}


def _tasks(row: Procedure) -> dict[str, str]:
    """The states of its tasks by key. One that reported errors did not go well."""
    steps = dict(row.steps.values_list("key", "task_id"))
    states = {
        id: "failed" if state == "done" and errors else state
        for id, state, errors in Task.objects.filter(id__in=list(steps.values())).values_list("id", "state", "errors")
    }
    found = {key: states.get(task_id) if task_id else "failed" for key, task_id in steps.items()}
    return {key: state for key, state in found.items() if state is not None}


def _follow(
    row: Procedure, before: GuardedUpdate, after: GuardedUpdate, commands: list[Command], now: datetime
) -> None:
    """Stores what a procedure is now, and what that means for its environment."""
    environment = Environment.objects.filter(id=row.environment_id).first()
    if after.step != before.step:
        if before.step == "snapshotting":
            made = row.steps.filter(key=before.key).values_list("task_id", flat=True).first()
            result = Task.objects.filter(id=made).values_list("result", flat=True).first() if made else None
            row.about = {**row.about, "held": result or []}
        if before.step == "deploying" and environment is not None and environment.version > row.before_state:
            row.update_state = environment.version
        if before.step == "restoring" and after.step == "recovering" and environment is not None:
            _undone(row, environment, row.steps.get(key=before.key).task_id)
        if after.step in _ANSWERED:
            row.asked = ""
    if after.reason != before.reason:
        row.about = {**row.about, "reason": encode_messages({"text": after.reason})}
    row.step, row.record, row.looked = after.step, after.as_json(), now
    wakes = [command.at for command in commands if isinstance(command, Wake)]
    if wakes:
        row.wake_at = _moment(min(wakes), now)
    elif after.step in _WORK:
        row.wake_at = now + timedelta(seconds=_DOUBT)
    else:
        row.wake_at = None
    if after.step in ENDED or (after.step == "stuck" and environment is None):
        row.finished, row.wake_at = now, None
    row.save()
    if environment is not None:
        reserved = row.id if after.step in RESERVED else ""
        if environment.procedure_id != reserved and environment.procedure_id in ("", row.id):
            Environment.objects.filter(id=environment.id).update(procedure_id=reserved)
    if after.step != before.step:
        announce(row.project_id, row.environment_id, after.step, kind="procedure", procedure=row.id)
        if environment is not None and after.step in (*ENDED, "stuck"):
            hooks.settled(row)


def _moment(at: float, now: datetime) -> datetime:
    """Whatever a clock says: within what dates can say."""
    return min(datetime.fromtimestamp(min(max(at, 0.0), 32_000_000_000.0), UTC), now + timedelta(days=400))


def _begin(row: Procedure, key: str, kind: str) -> None:
    """Begins a task; one that cannot be begun has failed, and says why."""
    step, new = ProcedureStep.objects.get_or_create(procedure=row, key=key, defaults={"kind": kind})
    if not new:
        return
    caller = Caller(**row.about["caller"])
    try:
        with transaction.atomic():
            if kind == "deploy":
                task = deploy.begin(caller, row.environment_id, row.about["session_id"], row.id)
            else:
                task = _snapshot(row, caller, kind)
    except VetroError as error:
        step.error = encode_messages({"message": error.message, "hint": error.hint})
        step.save(update_fields=["error"])
        return
    step.task_id = task.id
    step.save(update_fields=["task_id"])


def _snapshot(row: Procedure, caller: Caller, kind: str) -> Task:
    place = TaskEnvironment(row.environment_id, row.project_id, row.about["cloud"], row.about["region"])
    do = _DO[kind]
    still = {"still": True} if kind == "snapshot" and row.about.get("still") else {}
    task = enqueue(
        caller,
        "snapshot",
        environment=place,
        args={"do": do, "name": _snapshot_name(row), **still},
        action={"object_id": row.environment_id, "method": do, "args": {}},
    )
    if kind != "drop":  # which holds nobody up
        Environment.objects.filter(id=row.environment_id).update(task_id=task.id)
    return task


def _snapshot_name(row: Procedure) -> str:
    """What the cloud calls what is held."""
    number = GuardedUpdate.from_json(row.record).snapshot
    return f"{row.id}-{number}" if number else row.id


def _undone(row: Procedure, environment: Environment, task_id: str) -> None:
    """All is as it was before the update: so is what the environment knows of itself. No code of packages runs."""
    old = State.objects.filter(environment=environment, number__lte=row.before_state).order_by("-number").first()
    if environment.version == row.before_state or old is None:
        return  # the deployment was never begun
    environment.version += 1
    environment.failure = row.about["failure"]
    environment.stopped = row.about["stopped"]
    environment.save(update_fields=["version", "failure", "stopped"])
    if old.lock is not None:
        packages.adopt(environment.id, parse_lock(old.lock.body))
    State.objects.create(
        environment=environment,
        number=environment.version,
        model=old.model,
        answers=old.answers,
        lock=old.lock,
        task_id=task_id,
        undone_of=row.before_state + 1,
    )
    power.forget(environment, old.model)
    since = row.about.get("since")
    usage.back(environment.id, datetime.fromisoformat(since) if since else row.created)
    row.undo_state = environment.version
    audited(SYSTEM, "environment.undone", environment.id, environment.name, procedure=row.id, state=old.number)
    announce(environment.project_id, environment.id, "undone", task=task_id, version=environment.version)
