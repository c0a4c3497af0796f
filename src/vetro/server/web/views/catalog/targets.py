"""Where an application is to be added: an environment that is there, a new one, or one made for it alone."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.server.accounts.policy import allows, enforce
from vetro.server.caller import Caller
from vetro.server.environments import lookup
from vetro.server.environments.models import Environment
from vetro.server.environments.queries import names_of
from vetro.server.errors import Invalid
from vetro.server.forms.subjects import check_addable
from vetro.server.forms.submit import free_name
from vetro.server.web.marked_names import marked_names
from vetro.server.web.page import go, page, render
from vetro.server.web.views.catalog import recent
from vetro.server.web.views.catalog.application import chosen, versions_of
from vetro.server.web.views.packages.rows import of_packages

#: Environments that are listed; beyond them one searches.
_MOST = 100


@page("GET", "POST", rule="update_environment")
def add(request: HttpRequest, caller: Caller, fqn: str) -> HttpResponse:
    """Lets a person choose the environment, then leads to the wizard there."""
    given = request.POST if request.method == "POST" else request.GET
    row = chosen(versions_of(caller, fqn), given.get("version"))
    if row.type != "Application":
        raise Invalid(_("A library cannot be added to an environment; applications use it."))
    # Before an environment is made that would stay empty.
    check_addable(row)
    stencil, problem = recent.template(request, caller), ""
    if request.method == "POST":
        recent.note(request, [row.fqn])
        target = given.get("environment", "")
        if target == "quick":
            enforce(caller, "create_environment")
            name = given.get("name", "").strip()[:255]
            taken = bool(name) and Environment.objects.filter(project_id=caller.project_id, name=name).exists()
            if not taken:
                return go(
                    request, f"/app/quick/{row.id}?{urlencode({'name': name})}" if name else f"/app/quick/{row.id}"
                )
            problem = name
        if target == "new":
            return go(request, f"/app/environments/new?package={row.id}")
        if target == "template" and stencil is not None:
            return go(request, f"/app/templates/{stencil.id}/add/{row.id}")
        if target and not problem:
            environment = lookup.environment(caller, target)
            recent.note_environment(request, environment)
            return go(request, f"/app/environments/{environment}/add/{row.id}")
    words = given.get("q", "").strip()[:255].replace("\0", "")
    rows = Environment.objects.filter(project_id=caller.project_id)
    if words:
        rows = rows.filter(name__icontains=words)
    listed = list(rows.order_by("-updated").values("id", "name", "updated")[: _MOST + 1])
    shown = dict(marked_names((row["id"], row["name"]) for row in listed))
    for one in listed:
        one["name"] = shown[one["id"]]
    context = {
        "package": row,
        "shown": of_packages(caller, [row])[0],
        "environments": listed[:_MOST],
        "more": len(listed) > _MOST,
        "q": words,
        "stencil": stencil,
        "last": recent.environment(request),
        "taken": problem,
        "name": free_name(problem or row.name, names_of(caller.project_id)),
        "may_create": allows(caller, "create_environment"),
    }
    part = request.headers.get("HX-Target") == "results"
    template = "catalog/choose_rows.html" if part else "catalog/choose.html"
    return render(request, template, context, 409 if problem else 200)
