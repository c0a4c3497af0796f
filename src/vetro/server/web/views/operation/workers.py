"""The workers: where they run, what they do; letting one end."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.server.caller import Caller
from vetro.server.operations import workers
from vetro.server.setup import config
from vetro.server.tasks import drain as draining
from vetro.server.tasks import labels
from vetro.server.web.page import page, render
from vetro.server.web.views.people.changes import done, paged

_HERE = "/app/operation/workers"


@page(rule="operate")
def show(request: HttpRequest, caller: Caller) -> HttpResponse:
    """All of them, the oldest first; the table alone where the page asks for it again."""
    settings = config()
    rows = paged(draining.workers(settings), request.GET.get("page"))
    context = {**rows, "tab": "workers", "unserved": labels.unserved(settings), "query": ""}
    context["places"] = int(settings["worker.tasks"])
    part = request.headers.get("HX-Target") == "live"
    return render(request, "operation/workers_part.html" if part else "operation/workers.html", context)


@page("POST", rule="operate")
def drain(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Asks one to end when its tasks have."""
    name = request.POST.get("worker", "")[:255]
    text = _("The worker takes nothing more, and ends when its tasks have ended.")
    return done(request, _HERE, text, lambda: workers.drain(caller, name))
