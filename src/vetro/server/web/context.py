"""What every template knows: who is signed in, her projects, where she is."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from vetro import __version__
from vetro.server.accounts.policy import allows
from vetro.server.accounts.web_sessions import VISIT, ZONE


def shell(request: HttpRequest) -> dict[str, Any]:
    """``caller``, ``projects``, ``area`` (first part of the address), ``theme``, ``zone`` (empty: the browser's).

    ``account``: whether Vetro keeps the person's account, and not a Keystone.
    """
    caller = getattr(request, "vetro_caller", None)
    return {
        "caller": caller,
        "account": caller is not None and VISIT not in request.session,
        "may_audit": caller is not None and allows(caller, "list_audit"),
        "projects": getattr(request, "vetro_projects", []),
        "area": [*request.path_info.split("/"), "", ""][2],
        "theme": request.COOKIES.get("vetro_theme", "auto"),
        "zone": request.session.get(ZONE, "") if caller is not None else "",
        "version": __version__,
    }
