"""The lock of an environment: with which packages it was deployed, why these versions, and why not another one."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from vetro.server.caller import Caller
from vetro.server.environments import explanation
from vetro.server.errors import Invalid, NotFound
from vetro.server.web.environment_page import open_page
from vetro.server.web.page import page, render


@page(rule="show_history")
def lock(request: HttpRequest, caller: Caller, environment: str) -> HttpResponse:
    """The packages with their reasons; ``package`` and ``version``: what keeps that version out."""
    env_page = open_page(caller, environment)
    package = request.GET.get("package", "").strip()[:512]
    version = request.GET.get("version", "").strip()[:128]
    told, problem = None, ""
    try:
        told = explanation.why(caller, environment)
        asked = explanation.why(caller, environment, package, version) if package else None
    except (Invalid, NotFound) as error:
        asked, problem = None, error.message
    context = env_page.shell(
        "lock",
        told=told,
        digest="" if told is None else told.lock.digest(),
        asked=asked,
        package=package,
        version=version,
        problem=problem,
    )
    return render(request, "environments/lock.html", context)
