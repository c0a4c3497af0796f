"""The list of environments, making one, and the deployments of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.db.models import Exists, Max, OuterRef
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.server.accounts.models import User
from vetro.server.accounts.policy import allows
from vetro.server.caller import Caller
from vetro.server.catalog.inspection.protocol import content_of
from vetro.server.environments import deployments as deployed
from vetro.server.environments import imports, offers, service, simulation
from vetro.server.environments import search as environments
from vetro.server.environments.errors import ResourcesElsewhere
from vetro.server.environments.limits import known_id
from vetro.server.environments.models import Environment
from vetro.server.errors import Invalid, ServiceError
from vetro.server.language import translated
from vetro.server.tasks.models import Task
from vetro.server.watch import queries as watch
from vetro.server.web.environment_page import last_event, open_page
from vetro.server.web.environment_state import states_of
from vetro.server.web.environment_summary import Summary, summaries
from vetro.server.web.logos import logos_of
from vetro.server.web.page import go, page, render
from vetro.yaql.errors import VetroError

#: Rows of a page.
AT_ONCE = 50
#: How tasks end that went wrong.
_FAILED = ("failed", "killed", "diverged")


@page(rule="list_environments")
def listing(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The environments of the project, with search, filter by state, sorting and paging."""
    seen = last_event()
    search = request.GET.get("q", "").strip()[:255]
    state = request.GET.get("state", "")
    sort = request.GET.get("sort", "name")
    if sort not in ("name", "-changed", "-created"):
        sort = "name"
    wanted: dict[str, Any] = {"search": search, "in_text": True, "status": state}
    matching = environments.count(caller.project_id, **wanted)
    number = page_number(request.GET.get("page"), matching)
    rows = environments.part(caller.project_id, **wanted, sort=sort, skip=(number - 1) * AT_ONCE, most=AT_ONCE)
    told, newer = watch.of_environments([row.id for row in rows]), offers.of_environments([row.id for row in rows])
    words, part = states_of(rows), request.headers.get("HX-Target") == "list"
    summed, failed = summaries(caller, rows, look=part), _failed_last([row.id for row in rows])
    logos = logos_of(caller, {kind for one in summed.values() if one is not None for kind, _name in one.applications})
    context = {
        "rows": [
            (row, words[row.id], told.get(row.id), newer.get(row.id, ()), _shown(summed[row.id], logos), failed.get(id))
            for id, row in ((row.id, row) for row in rows)
        ],
        "unlooked": any(one is None for one in summed.values()), "part": part,
        "simulated_ids": simulation.of_environments([row.id for row in rows]),
        "any": matching > 0 or Environment.objects.filter(project_id=caller.project_id).exists(),
        "matching": matching, "q": search, "state": state, "states": environments.STATUSES, "sort": sort,
        "page": number, "pages": pages_of(matching), "query": _query(request, "page"),
        "may_create": allows(caller, "create_environment"), "seen": seen,
        "may_power": allows(caller, "power_environment"), "may_delete": allows(caller, "delete_environment"),
        "sorts": [("name", _("Name")), ("-changed", _("Last changed")), ("-created", _("Newest"))],
    }  # fmt: skip
    return render(request, "environments/rows.html" if part else "environments/listing.html", context)


def _shown(summary: Summary | None, logos: Mapping[str, str]) -> dict[str, Any] | None:
    """A summary for the template: applications with their pictures."""
    if summary is None:
        return None
    icons = [(name, logos.get(kind, "")) for kind, name in summary.applications]
    return {"icons": icons, "more": summary.count - len(icons), "summary": summary}


def _failed_last(ids: Sequence[str]) -> dict[str, tuple[str, datetime]]:
    """Environment -> the task that failed last in it, and when. Two statements, however many failed."""
    rows = Task.objects.filter(environment_id__in=ids, state__in=_FAILED, finished__isnull=False)
    newest: dict[str, datetime] = dict(rows.order_by().values_list("environment_id").annotate(Max("finished")))
    found = rows.filter(finished__in=set(newest.values())).values_list("environment_id", "id", "finished")
    return {id: (task, at) for id, task, at in found if at is not None and newest[id] == at}


