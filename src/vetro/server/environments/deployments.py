"""Deployments and their reports, as the history of an environment shows them (API.md 8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.db.models import Exists, Max, OuterRef, QuerySet

from vetro.diagnostics import Text
from vetro.model.environment import applications_of, view_of
from vetro.model.header import id_of
from vetro.model.secrets import conceal
from vetro.model.tree import find, objects
from vetro.server import large_requests
from vetro.server.caller import Caller
from vetro.server.catalog.secret_names import secrets_of
from vetro.server.environments import drafts, queries, redaction
from vetro.server.environments.limits import known_id
from vetro.server.environments.models import Environment
from vetro.server.errors import Invalid, NotFound, TooLarge
from vetro.server.ids import stamp
from vetro.server.tasks import log
from vetro.server.tasks.completion import text_of
from vetro.server.tasks.models import Report, Task

#: Reports of a deployment in /v1, which knows no pages.
MOST = 10_000
#: Bytes of all that deployments hold in one answer of /v1.
MOST_TEXT: Final = 32 << 20
#: Deployments that are read at once.
_TOGETHER: Final = 10
#: Kinds of tasks that are deployments.
KINDS = ("deploy", "destroy", "action")
#: What works on an environment, as pages list it.
WORK = (*KINDS, "power", "repair")


def of_environment(caller: Caller, environment_id: str) -> list[dict[str, Any]]:
    """The deployments of an environment, newest first."""
    found = queries.get(caller, environment_id)
    return _listed(caller, Task.objects.filter(environment_id=found.id, kind__in=KINDS))


def of_project(caller: Caller) -> list[dict[str, Any]]:
    """The deployments of all environments that the project has, newest first."""
    there = Exists(Environment.objects.filter(id=OuterRef("environment_id")))
    rows = Task.objects.filter(there, project_id=caller.project_id, kind__in=KINDS)
    return _listed(caller, rows)


def _listed(caller: Caller, rows: QuerySet[Task]) -> list[dict[str, Any]]:
    """Raises `TooLarge` for more than can be told at once: this has no pages."""
    refusal = TooLarge(
        Text("the models of these deployments have more than {most_text} MiB together", most_text=MOST_TEXT >> 20),
        hint=Text("GET /v2/tasks lists them in pages, and GET /v2/tasks/{{id}} gives each"),
    )
    with large_requests.at_most(MOST_TEXT, refusal):
        ids = list(rows.order_by("-created", "-id").values_list("id", flat=True))
        some = [ids[first : first + _TOGETHER] for first in range(0, len(ids), _TOGETHER)]
        found = (Task.objects.filter(id__in=part).order_by("-created", "-id") for part in some)
        return [described(task, caller) for part in found for task in part]


def described(task: Task, caller: Caller) -> dict[str, Any]:
    """A deployment as /v1 shows it to the caller: secrets are marked for those who may not change the environment."""
    spec: Mapping[str, Any] = task.spec or {}
    model = spec.get("model") or {}
    root = model.get("ObjectsCopy") if task.kind == "destroy" else model.get("Objects")
    action = task.action or {"object_id": task.environment_id, "method": "deploy", "args": {}}
    if not redaction.may_know(caller):
        digests = [used["digest"] for used in spec.get("packages") or ()]
        action = redaction.conceal_arguments(action, root, digests)
        root = conceal(root, secrets_of(digests))
    return {
        "id": task.id,
        "environment_id": task.environment_id,
        "created": stamp(task.created),
        "updated": stamp(task.updated),
        "started": stamp(task.started or task.created),
        "finished": stamp(task.finished),
        "description": view_of(root),
        "action": action,
        "result": result_of(task),
        "state": state_of(task),
    }


def state_of(task: Task) -> str:
    """The state as the API names it: it tells of the reports, not of the task."""
    over = task.state in Task.FINAL
    failed = task.errors or (over and task.state != "done")
    if not over:
        return "running_w_errors" if failed else "running_w_warnings" if task.warnings else "running"
    return "completed_w_errors" if failed else "completed_w_warnings" if task.warnings else "success"


def result_of(task: Task) -> dict[str, Any]:
    """What the task returned or how it failed: {result, isException}; nothing while it runs."""
    if task.state not in Task.FINAL:
        return {}
    if task.state == "done":
        return {"result": task.result, "isException": False}
    error: Mapping[str, Any] = task.error or {"message": f"the task was {task.state}"}
    return {"isException": True, "result": {"message": _message(error), "details": _details(error)}}


def reports(
    caller: Caller, environment_id: str, deployment_id: str, service_id: str | None = None
) -> list[dict[str, Any]]:
    """The reports of a deployment, oldest first; with ``service_id`` those about an application and what it owns.

    Raises `NotFound`, `Invalid` for a deployment of another environment.
    """
    found = queries.get(caller, environment_id)
    task = Task.objects.filter(id=deployment_id).first() if known_id(deployment_id) else None
    if task is None or task.kind not in KINDS or not caller.sees(task.project_id):
        raise NotFound(Text("The resource could not be found."))
    if task.environment_id != found.id:
        raise Invalid(Text("The deployment belongs to another environment."))
    rows = log.lines(task.id).filter(kind="report")
    if service_id is not None:
        rows = rows.filter(entity_id__in=_family((task.spec or {}).get("model"), service_id))
    last, more = log.within(rows.reverse(), MOST, log.UNPAGED)
    for row in last:
        if row.key in (f'"{log.BEGIN}', f'"{log.END}'):
            row.text, row.details = _own_report(task, begin=row.key == f'"{log.BEGIN}'), None
    listed = [described_report(row) for row in reversed(last)]
    if more:  # there are no pages: clients read all of them each time, and want the newest
        text = f"Earlier reports are left out here, as they are too many or too long: GET /v2/tasks/{task.id}/log"
        listed[0] = {**listed[0], "text": text, "details": None, "level": "warning"}
    return listed


def _own_report(task: Task, *, begin: bool) -> str:
    """What the reports of a deployment begin and end with for clients of /v1, who look for these words (API.md 8):
    everything is an action there, and every action a deployment. People read others (`completion`)."""
    if begin:
        if task.kind == "destroy":
            return "Deletion of the environment is scheduled"
        return f"Action {(task.spec or {}).get('method') or 'deploy'} is scheduled"
    if task.errors:
        return "Deployment finished with errors"
    return "Deployment finished with warnings" if task.warnings else "Deployment finished"


def described_report(row: Report) -> dict[str, Any]:
    """A report as the API shows it."""
    return {
        "id": row.id,
        "task_id": row.task_id,
        "entity_id": row.entity_id or None,
        "entity": None,
        "text": row.text,
        "details": row.details,
        "level": row.level,
        "created": stamp(row.created),
        "updated": stamp(row.created),
    }


def last_statuses(caller: Caller, environment_id: str, session_id: str = "") -> dict[str, dict[str, Any] | None]:
    """Id of each application -> the newest report about it or what it owns, or None."""
    found = queries.get(caller, environment_id, model=True)
    listed = applications_of(drafts.root_for(caller, found, session_id))
    owners: dict[str, str] = {}
    for service in listed:
        own = id_of(service)
        if own is not None:
            for obj in objects(service):
                owners.setdefault(str(id_of(obj)), str(own))
    newest: dict[str, dict[str, Any] | None] = dict.fromkeys(owners.values())
    tasks = Task.objects.filter(environment_id=found.id, kind__in=KINDS).values("id")
    rows = Report.objects.filter(task__in=tasks, kind="report", entity_id__in=list(owners))
    # The database finds the last one of each object: an application may have told of itself ten thousand times.
    last = rows.order_by().values("entity_id").annotate(last=Max("seq")).values("last")
    for row in Report.objects.filter(seq__in=last).order_by("seq") if owners else ():
        newest[owners[row.entity_id]] = described_report(row)
    return newest


def _family(model: Any, service_id: str) -> list[str]:
    return [str(id_of(item)) for item in objects(find((model or {}).get("Objects"), service_id))]


def _message(error: Mapping[str, Any]) -> str:
    return text_of(error)


def _details(error: Mapping[str, Any]) -> str:
    """The failure as text: the message, then the calls that led there, outermost first."""
    names = error.get("names") or ()
    lines = [f"{names[0]}: {error.get('message')}" if names else str(error.get("message") or "")]
    if error.get("hint"):
        lines.append(f"Hint: {error['hint']}")
    frames = error.get("frames") or ()
    if frames:
        lines.append("Traceback (most recent call last):")
    for frame in frames:
        lines.append(
            f'  File "{frame.get("file")}", line {frame.get("line")}:{frame.get("column")}'
            f" in method {frame.get('method')} of type {frame.get('class')}"
        )
        if frame.get("instruction"):
            lines.append(f"      {frame['instruction']}")
    return "\n".join(lines)
