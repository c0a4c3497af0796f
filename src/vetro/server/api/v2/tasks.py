"""Tasks: what is done, was done, or waits; their log; cancelling, retrying, deciding."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from django.db.models import Q
from django.http import HttpRequest
from ninja import Field, Path, Query, Schema

from vetro.server.api.v2 import own
from vetro.server.api.v2.access import who
from vetro.server.api.v2.failures import UNKNOWN
from vetro.server.api.v2.routes import Answer, Routes, accepted
from vetro.server.api.v2.shapes import Given, Page, aware, page, place
from vetro.server.api.v2.shapes import cursor as cursor_of
from vetro.server.dispatch import log, queue
from vetro.server.dispatch.labels import why_waiting
from vetro.server.dispatch.models import Report, Task
from vetro.server.environments import concealed
from vetro.server.environments.limits import known_id
from vetro.server.errors import NotFound
from vetro.server.holding import held
from vetro.server.serving_streams import text_stream
from vetro.server.setup import config

routes = Routes("tasks")
#: What OpenAPI says of an answer that is text.
_TEXT = {"responses": {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}}
State = Literal["queued", "running", "needs_person", "done", "failed", "cancelled", "killed", "diverged"]


class TaskRow(Schema):
    """A task in a list."""

    id: str
    kind: str = Field(description="deploy, destroy, action, static, builder, schema, plan.")
    state: str = Field(
        description="queued, running, needs_person; when it has ended: done, failed, cancelled, killed, diverged."
    )
    final: bool = Field(description="Nothing happens any more.")
    environment_id: str | None
    session_id: str | None
    user_id: str
    project_id: str
    warnings: bool = Field(description="It reported warnings.")
    errors: bool = Field(description="It reported errors.")
    cancel: str | None = Field(None, description="Why somebody wants it to end.")
    attempts: int = Field(description="How often a worker began it or went on with it.")
    created: datetime
    started: datetime | None
    finished: datetime | None


class Decision(Schema):
    """An effect of which only a person can say whether it was done."""

    key: str
    kind: str
    args: Any
    begun: datetime


class TaskShown(TaskRow):
    """A task."""

    action: Any = Field(None, description="{object_id, method, args} of actions and deployments; secrets marked.")
    result: Any = Field(None, description="What it returned; of a plan, the plan.")
    error: Any = Field(None, description="How it failed: {kind, code, message, hint, names, position, frames}.")
    waiting: str | None = Field(
        None, description="Why nobody begins it or goes on with it, where no worker that lives may."
    )
    decisions: list[Decision] = Field([], description="What `resolve` is to say, while the state is needs_person.")


class Line(Schema):
    """A report or a log line."""

    seq: int = Field(description="Rises; give the last one as `after`.")
    kind: Literal["report", "log"]
    level: str
    object_id: str | None
    text: str
    details: Any = None
    cut: bool = Field(False, description="Text or details are too long for a list: the line itself has the whole.")
    created: datetime


class Log(Schema):
    """Lines of a task, oldest first."""

    items: list[Line]
    next: int | None = Field(description="`after` for what follows; null when this is all there is by now.")
    final: bool = Field(description="The task has ended: no line will follow the last one.")
    state: str


class Reason(Given):
    """Why."""

    reason: str = Field("", max_length=255)


class Verdict(Given):
    """What a person found out about one effect."""

    key: str = Field(max_length=65_536, description="As in `decisions`.")
    decision: Literal["done", "redo"] = Field(description="It was done, with `answer`; or it is to be done again.")
    answer: Any = Field(None, description="What it answered, when it was done.")


_ROW = (
    "id", "kind", "state", "environment_id", "session_id", "user_id", "project_id", "warnings", "errors", "cancel",
    "attempts", "created", "started", "finished",
)  # fmt: skip


def row_json(values: dict[str, Any]) -> dict[str, Any]:
    """A task in a list, from the columns of it."""
    return {
        **values,
        "environment_id": values["environment_id"] or None,
        "session_id": values["session_id"] or None,
        "cancel": values["cancel"] or None,
        "final": values["state"] in Task.FINAL,
    }


def shown(task: Task, decisions: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """A task as /v2 shows it."""
    return {
        **row_json({name: getattr(task, name) for name in _ROW}),
        "action": _action(task),
        "result": task.result,
        "error": task.error,
        "waiting": why_waiting(config(), task) or None,
        "decisions": [{**d, "begun": datetime.fromtimestamp(d["begun"], UTC)} for d in decisions or ()],
    }


def _action(task: Task) -> dict[str, Any] | None:
    if task.action is None:
        return None
    found = task.spec or {}
    model = (found.get("model") or {}).get("Objects")
    return concealed.conceal_arguments(task.action, model, [used["digest"] for used in found.get("packages") or ()])


@routes.add("GET", "/tasks", "listTasks", "list_tasks", Page[TaskRow])
def list_tasks(
    request: HttpRequest,
    environment: Annotated[str | None, Query(max_length=64, description="Only those of this environment.")] = None,
    state: Annotated[list[State] | None, Query(description="Only those in one of these states.")] = None,
    kind: Annotated[list[str] | None, Query(description="Only those of one of these kinds.")] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    cursor: Annotated[str | None, Query(max_length=1000)] = None,
) -> Any:
    """The tasks of the project, newest first."""
    caller = who(request)
    rows = Task.objects.filter(project_id=caller.project_id)
    if environment is not None:
        # Administrators see tasks of any environment that they name.
        rows = Task.objects.all() if caller.is_admin else rows
        rows = rows.filter(environment_id=environment) if known_id(environment) else rows.none()
    if state:
        rows = rows.filter(state__in=state)
    if kind:
        rows = rows.filter(kind__in=[k[:16] for k in kind[:20]])
    total = rows.count()
    after = place(cursor, str, str)
    if after is not None:
        at = _time(after[0])
        rows = rows.filter(Q(created__lt=at) | Q(created=at, id__lt=after[1]))
    found = list(rows.order_by("-created", "-id").values(*_ROW)[: limit + 1])
    end = cursor_of(found[limit - 1]["created"].isoformat(), found[limit - 1]["id"]) if len(found) > limit else None
    return page([row_json(row) for row in found[:limit]], total, end)


def _time(text: str) -> datetime:
    from vetro.server.errors import Invalid

    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = datetime.min
    if at.tzinfo is None:
        raise Invalid("This is no cursor of this list.")
    return aware(at)


@routes.add("GET", "/tasks/{task_id}", "showTask", "show_task", TaskShown)
def show_task(
    request: HttpRequest,
    task_id: str,
    wait: Annotated[
        float, Query(ge=0, le=30, description="Wait so many seconds for its end, if it has not ended.")
    ] = 0,
) -> Any:
    """A task with what it returned or how it failed."""
    caller = who(request)
    own.task(caller, task_id)
    if wait:
        from vetro.server.dispatch.wait import wait as wait_for

        with held(caller.project_id):
            wait_for(task_id, wait)
    task = queue.get(caller, task_id)
    return shown(task, queue.undecided(caller, task_id) if task.state == Task.NEEDS_PERSON else None)


@routes.add("POST", "/tasks/{task_id}/cancel", "cancelTask", "cancel_task", TaskShown, status=202)
def cancel_task(request: HttpRequest, task_id: str, given: Reason | None = None) -> Answer:
    """Ends a task: at once if nobody runs it, else at its next safe point. One that has ended stays as it is."""
    caller = who(request)
    own.task(caller, task_id)
    return accepted(shown(queue.cancel(caller, task_id, given.reason if given is not None else "")))


@routes.add("POST", "/tasks/{task_id}/retry", "retryTask", "retry_task", TaskShown, status=202)
def retry_task(request: HttpRequest, task_id: str) -> Answer:
    """A new task that does again what one that failed was to do, from the state that it left."""
    caller = who(request)
    own.task(caller, task_id)
    return accepted(shown(queue.retry(caller, task_id)))


@routes.add("POST", "/tasks/{task_id}/resolve", "resolveTask", "resolve_task", TaskShown)
def resolve_task(request: HttpRequest, task_id: str, given: Verdict) -> Any:
    """Says what became of an effect. The task goes on when nothing is left to decide."""
    caller = who(request)
    own.task(caller, task_id)
    task = queue.resolve(caller, task_id, given.key, answer=given.answer, redo=given.decision == "redo")
    return shown(task, queue.undecided(caller, task_id))


@routes.add("GET", "/tasks/{task_id}/log", "readLog", "statuses_deployments", Log)
def read_log(
    request: HttpRequest,
    task_id: str,
    after: Annotated[int, Query(ge=0, le=(1 << 63) - 1, description="Only lines after this one.")] = 0,
    level: Annotated[list[Literal["info", "warning", "error"]] | None, Query(description="Only these levels.")] = None,
    kind: Annotated[Literal["report", "log"] | None, Query(description="Only reports, or only log lines.")] = None,
    object: Annotated[str | None, Query(max_length=255, description="Only about this object.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> Any:
    """What a task reported and logged, oldest first; fewer lines than `limit` where they are long."""
    caller = who(request)
    own.task(caller, task_id)
    # Read before the lines: what ended before them can have written no more.
    state = Task.objects.values_list("state", flat=True).get(id=task_id)
    rows = log.lines(task_id).filter(seq__gt=after)
    if level:
        rows = rows.filter(level__in=level)
    if kind is not None:
        rows = rows.filter(kind=kind)
    if object is not None:
        rows = rows.filter(entity_id=object)
    found, more = log.within(rows, limit)
    items = [
        {
            "seq": row.seq,
            "kind": row.kind,
            "level": row.level,
            "object_id": row.entity_id or None,
            "text": row.text,
            "details": row.details,
            "cut": row.cut,
            "created": row.created,
        }
        for row in found
    ]
    final = state in Task.FINAL and not more
    return {"items": items, "next": items[-1]["seq"] if more else None, "final": final, "state": state}


@routes.add("GET", "/tasks/{task_id}/log/{seq}", "readLine", "statuses_deployments", extra=_TEXT)
def read_line(request: HttpRequest, task_id: str, seq: Annotated[int, Path(ge=0, le=(1 << 63) - 1)]) -> Any:
    """One line of the log as it was reported, whole, as text."""
    caller = who(request)
    own.task(caller, task_id)
    row = Report.objects.filter(task_id=task_id, seq=seq).first()
    if row is None:
        raise NotFound(UNKNOWN)
    return text_stream(lambda: log.whole(row), f"line-{seq}.txt", caller.project_id)
