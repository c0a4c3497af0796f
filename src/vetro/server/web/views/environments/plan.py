"""The plan: what deploying the draft would do. A task finds it out; nothing outside changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.diagnostics import decode_messages
from vetro.model.differences import contains_only
from vetro.server.caller import Caller
from vetro.server.environments import plan as planning
from vetro.server.environments import sessions
from vetro.server.tasks import queue
from vetro.server.tasks.models import Task
from vetro.server.web.environment_page import LOOKS, EnvironmentPage, open_page, shown_change
from vetro.server.web.page import go, missing, page, render
from vetro.yaql.redact import MASK


@page("POST", rule="plan_environment")
def begin(request: HttpRequest, caller: Caller, environment: str) -> HttpResponse:
    """Starts the plan of the person's draft, or of the environment as it is."""
    env_page = open_page(caller, environment)
    draft = sessions.newest_draft(caller, env_page.found)
    task = planning.plan(caller, environment, draft.id if draft is not None else "")
    return go(request, f"/app/environments/{environment}/plans/{task.id}")


@page(rule="show_task")
def show(request: HttpRequest, caller: Caller, environment: str, task: str) -> HttpResponse:
    """A plan, or that it is still being made."""
    env_page = open_page(caller, environment)
    row = queue.get(caller, task)
    if row.kind != "plan" or (row.spec or {}).get("environment") != environment:
        raise missing(_("plan"))
    plan: Any = decode_messages(row.result) if row.state == "done" and isinstance(row.result, dict) else None
    repair = (row.action or {}).get("method") == "repair"
    draft = env_page.session.id if env_page.session is not None and not repair else ""
    context = env_page.shell(
        "changes",
        task=row,
        error=decode_messages(row.error),
        final=row.state in Task.FINAL,
        watched=f"task={row.id}",  # plans hold up no environment, so they are not among its events
        repair=repair,
        plan=shown_plan(env_page, plan) if plan is not None else None,
        current=not env_page.found.busy and row.session_id == draft and (repair or _unchanged(env_page, row)),
    )
    # Its own buttons stand below, so the head has none of them.
    context |= {"planned": not repair, **env_page.ways(plan is not None and context["current"] and not repair)}
    part = request.headers.get("HX-Target") == "live"
    return render(request, "environments/plan_part.html" if part else "environments/plan.html", context)


def _unchanged(env_page: EnvironmentPage, row: Task) -> bool:
    """Whether the draft is as it was when the plan was begun."""
    return env_page.session is None or env_page.session.updated <= row.created


def shown_plan(env_page: EnvironmentPage, plan: Mapping[str, Any]) -> dict[str, Any]:
    """A plan as `web/environments/plan_text.html` shows it."""
    labels = {**env_page.labels(), **{item["id"]: item["name"] for item in plan["objects"] if item["name"]}}
    masked = [_masked(env_page, item) for item in plan["objects"]]
    objects = [shown_change(item, labels) for item in masked if item["properties"] or item["what"] != "changed"]
    counts = {what: sum(1 for item in objects if item["what"] == what) for what in ("created", "changed", "destroyed")}
    return {**outside(plan), "objects": objects, "counts": counts}


def outside(plan: Mapping[str, Any]) -> dict[str, Any]:
    """A plan whose stacks and resources have colours and pictures."""

    def looking(item: Mapping[str, Any]) -> dict[str, Any]:
        colour, icon = LOOKS[item["what"]][:2]
        return {**item, "colour": colour, "icon": icon}

    stacks = [{**looking(stack), "resources": list(map(looking, stack["resources"]))} for stack in plan["stacks"]]
    return {**plan, "stacks": stacks}


def _masked(env_page: EnvironmentPage, item: Mapping[str, Any]) -> dict[str, Any]:
    """One object of a plan without the secrets that its class declares: plans mask by name only."""
    names = env_page.secrets(str(item["type"]))
    properties = [
        {**p, "old": p["old"] and MASK, "new": p["new"] and MASK} if p["name"] in names else p
        for p in item["properties"]
        if not contains_only(p["old"], p["new"])
    ]
    return {**item, "properties": properties}
