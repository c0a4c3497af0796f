"""Metadata: keys and values that people attach to an environment or a component (``?/metadata`` of the object)."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.diagnostics import Text
from vetro.model.header import id_of, label_of
from vetro.model.tree import find
from vetro.server.accounts.policy import enforce
from vetro.server.caller import Caller
from vetro.server.environments import drafts, limits
from vetro.server.errors import Invalid, ServiceError
from vetro.server.web import drafts as drafting
from vetro.server.web.environment_page import EnvironmentPage, open_page
from vetro.server.web.page import go, missing, page, render

#: Empty rows of the form, and rows at most.
_MORE, _MOST = 3, 200


@page("GET", "POST", rule="show_environment")
def show(request: HttpRequest, caller: Caller, environment: str) -> HttpResponse:
    """The metadata of the environment, or of the component named by ``of``."""
    env_page = open_page(caller, environment)
    given = request.POST if request.method == "POST" else request.GET
    own = given.get("of") or str(id_of(env_page.root) or "")
    known = {str(id_of(obj)): obj for obj in [env_page.root, *env_page.services] if isinstance(obj, dict)}
    if own not in known:
        raise missing(_("application"))
    rows = [(key, value if isinstance(value, str) else str(value)) for key, value in _metadata(known[own]).items()]
    context = env_page.shell(
        "metadata",
        of=own,
        objects=[(id, label_of(obj) if obj is not env_page.root else env_page.found.name) for id, obj in known.items()],
    )
    if request.method == "POST":
        enforce(caller, "update_environment")
        rows = list(zip(request.POST.getlist("key"), request.POST.getlist("value"), strict=False))[:_MOST]
        try:
            _store(caller, env_page, own, rows)
        except ServiceError as error:
            return render(request, "environments/metadata.html", {**context, "rows": rows, "problem": error}, 400)
        messages.success(request, _("The metadata is part of your draft. It takes effect when you deploy."))
        return go(request, f"/app/environments/{environment}/metadata?of={own}")
    return render(request, "environments/metadata.html", {**context, "rows": [*rows, *[("", "")] * _MORE]})


def _metadata(obj: dict[str, Any]) -> dict[str, Any]:
    found = obj["?"].get("metadata")
    return found if isinstance(found, dict) else {}


def _store(caller: Caller, env_page: EnvironmentPage, own: str, rows: list[tuple[str, str]]) -> None:
    wanted: dict[str, str] = {}
    for key, value in rows:
        name = key.strip()
        if not name:
            if value.strip():
                raise Invalid(_("A value needs a key."))
            continue
        if name in wanted:
            raise Invalid(_("The key %s is given twice.") % name)
        wanted[limits.name_of(name, "", Text("Metadata"))] = limits.text_of(value, "metadata")

    def edit(root: dict[str, Any]) -> None:
        obj = find(root, own)
        assert obj is not None, "the page showed it"
        obj["?"]["metadata"] = {
            key: (before if str(before := _metadata(obj).get(key)) == value else value) for key, value in wanted.items()
        }

    session = drafting.wanted(caller, env_page.id)
    drafts.change(caller, env_page.id, session.id, edit, what="metadata")
