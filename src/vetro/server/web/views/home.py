"""The first page: what the project has, what is wrong with it, and what waits for whoever looks."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from vetro.server.accounts.policy import allows
from vetro.server.caller import Caller
from vetro.server.web.environment_page import last_event
from vetro.server.web.home import overview
from vetro.server.web.page import page, render
from vetro.server.web.views.environments.listing import kind_of


@page(rule="list_environments")
def home(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The page; its changing part where a script asks, then with all addresses."""
    seen = last_event()
    part = request.headers.get("HX-Target") == "home"
    shown = overview(caller, look=part)
    for task in shown.failures:
        task["what"] = kind_of(task["kind"], task["action"])
    context = {
        "home": shown,
        "again": part and shown.unlooked,
        "seen": seen,
        "may_create": allows(caller, "create_environment"),
        "may_import": allows(caller, "upload_package"),
    }
    return render(request, "home_part.html" if part else "home.html", context)
