"""How an environment and its components are, and what changed."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from vetro.server.caller import Caller
from vetro.server.environments import lookup
from vetro.server.watch import drift, metrics
from vetro.server.watch import queries as watch
from vetro.server.watch import repair as repairs
from vetro.server.web.environment_page import open_page
from vetro.server.web.page import go, page, render


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
    told = drift.of(env_page.found) if env_page.found.version else None
    context = env_page.shell(
        "health", drift=told, components=components, changes=changes, watched=True, metrics=measured
    )
    part = request.headers.get("HX-Target") == "live"
    return render(request, "environments/health_part.html" if part else "environments/health.html", context)


@page("POST", rule="update_environment")
def repair(request: HttpRequest, caller: Caller, environment: str) -> HttpResponse:
    """Plans a repair, begins it, or says what happens when the environment is not as it was left."""
    lookup.environment(caller, environment)
    if how := request.POST.get("how"):
        repairs.choose(caller, environment, how)
        return go(request, f"/app/environments/{environment}/health")
    if request.POST.get("plan"):
        task = repairs.planned(caller, environment)
        return go(request, f"/app/environments/{environment}/plans/{task.id}")
    return go(request, f"/app/environments/{environment}/tasks/{repairs.repaired(caller, environment).id}/")
