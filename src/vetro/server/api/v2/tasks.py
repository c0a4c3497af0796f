"""Tasks: what is done, was done, or waits; their log; cancelling, retrying, deciding."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from ninja import Field, Path, Query, Schema

from vetro.server.api.answers import tasks as answers
from vetro.server.api.v2.access import who
from vetro.server.api.v2.failures import UNKNOWN
from vetro.server.api.v2.routes import Answer, Routes, accepted
from vetro.server.api.v2.shapes import Given, Page
from vetro.server.environments import lookup
from vetro.server.errors import NotFound
from vetro.server.requests.slow_requests import held
from vetro.server.requests.streams import text_stream
from vetro.server.tasks import log
from vetro.server.tasks.models import Report

routes = Routes("tasks")
#: What OpenAPI says of an answer that is text.
_TEXT = {"responses": {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}}
State = Literal["queued", "running", "needs_person", "done", "failed", "cancelled", "killed", "diverged"]


class TaskRow(Schema):
    """A task in a list."""

    id: str
    kind: str = Field(description="deploy, destroy, action, static, builder, schema, plan, power, repair, snapshot.")
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
    simulated: bool = Field(description="The cloud of its environment executes nothing: what it did was written down.")
    attempts: int = Field(description="How often a worker began it or went on with it.")
    created: datetime
    started: datetime | None
    finished: datetime | None


class Wait(Schema):
    """Something that a task waits for."""

    kind: str = Field(
        description="worker, place, turn, environment, person, retry, lease, command, start, code: of the task itself; "
        "agent, cloud, resource, server, service, stack, turn, pause, effect: of what it has under way."
    )
    text: str = Field(description="For people: a noun with its circumstances.")
    since: datetime | None = Field(description="null: nobody knows.")
    seconds: float | None = Field(description="For how long already, by the clock of the database.")
    object_id: str | None = Field(None, description="The object of the model that it is about.")


class Decision(Schema):
    """An effect of which only a person can say whether it was done."""

    key: str
    kind: str
    args: Any
    begun: datetime


class TaskShown(TaskRow):
    """A task."""

    action: Any = Field(None, description="{object_id, method, args} of actions and deployments; secrets marked.")
    result: Any = Field(
        None, description="What it returned; of a plan, the plan. Of an action with rule `execute_action` only."
    )
    error: Any = Field(None, description="How it failed: {kind, code, message, hint, names, position, frames, output}.")
    waiting: str | None = Field(None, description="The texts of `waits` in one line.")
    waits: list[Wait] = Field([], description="What it waits for, the longest first; nothing while it is at work.")
    decisions: list[Decision] = Field([], description="What `resolve` is to say, while the state is needs_person.")
    procedure_id: str | None = Field(None, description="The update with a way back that it belongs to.")


class Line(Schema):
    """A report or a log line."""

    seq: int = Field(description="Rises; give the last one as `after`.")
    kind: Literal["report", "log", "output"] = Field(
        description="What a package reports or logs, or what one of its scripts writes while it runs."
    )
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
    return answers.list_tasks(who(request), environment=environment, state=state, kind=kind, limit=limit, cursor=cursor)


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
    if wait:
        from vetro.server.tasks.wait import wait as wait_for

        lookup.task(caller, task_id)
        with held(caller.project_id):
            wait_for(task_id, wait)
    return answers.show_task(caller, task_id)


@routes.add("POST", "/tasks/{task_id}/cancel", "cancelTask", "cancel_task", TaskShown, status=202)
def cancel_task(request: HttpRequest, task_id: str, given: Reason | None = None) -> Answer:
    """Ends a task: at once if nobody runs it, else at its next safe point. One that has ended stays as it is."""
    reason = given.reason if given is not None else ""
    return accepted(answers.cancel_task(who(request), task_id, reason=reason))


@routes.add("POST", "/tasks/{task_id}/retry", "retryTask", "retry_task", TaskShown, status=202)
def retry_task(request: HttpRequest, task_id: str) -> Answer:
    """A new task that does again what one that failed was to do, from the state that it left."""
    return accepted(answers.retry_task(who(request), task_id))


@routes.add("POST", "/tasks/{task_id}/resolve", "resolveTask", "resolve_task", TaskShown)
def resolve_task(request: HttpRequest, task_id: str, given: Verdict) -> Any:
    """Says what became of an effect. The task goes on when nothing is left to decide."""
    return answers.resolve_task(who(request), task_id, key=given.key, decision=given.decision, answer=given.answer)


@routes.add("GET", "/tasks/{task_id}/log", "readLog", "statuses_deployments", Log)
def read_log(
    request: HttpRequest,
    task_id: str,
    after: Annotated[int, Query(ge=0, le=(1 << 63) - 1, description="Only lines after this one.")] = 0,
    level: Annotated[list[Literal["info", "warning", "error"]] | None, Query(description="Only these levels.")] = None,
    kind: Annotated[Literal["report", "log", "output"] | None, Query(description="Only lines of this kind.")] = None,
    object: Annotated[str | None, Query(max_length=255, description="Only about this object.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> Any:
    """What a task reported and logged, oldest first; fewer lines than `limit` where they are long."""
    return answers.read_log(who(request), task_id, after=after, level=level, kind=kind, object=object, limit=limit)


@routes.add("GET", "/tasks/{task_id}/log/{seq}", "readLine", "statuses_deployments", extra=_TEXT)
def read_line(request: HttpRequest, task_id: str, seq: Annotated[int, Path(ge=0, le=(1 << 63) - 1)]) -> Any:
    """One line of the log as it was reported, whole, as text."""
    caller = who(request)
    lookup.task(caller, task_id)
    row = Report.objects.filter(task_id=task_id, seq=seq).first()
    if row is None:
        raise NotFound(UNKNOWN)
    return text_stream(lambda: log.whole(row), f"line-{seq}.txt", caller.project_id)
