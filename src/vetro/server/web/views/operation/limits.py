"""The quotas of all projects: what is nearly used up, with the way to change it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse

from vetro.server.caller import Caller
from vetro.server.operations import quotas
from vetro.server.web.page import page, render
from vetro.server.web.views.people.quotas import NAMES

#: Projects of a page, and quotas of a project that are shown at first.
AT_ONCE, FEW = 20, 3


@page(rule="operate")
def show(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Projects by name, with the quotas that are used most."""
    words, after = (request.GET.get(name, "").strip()[:255] for name in ("q", "after"))
    found, total = quotas.of_projects(caller, search=words, after=after, most=AT_ONCE)
    rows = [(project, [_row(quota) for quota in project.quotas[:FEW]]) for project in found]
    context: dict[str, Any] = {"tab": "quotas", "rows": rows, "total": total, "q": words, "after": after}
    if len(found) == AT_ONCE:
        context["next"] = urlencode({"after": found[-1].name, **({"q": words} if words else {})})
    return render(request, "operation/quotas.html", context)


def _row(quota: dict[str, Any]) -> dict[str, Any]:
    part = quotas.part(quota)
    much = part is not None and part >= quotas.MUCH
    return {**quota, "title": NAMES[quota["name"]], "part": part, "much": much}
