"""Tasks of an environment: deploying, and watching what happens: timeline, log; cancel, retry, decide."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.utils.translation import gettext as _

from vetro.diagnostics import decode_messages
from vetro.model.environment import applications_of, deployed_objects
from vetro.model.header import id_of
from vetro.model.secrets import masked
from vetro.model.tree import users
from vetro.server.accounts.models import User
from vetro.server.accounts.policy import allows
from vetro.server.caller import Caller
from vetro.server.environments import deploy as deploy_rules
from vetro.server.environments import deployments, lookup, queries, reachable_addresses, realize, simulation
from vetro.server.environments.models import Environment, State
from vetro.server.environments.reachable_addresses import Address
from vetro.server.errors import Invalid, NotFound, ServiceError
from vetro.server.language import translated
from vetro.server.procedures import service as procedures
from vetro.server.procedures.errors import LossesUnconfirmed
from vetro.server.procedures.models import of_task
from vetro.server.requests.streams import text_stream
from vetro.server.setup import config
from vetro.server.tasks import log, queue
from vetro.server.tasks.models import Report, Task
from vetro.server.tasks.waits import waits_of
from vetro.server.web import drafts
from vetro.server.web.cures import Cure, cure_of
from vetro.server.web.environment_page import last_event
from vetro.server.web.model_texts import text_of
from vetro.server.web.page import go, missing, page, render
from vetro.server.web.task_timeline import LEVELS, LINES, Story
from vetro.server.web.views.environments.listing import kind_of

#: Addresses that are offered after a deployment.
_OPENED = 3


@page("POST", rule="update_environment")
def deploy(request: HttpRequest, caller: Caller, environment: str) -> HttpResponse:
    """Deploys the draft that the page showed, or the environment as it is once more."""
    lookup.environment(caller, environment)
    # Whoever saw changes means those: when somebody else was faster, she is told so, and nothing else is deployed.
    session = request.POST.get("draft") or drafts.wanted(caller, environment).id
    guard = {"1": True, "0": False}.get(request.POST.get("guard", ""))
    # So do losses: what came to them since the page was shown is told first, and asked again.
    accepted = known_losses(request.POST) if request.POST.get("confirmed") == "1" else None
    said = procedures.Guard(guard, hold=_hold(request.POST.get("hold")), accepted=accepted)
    try:
        return begun(request, environment, procedures.deploy(caller, environment, session, said))
    except LossesUnconfirmed as error:
        messages.warning(request, translated(error.message))
        return go(request, f"/app/environments/{environment}/changes")


def known_losses(given: QueryDict) -> list[str]:
    """What a page said would not come back; browsers write line ends of their own."""
    return [text.replace("\r\n", "\n") for text in given.getlist("known")]


def begun(request: HttpRequest, environment: str, task: Task) -> HttpResponse:
    """To what was begun: a task, or the update with a way back that it is the first task of."""
    procedure = of_task(task.id)
    what = f"tasks/{task.id}/" if procedure is None else f"updates/{procedure}"
    return go(request, f"/app/environments/{environment}/{what}")


def _hold(text: str | None) -> float:
    """Seconds for which the way back stays open, as a form says it."""
    return float(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 9 else 0.0


@page("POST", rule="update_environment")
def make_real(request: HttpRequest, caller: Caller, environment: str) -> HttpResponse:
    """Deploys what is simulated where servers run; then the task is shown."""
    task = realize.realize(caller, lookup.environment(caller, environment))
    return go(request, f"/app/environments/{environment}/tasks/{task.id}/")


@page(rule="show_task")
def show(request: HttpRequest, caller: Caller, environment: str, task: str) -> HttpResponse:
    """The live view of a task; the same page later is its record."""
    seen = last_event()
    row = _task(caller, environment, task)
    part = {"environment_id": environment, "task": row, "final": row.state in Task.FINAL}
    part["waits"] = waits_of(config(), row)
    if request.headers.get("HX-Target") == "waits":
        return render(request, "environments/task_waits.html", part)
    story = Story(row)
    chosen = _chosen(request)
    newest = Environment.objects.filter(id=environment).values_list("task_id", flat=True).first()
    env = _environment(caller, environment)
    there = env is not None
    simulated = bool(simulation.of_environments([environment]))
    timeline = story.timeline()
    context: dict[str, Any] = {
        **part,
        "env": env,
        "seen": seen,
        "what": kind_of(row.kind, row.action),
        "who": User.objects.filter(id=row.user_id).values_list("username", flat=True).first() or row.user_id,
        "timeline": timeline,
        "simulated": simulated,
        "took": _took(row),
        "well": _went_well(row),
        "reached": _reached(caller, environment) if there and newest == row.id and _went_well(row) else [],
        "cure": _cure(caller, row, timeline) if there and newest == row.id else None,
        "error": decode_messages(row.error),
        "result": _result(caller, row),
        "state_number": State.objects.filter(environment_id=environment, task_id=row.id)
        .values_list("number", flat=True)
        .first(),
        "decisions": [
            {**one, "args_text": text_of(masked("", one["args"]))} for one in queue.undecided(caller, row.id)
        ],
        "may_cancel": allows(caller, "cancel_task") and row.state not in Task.FINAL,
        "may_retry": allows(caller, "retry_task")
        and allows(caller, deploy_rules.RULES.get(row.kind, "retry_task"))
        and there
        and newest == row.id
        and row.state in Task.FINAL
        and row.state != "done",
        "may_resolve": allows(caller, "resolve_task"),
    }
    if request.headers.get("HX-Target") == "live":
        return render(request, "environments/task_part.html", context)
    told = story.lines(newest=True, component=chosen[0], levels=chosen[1])
    context |= {
        "lines": told,
        "cut": len(told) == LINES,
        "components": [(id, label) for id, (label, _type) in story.components.items()],
        "component": chosen[0],
        "levels": [(level, level in chosen[1]) for level in LEVELS],
        "query": request.GET.urlencode(),
    }
    return render(request, "environments/task.html", context)


@page(rule="show_task")
def lines(request: HttpRequest, caller: Caller, environment: str, task: str) -> HttpResponse:
    """The lines after number ``after``, as a part of the page."""
    story = Story(_task(caller, environment, task))
    text = request.GET.get("after", "0")
    after = int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0
    component, levels = _chosen(request)
    found = story.lines(after=after, component=component, levels=levels)
    simulated = bool(simulation.of_environments([environment]))
    return render(request, "environments/lines.html", {"lines": found, "simulated": simulated})


@page(rule="show_task")
def download(request: HttpRequest, caller: Caller, environment: str, task: str) -> HttpResponseBase:
    """The whole log as text."""
    row = _task(caller, environment, task)
    story = Story(row)

    def text() -> Iterator[str]:
        for line in log.lines(row.id).iterator(chunk_size=50):
            told = story.line(line)
            name = f" [{told['label']}]" if told["label"] else ""
            yield f"{line.created.isoformat()} {line.level.upper():7}{name} "
            yield from log.whole(line)
            yield "\n"
            yield from (f"    {more}\n" for more in told["details"].splitlines())

    return text_stream(text, f"log-{row.id}.txt", caller.project_id)


@page(rule="show_task")
def line(request: HttpRequest, caller: Caller, environment: str, task: str, seq: int) -> HttpResponseBase:
    """One line of the log as it was reported, whole."""
    row = Report.objects.filter(task=_task(caller, environment, task), seq=seq).first() if seq < 1 << 63 else None
    if row is None:
        raise missing(_("line"))
    return text_stream(lambda: log.whole(row), f"line-{seq}.txt", caller.project_id)


@page("POST", rule="cancel_task")
def cancel(request: HttpRequest, caller: Caller, environment: str, task: str) -> HttpResponse:
    """Ends it at the next safe point."""
    queue.cancel(caller, _task(caller, environment, task).id, request.POST.get("reason", "").strip())
    return go(request, f"/app/environments/{environment}/tasks/{task}/")


@page("POST", rule="retry_task")
def retry(request: HttpRequest, caller: Caller, environment: str, task: str) -> HttpResponse:
    """Does again what failed."""
    made = queue.retry(caller, _task(caller, environment, task).id)
    return go(request, f"/app/environments/{environment}/tasks/{made.id}/")


@page("POST", rule="resolve_task")
def resolve(request: HttpRequest, caller: Caller, environment: str, task: str) -> HttpResponse:
    """Says what became of an effect: it was done (with an answer as JSON), or is to be done again."""
    row = _task(caller, environment, task)
    redo = request.POST.get("decision") == "redo"
    text = request.POST.get("answer", "").strip()
    try:
        answer = json.loads(text) if text and not redo else None
    except (ValueError, RecursionError):
        raise Invalid(
            _("The answer is no JSON."), hint=_('Text needs quotes: "done". Leave it empty for none.')
        ) from None
    queue.resolve(caller, row.id, request.POST.get("key", ""), answer=answer, redo=redo)
    return go(request, f"/app/environments/{environment}/tasks/{task}/")


def _task(caller: Caller, environment: str, task: str) -> Task:
    """A task of this environment and the caller's project; it outlives an environment that was deleted."""
    row = queue.get(caller, task)
    if row.environment_id != environment or row.kind not in deployments.WORK:
        raise missing(_("task"))
    return row