@page("GET", "POST", rule="create_environment")
def new(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Makes an environment, empty."""
    context: dict[str, Any] = {"name": "", "description": "", "package": _package(request)}
    if request.method == "POST":
        context |= {"name": request.POST.get("name", ""), "description": request.POST.get("description", "")}
        try:
            made = service.create(caller, {"name": context["name"], "description_text": context["description"]})
        except ServiceError as error:
            return render(request, "environments/new.html", {**context, "problem": error}, error.status)
        onward = f"add/{context['package']}" if context["package"] else ""
        return go(request, f"/app/environments/{made['id']}/{onward}")
    return render(request, "environments/new.html", context)


@page("GET", "POST", rule="create_environment")
def bring(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Makes an environment of an archive that was exported."""
    context: dict[str, Any] = {"name": request.POST.get("name", ""), "how": request.POST.get("how", "fresh")}
    if request.method == "POST":
        try:
            archive = request.FILES.get("archive")
            if archive is None:
                raise Invalid(_("Choose the archive."))
            made = imports.import_environment(
                caller, content_of(archive), name=context["name"].strip() or None, fresh=context["how"] != "exact"
            )
        except VetroError as error:
            status = error.status if isinstance(error, ServiceError) else 400
            if isinstance(error, ResourcesElsewhere):
                error.hint = _("Choose “%s”.") % _("A draft with the same applications: nothing counts as deployed")
            return render(request, "environments/bring.html", {**context, "problem": error}, status)
        for note in made["notes"]:
            messages.warning(request, translated(note))
        return go(request, f"/app/environments/{made['environment_id']}/")
    return render(request, "environments/bring.html", context)


@page(rule="list_deployments_all_environments")
def deployments(request: HttpRequest, caller: Caller) -> HttpResponse:
    """What was done in all environments of the project, newest first."""
    seen = last_event()
    there = Exists(Environment.objects.filter(id=OuterRef("environment_id")))
    rows = Task.objects.filter(there, project_id=caller.project_id, kind__in=deployed.WORK)
    total = rows.count()
    number = page_number(request.GET.get("page"), total)
    listed = rows.order_by("-created", "-id").values(*TASK_FIELDS)[(number - 1) * AT_ONCE : number * AT_ONCE]
    tasks = told_tasks(list(listed))
    names = dict(
        Environment.objects.filter(id__in={task["environment_id"] for task in tasks}).values_list("id", "name")
    )
    for task in tasks:
        task["environment"] = names.get(task["environment_id"], "")
    context = {"tasks": tasks, "page": number, "pages": pages_of(total), "query": "", "seen": seen}
    part = request.headers.get("HX-Target") == "list"
    return render(request, "environments/deployments_part.html" if part else "environments/deployments.html", context)


@page(rule="list_deployments")
def of_one(request: HttpRequest, caller: Caller, environment: str) -> HttpResponse:
    """What was done in one environment, newest first."""
    env_page = open_page(caller, environment)
    rows = Task.objects.filter(environment_id=env_page.id, kind__in=(*deployed.WORK, "snapshot"))
    total = rows.count()
    number = page_number(request.GET.get("page"), total)
    listed = rows.order_by("-created", "-id").values(*TASK_FIELDS)[(number - 1) * AT_ONCE : number * AT_ONCE]
    context = env_page.shell(
        "deployments", tasks=told_tasks(list(listed)), page=number, pages=pages_of(total), watched=True
    )
    part = request.headers.get("HX-Target") == "live"
    return render(request, "environments/tasks_part.html" if part else "environments/tasks.html", context)


#: Columns of tasks that lists show.
TASK_FIELDS = (
    "id", "kind", "state", "environment_id", "user_id", "warnings", "errors", "cancel", "created", "started",
    "finished", "action",
)  # fmt: skip


def told_tasks(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of tasks with the names of people, what they do in words, and how long it took."""
    names = dict(User.objects.filter(id__in={task["user_id"] for task in tasks}).values_list("id", "username"))
    simulated = simulation.of_environments([task["environment_id"] for task in tasks])
    for task in tasks:
        task["simulated"] = task["environment_id"] in simulated
        task["user"] = names.get(task["user_id"], task["user_id"])
        task["what"] = kind_of(task["kind"], task["action"])
        begun, ended = task["started"] or task["created"], task["finished"]
        task["seconds"] = round((ended - begun).total_seconds(), 1) if ended is not None else None
    return tasks


def kind_of(kind: str, action: Any) -> str:
    """What a task does, in words."""
    if kind == "action":
        name = (action or {}).get("method")
        return _("Action %s") % name if name else _("Action")
    if kind == "power":
        words = {"start": _("Start of servers"), "stop": _("Stop of servers"), "restart": _("Restart of servers")}
        return str(words.get((action or {}).get("method") or "", kind))
    if kind == "snapshot":
        words = {"make": _("Snapshot"), "restore": _("Way back"), "drop": _("End of the way back")}
        return str(words.get((action or {}).get("method") or "", _("Snapshot")))
    words = {"deploy": _("Deployment"), "destroy": _("Deletion"), "plan": _("Plan"), "repair": _("Repair")}
    return str({**words, "undo": _("Taken back")}.get(kind, kind))


def page_number(text: str | None, total: int) -> int:
    """The page that is asked for, within those that there are."""
    wanted = int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 9 else 1
    return max(1, min(wanted, pages_of(total)))


def pages_of(total: int) -> int:
    """How many pages a list has."""
    return max(1, -(-total // AT_ONCE))


def _query(request: HttpRequest, *without: str) -> str:
    given = request.GET.copy()
    for name in without:
        given.pop(name, None)
    return given.urlencode()


def _package(request: HttpRequest) -> str:
    """Id of the package that is to be added to the new environment."""
    target = request.POST.get("package") or request.GET.get("package") or ""
    return target if known_id(target) and target.isalnum() else ""
