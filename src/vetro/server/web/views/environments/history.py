"""The past of an environment: its states, what differs between any two, going back to one."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.model.differences import tidied
from vetro.model.environment import root_of
from vetro.model.header import id_of, label_of
from vetro.model.tree import objects
from vetro.server.accounts.models import User
from vetro.server.accounts.policy import allows
from vetro.server.caller import Caller
from vetro.server.catalog.secret_names import as_diff
from vetro.server.environments import history as past
from vetro.server.environments import plan as planning
from vetro.server.environments import redaction
from vetro.server.environments.models import State
from vetro.server.web.environment_page import open_page, shown_changes
from vetro.server.web.model_texts import time_of
from vetro.server.web.page import go, page, render
from vetro.server.web.views.environments.listing import AT_ONCE, kind_of


@page(rule="show_history")
def history(request: HttpRequest, caller: Caller, environment: str) -> HttpResponse:
    """The states, newest first; two of them can be chosen for a comparison."""
    env_page = open_page(caller, environment)
    before = _number(request.GET.get("before"))
    rows = past.states(caller, environment, before=before, limit=AT_ONCE + 1)
    names = dict(User.objects.filter(id__in={row["user_id"] for row in rows}).values_list("id", "username"))
    states = [
        {
            **row,
            "user": names.get(row["user_id"], ""),
            "at": time_of(row["created"]),
            "what": kind_of(row["kind"] or "", None),
        }
        for row in rows[:AT_ONCE]
    ]
    context = env_page.shell(
        "history",
        states=states,
        further=states[-1]["number"] if len(rows) > AT_ONCE else None,
        newest=env_page.found.version,
        previous=states[1]["number"] if len(states) > 1 else None,
        paged=before is not None,
    )
    return render(request, "environments/history.html", context)


@page(rule="show_history")
def compare(request: HttpRequest, caller: Caller, environment: str) -> HttpResponse:
    """What changed from one state to another."""
    env_page = open_page(caller, environment)
    newer = _number(request.GET.get("to"))
    newer = env_page.found.version if newer is None else newer
    older = _number(request.GET.get("from"))
    older = max(newer - 1, 0) if older is None else older
    if older > newer:
        older, newer = newer, older
    roots = [root_of(past.state(caller, environment, number)) for number in (older, newer)]
    secrets = redaction.of_roots(caller, env_page.found, *roots)
    labels = {str(id_of(obj)): label_of(obj) for root in roots for obj in objects(root)}
    items = tidied(past.compare(caller, environment, older, newer, as_diff(secrets)))
    numbers: Any = State.objects.filter(environment_id=environment).order_by("-number")
    context = env_page.shell(
        "history",
        changes=shown_changes(items, labels),
        older=older,
        newer=newer,
        numbers=list(numbers.values_list("number", flat=True)[:1000]),
    )
    return render(request, "environments/compare.html", context)


@page("POST", rule="update_environment")
def restore(request: HttpRequest, caller: Caller, environment: str, number: int) -> HttpResponse:
    """A new draft that is an earlier state, with its packages; then its plan, which asks whether to deploy it."""
    before = open_page(caller, environment)
    session = past.restore(caller, environment, number)
    messages.success(request, _("State %s is your draft now, with the packages that it had.") % number)
    if before.session is not None and before.changes and not before.found.busy:
        messages.info(request, _("The draft that you had is set aside. Discard this one to come back to it."))
    if not allows(caller, "plan_environment"):
        return go(request, f"/app/environments/{environment}/changes")
    task = planning.plan(caller, environment, session.id)
    return go(request, f"/app/environments/{environment}/plans/{task.id}")


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 19 else None
