"""`page`: what every view has in common: who is asking, errors as pages, the shell around the content."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from vetro.server.caller import Caller
from vetro.server.errors import NotFound, NotSignedIn, ServiceError
from vetro.server.web.signed_in import caller_of_session
from vetro.yaql.errors import VetroError

_log = logging.getLogger("vetro.web")
View = Callable[..., HttpResponseBase]


def page(*methods: str, rule: str = "", public: bool = False) -> Callable[[View], View]:
    """Makes a view of a function ``(request, caller, **path)``. ``methods``: those it takes, GET without any.

    Who is not signed in goes to the login page and comes back; ``public`` pages get ``caller`` None then. ``rule``: the
    policy rule of the page. Errors of the rules become pages with the same status, or a notice for htmx.
    """

    def make(function: View) -> View:
        @wraps(function)
        def view(request: HttpRequest, **path: Any) -> HttpResponseBase:
            if request.method not in (methods or ("GET",)) and request.method != "HEAD":
                return error_page(request, 405, _("This page cannot be used that way."))
            try:
                caller = caller_of_session(request)
                if caller is None and not public:
                    return to_login(request)
                if rule and caller is not None:
                    from vetro.server.accounts.policy import enforce

                    enforce(caller, rule)
                request.vetro_caller = caller  # type: ignore[attr-defined]
                return function(request, caller, **path)
            except NotSignedIn:
                return to_login(request)
            except ServiceError as error:
                return error_page(request, error.status, error.message, error.hint)
            except VetroError as error:
                return error_page(request, 400, error.message, error.hint)
            except Exception:
                mark = secrets.token_hex(4)
                _log.exception("defect %s while answering %s %s", mark, request.method, request.path)
                return error_page(
                    request, 500, _("Something is broken in Vetro. The log of the service says more under %s.") % mark
                )

        view.vetro_public = public  # type: ignore[attr-defined]
        return view

    return make


def render(
    request: HttpRequest, template: str, context: Mapping[str, Any] | None = None, status: int = 200
) -> HttpResponse:
    """The page made of a template below ``web/``."""
    return TemplateResponse(request, f"web/{template}", dict(context or {}), status=status).render()


def is_htmx(request: HttpRequest) -> bool:
    """Whether only a part of the page is wanted."""
    return request.headers.get("HX-Request") == "true" and request.headers.get("HX-Boosted") != "true"


def to_login(request: HttpRequest) -> HttpResponse:
    """Sends to the login page; from there back to where a person was (only to pages of ours)."""
    target = "/app/login?" + urlencode({"next": request.get_full_path()})
    if is_htmx(request):
        answer = HttpResponse(status=204)
        answer["HX-Redirect"] = target
        return answer
    return HttpResponseRedirect(target)


def go(request: HttpRequest, target: str) -> HttpResponse:
    """Leads to another page of ours, also out of an htmx request."""
    if is_htmx(request):
        answer = HttpResponse(status=204)
        answer["HX-Redirect"] = target
        return answer
    return HttpResponseRedirect(target)


def error_page(request: HttpRequest, status: int, message: str, hint: str | None = None) -> HttpResponse:
    """An error in words, with a way on; a notice where htmx asked."""
    titles = {
        400: _("That cannot be done"), 401: _("Please sign in"), 403: _("Not allowed"), 404: _("Not found"),
        409: _("Something is in the way"), 413: _("Too large"), 429: _("Too many attempts"),
        503: _("Not available at the moment"),
    }  # fmt: skip
    context = {"status": status, "title": titles.get(status, _("Error")), "message": message, "hint": hint}
    if is_htmx(request):
        answer = render(request, "parts/notice.html", {**context, "level": "danger"}, status)
        answer["HX-Retarget"] = "#notices"
        answer["HX-Reswap"] = "beforeend"
        return answer
    return render(request, "error.html", context, status)


def missing(what: str) -> NotFound:
    """The error for something that is not there."""
    return NotFound(_("There is no such %s.") % what)


def required(caller: Caller | None) -> Caller:
    """The caller of a page that is not public."""
    if caller is None:
        raise NotSignedIn("")
    return caller
