"""What one gets of an application: what a plan with the answers that its form begins with makes, and its actions."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse

from vetro.diagnostics import decode_messages
from vetro.packages.texts import authored
from vetro.server.accounts.policy import allows
from vetro.server.caller import Caller
from vetro.server.catalog.package_texts import texts_of
from vetro.server.errors import ServiceError
from vetro.server.forms import dry_run
from vetro.server.language import translated
from vetro.server.tasks.models import Task
from vetro.server.web.page import page, render
from vetro.server.web.views.catalog.application import chosen, versions_of
from vetro.server.web.views.packages import contents

#: Actions that are named: more than what an application of many inherits and has.
_ACTIONS = 40


@page("GET", "POST", rule="get_package")
def gets(request: HttpRequest, caller: Caller, fqn: str) -> HttpResponse:
    """What is known of it; posted: begins to find it out."""
    row = chosen(versions_of(caller, fqn), request.GET.get("version"))
    found = dry_run.begin(caller, row) if request.method == "POST" else dry_run.known(caller, row)
    context: dict[str, Any] = {
        "package": row,
        "may_plan": allows(caller, "plan_environment"),
        "may_try": allows(caller, "use_forms"),
    }
    if found is not None:
        context |= {"missing": found.missing, **(_told(found.task) if found.task is not None else {})}
    context["actions"] = actions_of(caller, row)
    part = request.headers.get("HX-Target") == "get"
    return render(request, "catalog/gets.html" if part else "catalog/gets_page.html", context)


def _told(task: Task) -> dict[str, Any]:
    if task.state not in Task.FINAL:
        return {"waits": True}
    if task.state == "done" and isinstance(task.result, dict):
        return {"gets": dry_run.plan_totals(task)}
    return {"failed": decode_messages(task.error or {}).get("message") or task.state}


def actions_of(caller: Caller, row: Any) -> list[dict[str, str]]:
    """The actions of the class named like the package, inherited ones included: {title, help}."""
    try:
        told = contents.described(caller, row)["actions"]
    except ServiceError:  # the part about its form says so
        return []
    texts = texts_of([row])
    return [
        {
            "title": translated(authored(item["words"].get("title") or item["name"], texts)),
            "help": translated(authored(item["words"].get("help") or "", texts)),
        }
        for item in told[:_ACTIONS]
    ]
