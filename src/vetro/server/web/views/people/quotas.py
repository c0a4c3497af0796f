"""Quotas: of one's own project for everybody, with fields to set them for administrators."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from vetro.clouds.quotas import QUOTAS, QuotaInvalid, parsed
from vetro.server.caller import Caller
from vetro.server.errors import Invalid
from vetro.server.operations import quotas
from vetro.server.quotas import service
from vetro.server.web.page import page, render
from vetro.server.web.views.people.changes import done

#: What the quotas are called on pages.
NAMES = {
    "servers": gettext_lazy("Servers"),
    "processors": gettext_lazy("Processors"),
    "memory": gettext_lazy("Memory of servers"),
    "disk": gettext_lazy("Disks of servers"),
    "addresses": gettext_lazy("Floating addresses"),
    "networks": gettext_lazy("Networks"),
    "volumes": gettext_lazy("Volumes"),
    "volume_space": gettext_lazy("Size of volumes"),
    "environments": gettext_lazy("Environments"),
    "packages": gettext_lazy("Packages"),
    "archives": gettext_lazy("Archives of packages"),
    "states": gettext_lazy("States, drafts and templates"),
    "logs": gettext_lazy("Reports and log lines"),
    "tasks": gettext_lazy("Waiting tasks"),
    "notice_targets": gettext_lazy("Targets of notices"),
    "notice_rules": gettext_lazy("Rules of notices"),
    "notices": gettext_lazy("Notices in 24 hours"),
    "streams": gettext_lazy("Event streams at once"),
    "bodies": gettext_lazy("Uploads at once"),
}


@page(rule="show_quotas")
def own(request: HttpRequest, caller: Caller) -> HttpResponse:
    """What the own project may have, and has."""
    context = {"rows": rows(caller, caller.project_id), "name": caller.project_name, "tab": "quotas"}
    return render(request, "people/quotas.html", context)


@page(rule="manage_accounts")
def of_project(request: HttpRequest, caller: Caller, project: str) -> HttpResponse:
    """The same of any project, to be changed."""
    id = service.project_named(project)
    context = {
        "rows": rows(caller, id), "name": service.name_of(id), "tab": "projects",
        "target": f"/app/people/projects/{id}/quotas/set",
    }  # fmt: skip
    return render(request, "people/quotas.html", context)


@page("POST", rule="manage_accounts")
def change(request: HttpRequest, caller: Caller, project: str) -> HttpResponse:
    """Sets the limits that were typed; an empty field gives the project that of the settings."""
    id = service.project_named(project)

    def act() -> None:
        texts = {name: request.POST[name].strip() or "default" for name in QUOTAS if name in request.POST}
        try:
            wanted = parsed(texts)
        except QuotaInvalid as error:
            raise Invalid(error.message) from None
        before = {row["name"]: row for row in service.shown(caller, id)}
        service.change(caller, id, {name: value for name, value in wanted.items() if _differs(before[name], value)})

    return done(request, f"/app/people/projects/{id}/quotas", _("The limits are saved."), act)


def rows(caller: Caller, project_id: str) -> list[dict[str, Any]]:
    """Quotas with their names, hundredths in use, and what stands in the field of each."""
    made = []
    for row in service.shown(caller, project_id):
        limit = row["limit"]
        part = quotas.part(row)
        field = "" if not row["own"] else "none" if limit is None else str(limit)
        made.append({**row, "title": NAMES[row["name"]], "part": part, "much": part is not None and part >= quotas.MUCH,
                     "field": field})  # fmt: skip
    return made


def _differs(row: dict[str, Any], value: int | None) -> bool:
    """Whether a typed limit is another one than there is."""
    if value is None:
        return bool(row["own"])
    return not row["own"] or value != (-1 if row["limit"] is None else row["limit"])
