"""The draft: what it changes against what is deployed; taking changes back."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.model.differences import diff, tidied
from vetro.server.caller import Caller
from vetro.server.catalog.secret_names import as_diff
from vetro.server.environments import components, history, limits, lookup, redaction, sessions
from vetro.server.environments.models import Session, State
from vetro.server.errors import Conflict
from vetro.server.web import drafts
from vetro.server.web.environment_page import EnvironmentPage, open_page, shown_changes
from vetro.server.web.page import go, missing, page, render
from vetro.server.web.views.catalog import into, recent


@page(rule="show_environment")
def show(request: HttpRequest, caller: Caller, environment: str) -> HttpResponse:
    """What deploying would change."""
    env_page = open_page(caller, environment)
    context = env_page.shell(
        "changes",
        changes=shown_changes(env_page.changes, env_page.labels()),
        others=drafts.of_others(caller, env_page.found),
        old=[_old(env_page, row) for row in drafts.outdated(caller, env_page.found)],
        watched=True,
        **env_page.ways(),
    )
    part = request.headers.get("HX-Target") == "live"
    return render(request, "environments/changes_part.html" if part else "environments/changes.html", context)


def _old(env_page: EnvironmentPage, session: Session) -> dict[str, Any]:
    """A draft that went stale, with what it was to change."""
    state = State.objects.filter(environment_id=env_page.id, number=session.version).first()
    before = state.model.get("Objects") if state is not None else None
    after = (session.draft or {}).get("Objects")
    limits.check_comparable(before, after)
    secrets = redaction.of_roots(env_page.caller, env_page.found, before, after)
    items = tidied(diff(before, after, as_diff(secrets)))
    return {"session": session, "changes": shown_changes(items, {})}


@page(rule="update_environment")
def choose(request: HttpRequest, caller: Caller, environment: str) -> HttpResponse:
    """Leads to the catalog, which then is about adding to this environment."""
    recent.note_environment(request, lookup.environment(caller, environment))
    return go(request, f"/app/catalog/?{into.query_of(environment)}")


@page("POST", rule="update_environment")
def remove(request: HttpRequest, caller: Caller, environment: str, component: str) -> HttpResponse:
    """Takes a component out of the draft."""
    session = drafts.wanted(caller, open_page(caller, environment).id)
    components.remove(caller, environment, session.id, component)
    messages.success(request, _("The application is removed from the draft. It exists until you deploy."))
    return go(request, f"/app/environments/{environment}/")


@page("POST", rule="update_environment")
def undo(request: HttpRequest, caller: Caller, environment: str) -> HttpResponse:
    """Takes back the changes of one object, or all of them."""
    env_page = open_page(caller, environment)
    draft = _draft(env_page)
    one = request.POST.get("object", "")
    history.discard(caller, environment, draft.id, one or None)
    if not one:
        sessions.close(caller, environment, draft.id)
        messages.success(request, _("All changes are discarded."))
    where = "" if request.POST.get("from") == "components" else "changes"
    return go(request, f"/app/environments/{environment}/{where}")


@page("POST", rule="update_environment")
def drop(request: HttpRequest, caller: Caller, environment: str) -> HttpResponse:
    """Throws away a draft that went stale."""
    env_page = open_page(caller, environment)
    wanted = request.POST.get("session", "")
    if wanted not in {row.id for row in drafts.outdated(caller, env_page.found)}:
        raise missing(_("draft"))
    sessions.close(caller, environment, wanted)
    return go(request, f"/app/environments/{environment}/changes")


def _draft(env_page: EnvironmentPage) -> Session:
    if env_page.session is None or env_page.found.busy:
        raise Conflict(_("There is no draft to change."), hint=_("A task may be working on the environment."))
    return env_page.session
