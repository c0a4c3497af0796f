"""Impact: what a version would change in the environments that use an older one, before it is published or adopted."""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from vetro.diagnostics import decode_messages
from vetro.server.accounts.policy import allows
from vetro.server.caller import Caller
from vetro.server.catalog import service as catalog
from vetro.server.catalog.models import Package
from vetro.server.errors import Invalid
from vetro.server.impact import groups
from vetro.server.impact import service as impacts
from vetro.server.impact.models import Impact
from vetro.server.web.environment_page import open_page
from vetro.server.web.marked_names import marked
from vetro.server.web.page import go, missing, page, render
from vetro.server.web.views.environments.plan import shown_plan
from vetro.server.web.views.packages.package import shell

#: Group -> what it is called, colour, icon.
_LOOKS: Final = {
    groups.SAME: (gettext_lazy("Nothing changes"), "success", "check-circle"),
    groups.CHANGES: (gettext_lazy("Changed in place"), "info", "pencil"),
    groups.REPLACES: (gettext_lazy("Servers are replaced"), "warning", "arrow-clockwise"),
    groups.LOSES: (gettext_lazy("Values are lost"), "warning", "exclamation-triangle"),
    groups.ASKS: (gettext_lazy("Questions are asked"), "warning", "question-circle"),
    groups.FAILS: (gettext_lazy("Fails"), "danger", "x-circle"),
    groups.SKIPPED: (gettext_lazy("Not planned"), "secondary", "info-circle"),
}
#: Environments of a group that are named.
_NAMED: Final = 10


@page("GET", "POST", rule="plan_environment")
def show(request: HttpRequest, caller: Caller, package: str) -> HttpResponse:
    """What was found out last, or how far it is; posted: finds out."""
    row = catalog.get_package(caller, package)
    chosen = row.locked()
    problem: Invalid | None = None
    if request.method == "POST":
        everybody = request.POST.get("all") == "1"
        try:
            impacts.start(caller, chosen, all_projects=everybody)
            return go(request, f"/app/packages/{row.id}/impact/")
        except Invalid as error:
            problem = error
    last = impacts.newest(caller, row.digest)
    found = None if last is None else shown(caller, last)
    if request.headers.get("HX-Target", "").startswith("impact-"):
        return render(request, "packages/impact_part.html", {"package": row, "found": found})
    context = shell(caller, row, "impact") | {
        "found": found,
        "problem": problem,
        "count": len(impacts.environments(caller, chosen, all_projects=False)),
        "may_all": allows(caller, "impact_all_projects"),
    }
    return render(request, "packages/impact.html", context, 200 if problem is None else problem.status)


@page(rule="plan_environment")
def plan(request: HttpRequest, caller: Caller, package: str, impact: str, environment: str) -> HttpResponse:
    """What it would do in one environment: its plan with the new version, beside the one that waits anyway."""
    row = catalog.get_package(caller, package)
    told = impacts.plan(caller, impact, environment)
    if impacts.get(caller, impact).digest != row.digest:
        raise missing(_("plan"))
    env_page = open_page(caller, environment)
    plans = {
        side: None if told[side] is None else shown_plan(env_page, decode_messages(told[side]))
        for side in ("old", "new")
    }
    title, colour, icon = _LOOKS[told["group"]] if told["group"] else (_("Not planned"), "secondary", "info-circle")
    context = shell(caller, row, "impact") | {
        "told": told,
        "title": title,
        "colour": colour,
        "icon": icon,
        "reasons": groups.reasons([told["detail"]]),
        "plans": plans,
    }
    return render(request, "packages/impact_plan.html", context)


def after_import(caller: Caller, row: Package) -> dict[str, Any] | None:
    """What a version that has just come would change, which is being found out: {count, found}. None: nobody has an
    older one, or the caller may not plan. ``found`` is None where somebody has to ask."""
    if not (row.usable and row.enabled and allows(caller, "plan_environment")):
        return None
    package = row.locked()
    begun = impacts.start_automatically(caller, package)
    count = len(impacts.environments(caller, package, all_projects=False))
    if begun is None and not count:
        return None
    return {"count": count, "found": None if begun is None else shown(caller, begun)}


def known(caller: Caller, row: Package) -> dict[str, Any] | None:
    """What is known of a version for whoever moves one environment to it: {count, found}. None where the caller may not
    plan, and where no other environment of the project has an older one and nobody asked."""
    if not allows(caller, "plan_environment"):
        return None
    last = impacts.newest(caller, row.digest)
    package = row.locked()
    count = len(impacts.environments(caller, package, all_projects=False))
    if last is None and count < 2:
        return None
    return {"count": count, "found": None if last is None else shown(caller, last)}


def shown(caller: Caller, impact: Impact) -> dict[str, Any]:
    """What was found out so far, as templates show it."""
    told = impacts.describe(caller, impact)
    total = max(told["total"], 1)
    for group in told["groups"]:
        group["title"], group["colour"], group["icon"] = _LOOKS[group["group"]]
        group["more"] = max(len(group["environments"]) - _NAMED, 0)
        group["environments"] = group["environments"][:_NAMED]
        for one in group["environments"]:
            one["name"] = marked(one["name"]) if one["simulated"] else one["name"]
    return {**told, "percent": 100 * told["done"] // total}
