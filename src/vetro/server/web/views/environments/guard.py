"""Updates with a way back: how one stands, what taking it back would do, taking it back and keeping it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.diagnostics import decode_messages
from vetro.model.differences import tidied
from vetro.model.environment import root_of
from vetro.model.header import id_of, label_of
from vetro.model.tree import objects
from vetro.server.accounts.policy import allows
from vetro.server.caller import Caller
from vetro.server.catalog.secret_names import as_diff
from vetro.server.environments import history as past
from vetro.server.environments import lookup, redaction
from vetro.server.errors import Conflict
from vetro.server.procedures import service
from vetro.server.procedures.models import Procedure
from vetro.server.web.environment_page import EnvironmentPage, open_page, shown_changes
from vetro.server.web.page import go, missing, page, render


@page(rule="show_environment")
def show(request: HttpRequest, caller: Caller, environment: str, procedure: str) -> HttpResponse:
    """One update: its steps, and what taking it back would do."""
    env_page = open_page(caller, environment)
    row = _procedure(caller, environment, procedure)
    context = env_page.shell(
        "changes",
        shown=shown(row),
        steps=[{**step, "error": decode_messages(step["error"] or {})} for step in service.tasks_of(row)],
        may_undo=allows(caller, "undo_environment"),
        back=_back(env_page, row),
        watched=True,
    )
    part = request.headers.get("HX-Target") == "live"
    return render(request, "environments/guard_part.html" if part else "environments/guard.html", context)


@page("POST", rule="undo_environment")
def decide(request: HttpRequest, caller: Caller, environment: str, procedure: str) -> HttpResponse:
    """Takes the update back, or keeps it, as the button says."""
    lookup.environment(caller, environment)
    row = _procedure(caller, environment, procedure)
    active = service.active(environment)
    if active is None or active.id != row.id:
        raise Conflict(_("This update has ended already."))
    if request.POST.get("do") == "keep":
        service.keep(caller, environment)
        messages.success(request, _("What the update made stays."))
    else:
        service.undo(caller, environment)
        messages.success(request, _("The update is taken back."))
    return go(request, f"/app/environments/{environment}/updates/{procedure}")


def shown(row: Procedure) -> dict[str, Any]:
    """A procedure as templates show it."""
    return {
        "id": row.id,
        "step": row.step,
        "final": row.finished is not None,
        "reason": decode_messages(row.about.get("reason") or {}).get("text") or "",
        "unwell": row.record.get("unwell") or {},
        "until": service.until(row),
        "upgrade": sorted(row.about["upgrade"].items()),
        "losses": row.about["losses"],
        "parts": service.parts_of(row),
        "together": bool(row.record.get("together")),
        "held": row.about.get("held") or [],
        "before": row.before_state,
        "update": row.update_state,
        "undo": row.undo_state,
        "created": row.created,
        "undoable": service.can_be_undone(row),
        "keepable": service.can_be_kept(row),
    }


def _procedure(caller: Caller, environment: str, id: str) -> Procedure:
    row = service.get(caller, id)
    if row.environment_id != environment:
        raise missing(_("update"))
    return row


def _back(env_page: EnvironmentPage, row: Procedure) -> dict[str, Any] | None:
    """What taking it back would change: {states, changes}; None where that cannot be done."""
    if not service.can_be_undone(row) or not allows(env_page.caller, "show_history"):
        return None
    newer, older = env_page.found.version, row.before_state
    if newer == older:
        return {"states": [], "changes": []}
    roots = [root_of(past.state(env_page.caller, env_page.id, number)) for number in (newer, older)]
    secrets = redaction.of_roots(env_page.caller, env_page.found, *roots)
    labels = {str(id_of(obj)): label_of(obj) for root in roots for obj in objects(root)}
    items = tidied(past.compare(env_page.caller, env_page.id, newer, older, as_diff(secrets)))
    return {"states": list(range(older + 1, newer + 1)), "changes": shown_changes(items, labels)}
