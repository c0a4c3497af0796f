"""The cloud: which driver and why, and its servers by environment, with console, start and stop."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse

from vetro.server.caller import Caller
from vetro.server.operations import cloud
from vetro.server.setup import config
from vetro.server.web.page import page, render
from vetro.server.web.views.people.changes import paged


@page(rule="operate")
def show(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Servers of all environments, those of one together; ``q``: only whose names hold this."""
    words = request.GET.get("q", "").strip()[:255]
    found = cloud.shown(config())
    rows = [server for server in found.servers if words.lower() in _names(server)]
    listed = paged(rows, request.GET.get("page"))
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for server in listed["rows"]:
        groups.setdefault((server["environment_id"], server["environment"], server["project"]), []).append(server)
    given = request.GET.copy()
    given.pop("page", None)
    context = {"tab": "cloud", "cloud": found, "groups": list(groups.items()), "matching": len(rows), "q": words}
    return render(request, "operation/cloud.html", {**listed, **context, "query": given.urlencode()})


def _names(server: dict[str, Any]) -> str:
    return " ".join([server["name"], server["environment"], server["project"], *server["addresses"]]).lower()
