"""One thing done with all environments that were ticked in the list: their servers started or stopped, or deleted."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from vetro.diagnostics import Text
from vetro.server.accounts.policy import enforce
from vetro.server.caller import Caller
from vetro.server.environments import deploy, lookup, power, queries
from vetro.server.environments.models import Environment
from vetro.server.errors import Invalid, NotFound
from vetro.server.language import translated
from vetro.server.web.environment_summary import summaries
from vetro.server.web.page import go, page, render
from vetro.server.web.views.packages.listing import AT_ONCE
from vetro.server.web.views.packages.rows import texts
from vetro.yaql.errors import VetroError

_HERE = "/app/environments/"


@page("POST", rule="list_environments")
def begin(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Does what the button says; deleting is asked about first. What cannot be done is told one by one."""
    ids, what = texts(request.POST.getlist("id"), AT_ONCE), request.POST.get("what", "")
    if not ids:
        messages.info(request, _("Tick the environments first."))
        return go(request, _HERE)
    if what == "delete":
        return go(request, f"{_HERE}delete?{urlencode({'id': ids}, doseq=True)}")
    if what == "start":
        done = _each(request, caller, ids, lambda id: power.change(caller, id, "start"), "power_environment")
        told = ngettext(
            "Servers of %d environment are being started.", "Servers of %d environments are being started.", done
        )
    elif what == "stop":
        done = _each(request, caller, ids, lambda id: power.change(caller, id, "stop"), "power_environment")
        told = ngettext(
            "Servers of %d environment are being stopped.", "Servers of %d environments are being stopped.", done
        )
    else:
        raise Invalid(_("There is no such operation."))
    if done:
        messages.success(request, told % done)
    return go(request, _HERE)


@page("GET", "POST", rule="delete_environment")
def delete(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Says what goes with them; posted: deletes them."""
    given = request.POST if request.method == "POST" else request.GET
    ids = texts(given.getlist("id"), AT_ONCE)
    if request.method == "POST":
        done = _each(request, caller, ids, lambda id: deploy.delete(caller, id, abandon=False), "delete_environment")
        if done:
            told = ngettext("%d environment is being deleted.", "%d environments are being deleted.", done)
            messages.success(request, told % done)
        return go(request, _HERE)
    rows = []
    for id in ids:
        with suppress(NotFound):  # it is gone meanwhile
            rows.append(queries.get(caller, lookup.environment(caller, id)))
    if not rows:
        raise NotFound(Text("There are no such environments."))
    summed: dict[str, Any] = dict(summaries(caller, rows, look=True))
    listed = [{"id": row.id, "name": row.name, "busy": row.busy, "summary": summed[row.id]} for row in rows]
    return render(request, "environments/delete_together.html", {"rows": listed})


def _each(request: HttpRequest, caller: Caller, ids: list[str], act: Callable[[str], object], rule: str) -> int:
    """How many it was done with; of the others it is told why not."""
    enforce(caller, rule)
    names = dict(Environment.objects.filter(id__in=ids, project_id=caller.project_id).values_list("id", "name"))
    done = 0
    for id in ids:
        try:
            act(lookup.environment(caller, id))
            done += 1
        except VetroError as error:  # of its cloud, too
            messages.error(request, f"{names.get(id, id[:80])}: {translated(error.message)}")
    return done