def _environment(caller: Caller, environment: str) -> queries.ListedEnvironment | None:
    """The environment; None for one that is gone, at whatever moment it went."""
    try:
        return queries.get(caller, environment)
    except NotFound:
        return None


def _chosen(request: HttpRequest) -> tuple[str, list[str]]:
    """The filter of the log: component and levels."""
    return request.GET.get("component", "")[:255], [level for level in request.GET.getlist("level") if level in LEVELS]


def _went_well(row: Task) -> bool:
    return row.state == "done" and not row.errors and row.kind in ("deploy", "repair", "power")


def _took(row: Task) -> float | None:
    """Seconds from when it was begun to its end."""
    begun = row.started or row.created
    return (row.finished - begun).total_seconds() if row.finished is not None else None


def _reached(caller: Caller, environment: str) -> list[Address]:
    """Where a browser finds what was deployed: first what no other application uses, which is what people look for."""
    try:
        found = queries.get(caller, environment, model=True)
        pages = [one for one in reachable_addresses.of_found(caller, found) if one.url]
        tops = {str(id_of(item)): item for item in applications_of(deployed_objects(found.model or {}))}
        used = {target for own, item in tops.items() for _obj, _name, target in users(item, tops.keys() - {own})}
        return sorted(pages, key=lambda one: one.component_id in used)[:_OPENED]
    except ServiceError:  # its packages cannot be read now: its own page says so
        return []


def _cure(caller: Caller, row: Task, timeline: Sequence[Mapping[str, Any]]) -> Cure | None:
    if not row.error or row.state not in Task.FINAL:
        return None
    failed = [item for item in timeline if item["id"] and item["state"] == "error"]
    failed = failed or [item for item in timeline if item["id"]]  # none said so: it is told where there is but one
    component = (failed[0]["id"], failed[0]["label"]) if len(failed) == 1 else None
    return cure_of(caller, str(row.environment_id), row.error, component)


def _result(caller: Caller, row: Task) -> str:
    """What an action returned, as text."""
    found = queue.result_of(caller, row) if row.kind == "action" and row.state == "done" else None
    if found is None:
        return ""
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False, indent=1)
