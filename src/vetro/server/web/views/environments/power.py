"""Starting, stopping and restarting servers of an environment."""

from __future__ import annotations

from typing import get_args

from django.http import HttpRequest, HttpResponse

from vetro.clouds.interface import PowerAction
from vetro.server.caller import Caller
from vetro.server.environments import lookup, power
from vetro.server.errors import Invalid
from vetro.server.web.page import go, page


@page("POST", rule="power_environment")
def switch(request: HttpRequest, caller: Caller, environment: str) -> HttpResponse:
    """Does with a component, or with all servers, what the button says; then the task is shown. With ``force`` methods
    of applications are left out."""
    lookup.environment(caller, environment)
    wanted = request.POST.get("action", "")
    action: PowerAction | None = next((known for known in get_args(PowerAction) if known == wanted), None)
    if action is None:
        raise Invalid("The action must be start, stop or restart.")
    task = power.change(
        caller, environment, action, request.POST.get("what", ""), force=request.POST.get("force") == "1"
    )
    return go(request, f"/app/environments/{environment}/tasks/{task.id}/")
