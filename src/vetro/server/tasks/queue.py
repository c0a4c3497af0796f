"""Enqueueing tasks and steering them: `enqueue`, `cancel`, `retry`, `resolve`.

`enqueue` is called inside the transaction of the state change that the task belongs to, so that neither exists without
the other. Wake-ups follow the commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from django.db import transaction

from vetro.diagnostics import Text
from vetro.engine.effect_kinds import Policy
from vetro.engine.outcome import Outcome
from vetro.engine.worker.decisions import resolve as decide
from vetro.engine.worker.journal import NotOpen
from vetro.engine.worker.ports import Policies
from vetro.packages.lock import ChosenVersion
from vetro.server import large_requests
from vetro.server.accounts.policy import allows
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.errors import Conflict, Invalid, NotFound, TooLarge
from vetro.server.ids import new_id
from vetro.server.quotas import enforcement
from vetro.server.setup import config
from vetro.server.tasks import clock, hooks, reports, spec
from vetro.server.tasks.completion import WORKING, close, first_report
from vetro.server.tasks.dispatch import dispatcher
from vetro.server.tasks.journal import DbJournal
from vetro.server.tasks.labels import label_of
from vetro.server.tasks.models import Task

#: Bytes of what one task holds, as text: what it was to do, its result, its error.
MOST_TEXT: Final = 64 << 20
#: Of plans: somebody waits for them.
_PLAN_PRIORITY: Final = 50


def enqueue(
    caller: Caller,
    kind: str,
    *,
    environment: Any = None,
    session: Any = None,
    model: Mapping[str, Any] | None = None,
    packages: Sequence[Any] = (),
    resolution: Sequence[ChosenVersion] = (),
    method: str | None = None,
    args: Mapping[str, Any] | None = None,
    object_id: str | None = None,
    on_class: Mapping[str, Any] | None = None,
    power: Sequence[Mapping[str, Any]] = (),
    priority: int = 0,
    action: Mapping[str, Any] | None = None,
    label: str | None = None,
) -> Task:
    """A new task, queued, inside the caller's transaction; a worker hears of it when that is committed.

    ``environment`` and ``session`` are rows; ``packages`` rows of the catalog, ``resolution`` why these. ``model`` of a
    ``destroy`` is the present one. ``power``: what is done with servers first. ``action`` is what the v1 API shows
    ({object_id, method, args}). A ``plan`` belongs to no environment: it neither waits for other tasks nor holds them
    up. Which workers may run it follows from the environment (`vetro.server.tasks.labels`), unless ``label`` says it.
    Raises `Invalid` for a kind
    that there is not, `QuotaBusy`.
    """
    if kind not in Task.KINDS:
        raise Invalid(Text("There are no tasks of kind '{kind}'.", kind=kind))
    id = new_id()
    project_id = caller.project_id if environment is None else environment.project_id
    if kind != "snapshot":  # it belongs to what was begun already, and may be the way back
        enforcement.check(project_id, "tasks")
    task = Task(
        id=id,
        project_id=project_id,
        user_id=caller.user_id,
        environment_id="" if environment is None or kind == "plan" else environment.id,
        session_id="" if session is None else session.id,
        kind=kind,
        spec=spec.make(
            config(),
            caller,
            id,
            kind,
            environment=environment,
            model=model,
            packages=packages,
            resolution=resolution,
            method=method,
            args=args,
            object_id=object_id,
            on_class=on_class,
            power=power,
        ),
        action=None if action is None else dict(action),
        priority=priority,
        label=label_of(config(), kind, environment) if label is None else label,
    )
    task.save(force_insert=True)
    reports.tell(task, first_report(task))
    wake(task)
    return task


@transaction.atomic
def enqueue_plan(
    caller: Caller,
    *,
    environment: Any,
    model: Mapping[str, Any],
    packages: Iterable[Any],
    resolution: Sequence[ChosenVersion] = (),
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
        priority=_PLAN_PRIORITY,
    )


def wake(task: Task) -> None:
    """Lets the workers look at a task as soon as the present transaction is committed."""
    dispatcher().notify(task)


def get(caller: Caller, task_id: str, *, locked: bool = False) -> Task:
    """A task of the caller's project. Raises `NotFound`, also for tasks of others, `TooLarge` for one that holds more
    than `MOST_TEXT`."""
    rows = Task.objects.select_for_update() if locked else Task.objects
    refusal = TooLarge(
        Text("Task {task_id} holds more than {most_text} MiB.", task_id=task_id, most_text=MOST_TEXT >> 20),
        hint=Text("have it return less"),
    )
    with large_requests.at_most(MOST_TEXT, refusal):
        task = rows.filter(id=task_id).first()
    if task is None or not caller.sees(task.project_id):
        raise NotFound(Text("There is no task {task_id}.", task_id=task_id))
    return task


def result_of(caller: Caller, task: Task) -> Any:
    """What a task returned. None where the caller may not read it: results of actions are for those who may call
    actions (rule ``execute_action``)."""
    # Administrators see everything, and the rules take a command on a workspace half a second to load.
    readable = task.kind not in ("action", "static") or caller.is_admin or allows(caller, "execute_action")
    return task.result if readable else None


@transaction.atomic
def cancel(caller: Caller, task_id: str, reason: str = "") -> Task:
    """Ends a task: at once when nobody runs it, else at its next safe point, by force after the grace.

    A task that has ended stays as it is. Raises `NotFound`.
    """
    task = get(caller, task_id, locked=True)
    if task.state in Task.FINAL or (task.cancel and task.state == Task.RUNNING):
        return task
    # One that was to be cancelled may have come to wait for a person before it heard of it.
    task.cancel = task.cancel or (reason or f"cancelled by {caller.user_name}")[:255]
    task.save(update_fields=["cancel", "updated"])
    record(caller, "task.cancel", task.id, task.kind, environment=task.environment_id)
    if task.state == Task.RUNNING:
        if not task.owner:  # it was given back for a while: whoever looks next ends it
            Task.objects.filter(id=task.id, owner="", state=Task.RUNNING).update(lease_until=clock.after())
        reports.tell(task, data={"state": task.state, "kind": task.kind, "cancel": True})
        wake(task)
        return task
    error = {"kind": "cancelled", "code": "ENG314", "names": [], "message": f"the task was cancelled ({task.cancel})"}
    # A claim that was quicker makes this nothing: whoever claimed it finds the reason in the row.
    if Task.objects.filter(id=task.id, state=task.state, fence=task.fence).update(state="cancelled"):
        close(task, Outcome("cancelled", model=DbJournal(task.id).model(), error=error))
    return task


@transaction.atomic
def retry(caller: Caller, task_id: str) -> Task:
    """A new task that does again what one that failed was to do, from the state that it left.

    Raises `NotFound`, `Conflict` when the task has not failed, and what starting it raises.
    """
    task = get(caller, task_id)
    if task.state not in Task.FINAL or task.state == "done":
        raise Conflict(Text("The task {task_id} has not failed: it is {state}.", task_id=task_id, state=task.state))
    if task.kind in Task.BATCHES:
        raise Conflict(Text("Tasks of kind '{kind}' are part of something larger.", kind=task.kind),
                       hint=Text("ask for the whole again"))  # fmt: skip
    if task.kind in WORKING:
        (made,) = hooks.again(caller, task)
    else:
        made = repeat(caller, task)
    record(caller, "task.retry", made.id, made.kind, of=task.id, environment=task.environment_id)
    return made


def repeat(caller: Caller, task: Task) -> Task:
    """The same task once more, for kinds that leave no state."""
    enforcement.check(task.project_id, "tasks")
    id = new_id()
    made = Task(
        id=id,
        project_id=task.project_id,
        user_id=caller.user_id,
        kind=task.kind,
        session_id=task.session_id,
        spec={**task.spec, "id": id, "seed": id, "identities": spec.identities(caller)},
        action=task.action,
        priority=task.priority,
        label=task.label,
    )
    made.save(force_insert=True)
    reports.tell(made)
    wake(made)
    return made


def undecided(caller: Caller, task_id: str) -> list[dict[str, Any]]:
    """The effects of a task of which only a person can say whether they were done: {key, kind, args, begun}."""
    task = get(caller, task_id)
    if task.state != Task.NEEDS_PERSON:
        return []
    policies = Policies(plugins=spec.plugins(config()))
    return [
        {"key": e.key, "kind": e.kind, "args": dict(e.about), "begun": e.begun}
        for e in DbJournal(task.id).entries()
        if e.open and policies(e.kind) is Policy.UNSAFE
    ]


@transaction.atomic
def resolve(caller: Caller, task_id: str, key: str, *, answer: Any = None, redo: bool = False) -> Task:
    """What a person decided about one such effect: it was done with ``answer``, or is to be done (again).

    The task goes on when nothing is left to decide. Raises `NotFound`, `Conflict` when nothing waits for this decision.
    """
    task = get(caller, task_id, locked=True)
    try:
        if task.state != Task.NEEDS_PERSON:
            raise NotOpen(Text("the task waits for no decision"))
        decide(DbJournal(task.id), key, answer=answer, redo=redo)
    except NotOpen as error:
        raise Conflict(Text("{message}.", message=error.message)) from None
    record(caller, "task.resolve", task.id, task.kind, key=key, redo=redo)
    if not undecided(caller, task_id):
        # The moment matters where the version that began it is gone (`claim`).
        task.state, task.error, task.lease_until = Task.QUEUED, None, clock.read()
        task.save(update_fields=["state", "error", "lease_until", "updated"])
        reports.tell(task)
        wake(task)
    return task
