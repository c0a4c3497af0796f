"""Actions of objects and static actions of classes (API.md 9, 10)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.db import transaction

from vetro.server.api.v1.call import Call, Raw
from vetro.server.api.v1.routing import endpoint
from vetro.server.audit.record import record
from vetro.server.environments import deploy, deployments, queries
from vetro.server.errors import Invalid, NotFound, ServiceError, Unavailable
from vetro.server.requests.slow_requests import held
from vetro.server.setup import config
from vetro.server.tasks import class_names, queue
from vetro.server.tasks.completion import text_of
from vetro.server.tasks.models import Task
from vetro.server.tasks.wait import wait

#: Before everything that nobody waits for.
_PRIORITY = 100
_BAD = frozenset({"contract-violation", "value-error", "bad-argument"})
_MISSING = frozenset(
    {
        "class-not-found", "package-not-found", "method-not-found", "not-an-action", "no-matching-function",
        "no-matching-method", "no-function", "unresolved-call",
    }
)  # fmt: skip


@endpoint("POST", "environments/{environment_id}/actions/{action_id}", "execute_action")
def call_action(call: Call, environment_id: str, action_id: str) -> Any:
    """Starts an action of an object: the id of its task."""
    if not call.body:
        raise Invalid("The body must hold the arguments of the action: {} when there are none.")
    args = call.json()
    return {"task_id": deploy.call_action(call.caller, environment_id, action_id, args)}


@endpoint("GET", "environments/{environment_id}/actions/{task_id}", "execute_action")
def action_result(call: Call, environment_id: str, task_id: str) -> Any:
    """What an action, or a deployment, returned; ``{}`` while it runs."""
    queries.get(call.caller, environment_id)
    task = Task.objects.filter(id=task_id, environment_id=environment_id, kind__in=deployments.KINDS).first()
    if task is None:
        raise NotFound(f"Result for task with environment_id: {environment_id} and task_id: {task_id} was not found.")
    return deployments.result_of(task)


@endpoint("POST", "actions", "execute_action")
def static_action(call: Call) -> Any:
    """Calls a public static method of a class and waits for what it returns."""
    if not call.body:
        raise Invalid("The body must name a class and a method.")
    data = call.json()
    if not isinstance(data, Mapping):
        raise Invalid("The body must be an object that names a class and a method.")
    class_name, method = data.get("className"), data.get("methodName")
    if not class_name or not method or not isinstance(class_name, str) or not isinstance(method, str):
        raise Invalid("Class name and method name must be specified for static action")
    args = data.get("parameters")
    if args is not None and not isinstance(args, Mapping):
        raise Invalid("'parameters' must be an object: names and values")
    meant = class_names.find(call.caller, class_name, _text(data, "classVersion"), _text(data, "packageName"))
    seconds = config()["ask.seconds"]
    with held(call.caller.project_id):
        with transaction.atomic():
            task = queue.enqueue(
                call.caller,
                "static",
                packages=meant.packages,
                on_class=meant.on_class,
                method=method,
                args=args,
                priority=_PRIORITY,
            )
            record(call.caller, "task.call", task.id, f"{class_name}.{method}")
        task = wait(task.id, seconds)
    if task.state not in Task.FINAL:
        queue.cancel(call.caller, task.id, f"it took longer than {seconds:g} seconds")
        raise Unavailable(f"The action did not end within {seconds:g} seconds.")
    if task.state == "done":
        return Raw(json.dumps(task.result, ensure_ascii=False), "application/json")
    raise failure(task.error or {})


def failure(error: Mapping[str, Any]) -> ServiceError:
    """The end of a task as an error of the API: wrong arguments 400, nothing of that name 404, all else 503."""
    text, kind = text_of(error), error.get("kind")
    if kind in _BAD:
        return Invalid(text)
    return NotFound(text) if kind in _MISSING else Unavailable(text)


def _text(data: Mapping[str, Any], name: str) -> str | None:
    value = data.get(name)
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise Invalid(f"'{name}' must be text")
