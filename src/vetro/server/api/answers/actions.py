"""Actions: what objects offer, and calling them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from vetro.server.api.answers.tasks import task_json
from vetro.server.api.paging import page
from vetro.server.caller import Caller
from vetro.server.environments import deploy, limits, lookup, offered_actions
from vetro.server.tasks.models import Task


def list_actions(caller: Caller, environment_id: str) -> dict[str, Any]:
    """The actions of all objects, as the last deployment left them."""
    items = []
    for item in offered_actions.actions(caller, lookup.environment(caller, environment_id)):
        about = {"methods": item["name"]} | {k: item[k] for k in ("version", "package") if item[k]}
        items.append({**item, "schema": f"/v2/schemas/{quote(item['class'])}?{urlencode(about)}"})
    return page(items, len(items))


def call_action(
    caller: Caller, environment_id: str, action_id: str, *, args: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Calls an action of an object: its task. It is a deployment of its own: other drafts are stale afterwards."""
    lookup.environment(caller, environment_id)
    limits.check_depth(args or {}, "args")
    task_id = deploy.call_action(caller, environment_id, action_id, dict(args or {}))
    return task_json(Task.objects.get(id=task_id))
