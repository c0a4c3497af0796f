"""What every template knows: who is signed in, her projects, where she is."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.http import HttpRequest

from vetro import __version__
from vetro.server.accounts.policy import allows
from vetro.server.accounts.web_sessions import VISIT, ZONE
from vetro.server.config.cloud_settings import selection
from vetro.server.environments.simulation import of_address, of_service
from vetro.server.setup import config
from vetro.server.web.topics import topic_of


def shell(request: HttpRequest) -> dict[str, Any]:
    """``caller``, ``projects``, ``area`` (first part of the address), ``theme``, ``zone`` (empty: the browser's).

    ``account``: whether Vetro keeps the person's account, and not a Keystone. ``simulated``: whether the page is about
    a simulated environment; ``nothing_is_real``: whether new ones are simulated; ``cloud_line``: which cloud makes
    them, and why; ``may_make_real``: whether the person may do that with a simulated one.
    """
    caller = getattr(request, "vetro_caller", None)
    match = request.resolver_match
    return {
        "simulated": cache(lambda: caller is not None and match is not None and of_address(caller, match.kwargs)),
        "nothing_is_real": caller is not None and of_service(),
        "cloud_line": lambda: selection(config()).text,
        "may_make_real": lambda: caller is not None and allows(caller, "update_environment"),
        "caller": caller,
        "account": caller is not None and VISIT not in request.session,
        "may_audit": caller is not None and allows(caller, "list_audit"),
        "may_operate": caller is not None and allows(caller, "operate"),
        "may_notices": lambda: caller is not None and allows(caller, "manage_notices"),
        "projects": getattr(request, "vetro_projects", []),
        "area": [*request.path_info.split("/"), "", ""][2],
        "theme": request.COOKIES.get("vetro_theme", "auto"),
        "zone": request.session.get(ZONE, "") if caller is not None else "",
        "version": __version__,
        "topic": topic_of(match.route) if match is not None else "",
    }
