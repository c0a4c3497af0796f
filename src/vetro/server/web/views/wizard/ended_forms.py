"""Views of a form: where it has a row since somebody answered it, and what became of one that is not there any more.

What a web session did itself it remembers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.server.caller import Caller
from vetro.server.errors import NotFound
from vetro.server.forms import form_session
from vetro.server.forms.blank_forms import row_id
from vetro.server.web.page import error_page, go
from vetro.server.web.views.wizard import origins

_KEY = "vetro_forms_ended"
#: Forms that a web session remembers the end of.
_MOST = 60
SENT, THROWN_AWAY = "sent", "thrown away"


def remember(
    request: HttpRequest,
    form: str,
    how: str,
    *,
    environment_id: str | None = None,
    template_id: str | None = None,
    task_id: str | None = None,
) -> None:
    """Keeps that a form was sent or thrown away, and what it was for: there those go on who come back to it."""
    address = "/app/environments/"
    if template_id is not None:
        address = f"/app/templates/{template_id}/"
    elif environment_id is not None:
        address = f"/app/environments/{environment_id}/"
    elif task_id is not None:
        address = f"/app/results/{task_id}/"
    form = row_id(form)
    kept = {id: item for id, item in request.session.get(_KEY, {}).items() if id != form}
    request.session[_KEY] = {**dict(list(kept.items())[1 - _MOST :]), form: [how, address]}


def of_form(function: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Makes a view of a form, below `page`, tell what became of the form when it is not there any more.

    A form that nobody had answered has two addresses: that of its row is the one to go on with.
    """

    @wraps(function)
    def view(request: HttpRequest, caller: Caller, form: str, **path: Any) -> HttpResponse:
        own = row_id(form)
        if own != form and form_session.exists(caller, own):
            if request.method != "POST":
                return go(request, request.get_full_path().replace(form, own, 1))
            form = own
        elif own != form and own in request.session.get(_KEY, {}):
            return _told(request, own)
        try:
            answer = function(request, caller, form=form, **path)
        except NotFound:
            if form_session.exists(caller, form):
                raise
            return _told(request, own)
        if own != form and request.method == "POST" and form_session.exists(caller, own):
            origins.remember(request, own, origins.about(request, caller, form))
        return answer

    return view


def _told(request: HttpRequest, form: str) -> HttpResponse:
    how, address = request.session.get(_KEY, {}).get(form, ("", "/app/environments/"))
    message, hint = {
        SENT: (_("This form has been sent already."), _("To do the same again, begin anew in the catalog.")),
        THROWN_AWAY: (_("You have thrown this form away."), _("To fill it in after all, begin anew in the catalog.")),
    }.get(
        how,
        (
            _("This form is not there any more: it was sent, or removed."),
            _("Look into the environment that it was for, or begin anew in the catalog."),
        ),
    )
    return error_page(request, 404, message, hint, way=(address, _label(address)))


def _label(address: str) -> str:
    if address.startswith("/app/templates/"):
        return _("To the template")
    if address.startswith("/app/results/"):
        return _("To the result")
    return _("To the environments") if address == "/app/environments/" else _("To the environment")
