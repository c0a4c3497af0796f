"""How an environment and its components are, and what changed."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from vetro.server.caller import Caller
from vetro.server.watch import metrics
from vetro.server.watch import queries as watch
from vetro.server.web.environment_page import open_page
from vetro.server.web.page import page, render


@page(rule="show_environment")
def show(request: HttpRequest, caller: Caller, environment: str) -> HttpResponse:
    """The components with their checks, and the newest changes; or the same without the shell, for live updates."""
    env_page = open_page(caller, environment)
    labels = env_page.labels()
    components = [
        {"id": one.id, "name": labels.get(one.id, one.id), "told": one.told, "checks": one.checks}
        for one in env_page.components_health
    ]
    changes = [
        {**row, "name": labels.get(row["component_id"] or "", env_page.found.name)}
        for row in watch.changes(env_page.id, 100)
    ]
    simulated = env_page.health == watch.SIMULATED
    measured = metrics.shown(env_page.id, env_page.found.model or {}, simulated)
    context = env_page.shell("health", components=components, changes=changes, watched=True, metrics=measured)
    part = request.headers.get("HX-Target") == "live"
    return render(request, "environments/health_part.html" if part else "environments/health.html", context)
