"""Actions: what objects offer, calling them; static methods of classes."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.http import HttpRequest
from ninja import Field, Schema

from vetro.server.api.answers import actions as answers
from vetro.server.api.v1.actions import failure
from vetro.server.api.v2.access import who
from vetro.server.api.v2.routes import Answer, Routes, accepted
from vetro.server.api.v2.shapes import Given, Page
from vetro.server.api.v2.tasks import TaskShown
from vetro.server.audit.record import record
from vetro.server.environments import limits
from vetro.server.errors import Unavailable
from vetro.server.language import translated_data
from vetro.server.requests.slow_requests import held
from vetro.server.setup import config
from vetro.server.tasks import class_names, queue
from vetro.server.tasks.models import Task
from vetro.server.tasks.wait import wait

routes = Routes("actions")
#: Before everything that nobody waits for.
_PRIORITY = 100


class Action(Schema):
    """An action of an object."""

    id: str = Field(description="What to call.")
    name: str
    title: str
    description: str | None = None
    help: str | None = None
    enabled: bool
    object_id: str
    object_name: str
    class_name: str = Field(alias="class")
    version: str | None = None
    package: str | None = None
    schema_url: str = Field(alias="schema", description="Where the schema of its arguments is.")


class Call(Given):
    """Arguments of an action."""

    args: dict[str, Any] = Field({}, examples=[{"litres": 3}])


class StaticCall(Given):
    """A static method to be called."""

    class_name: str = Field(alias="class", min_length=1, max_length=512, examples=["com.example.Shop"])
    method: str = Field(min_length=1, max_length=255, examples=["suggest"])
    args: dict[str, Any] = Field({})
    package: str | None = Field(None, max_length=512)
    version: str | None = Field(None, max_length=255, description="Version spec of the class.")


class Result(Schema):
    """What was returned."""

    result: Any = None
    task_id: str


@routes.add("GET", "/environments/{environment_id}/actions", "listActions", "show_environment", Page[Action])
def list_actions(request: HttpRequest, environment_id: str) -> Any:
    """The actions of all objects, as the last deployment left them."""
    return translated_data(answers.list_actions(who(request), environment_id))


@routes.add(
    "POST",
    "/environments/{environment_id}/actions/{path:action_id}",
    "callAction",
    "execute_action",
    TaskShown,
    status=202,
)
def call_action(request: HttpRequest, environment_id: str, action_id: str, given: Call | None = None) -> Answer:
    """Calls an action of an object. It is a deployment of its own: other drafts are stale afterwards."""
    args = given.args if given is not None else {}
    return accepted(answers.call_action(who(request), environment_id, action_id, args=args))


@routes.add("POST", "/actions", "callStaticMethod", "execute_action", Result)
def call_static_method(request: HttpRequest, given: StaticCall) -> Any:
    """Calls a public static method of a class and waits for what it returns."""
    caller = who(request)
    limits.check_depth(given.args, "args")
    meant = class_names.find(caller, given.class_name, given.version, given.package)
    seconds = config()["ask.seconds"]
    with held(caller.project_id):
        with transaction.atomic():
            task = queue.enqueue(
                caller,
                "static",
                packages=meant.packages,
                on_class=meant.on_class,
                method=given.method,
                args=given.args,
                priority=_PRIORITY,
            )
            record(caller, "task.call", task.id, f"{given.class_name}.{given.method}")
        task = wait(task.id, seconds)
    if task.state not in Task.FINAL:
        queue.cancel(caller, task.id, f"it took longer than {seconds:g} seconds")
        raise Unavailable(f"The method did not end within {seconds:g} seconds.", details={"task_id": task.id})
    if task.state != "done":
        error = failure(task.error or {})
        error.details = {"task_id": task.id}
        raise error
    return {"result": task.result, "task_id": task.id}
