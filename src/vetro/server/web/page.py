"""`page`: what every view has in common: who is asking, errors as pages, the shell around the content."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.core.exceptions import RequestDataTooBig
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _

from vetro.server.accounts.web_sessions import caller_of_session
from vetro.server.caller import Caller
from vetro.server.environments import simulation
from vetro.server.environments.errors import Busy, SessionInvalid
from vetro.server.errors import NotFound, NotSignedIn, ServiceError, Unavailable
from vetro.server.language import translated
from vetro.server.tasks.package_queries import warm_up_soon
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
            if _has_nul(path.values()) or any(
                _has_nul(found) for given in (request.GET, request.POST) for _name, found in given.lists()
            ):
                # No text of ours holds it, and PostgreSQL takes none.
                return error_page(request, 400, _("There is a character in this that no text holds."))
            try:
                try:
                    caller = caller_of_session(request)
                except Unavailable as error:
                    if not public:
                        return _keystone_away(request, error)
                    caller = None  # to sign out, or in with an account of ours, nobody has to be asked
                if caller is None and not public:
                    return to_login(request)
                if rule and caller is not None:
                    from vetro.server.accounts.policy import enforce

                    enforce(caller, rule)
                request.vetro_caller = caller  # type: ignore[attr-defined]
                if caller is not None:
                    warm_up_soon()
                return _marked(function(request, caller, **path), caller, path)
            except NotSignedIn:
                return to_login(request)
            except ServiceError as error:
                return error_page(request, *_in_words(error))
            except VetroError as error:
                return error_page(request, 400, translated(error.message), translated(error.hint) or None)
            except OperationalError as error:
                _log.warning("the database refused %s %s: %s", request.method, request.path, error)
                answer = error_page(
                    request, 503, _("The database is busy or cannot be reached."), _("Try again in a moment.")
                )
                answer["Retry-After"] = "1"
                return answer
            except Exception:
                mark = secrets.token_hex(4)
                _log.exception("defect %s while answering %s %s", mark, request.method, request.path)
                return error_page(
                    request, 500, _("Something is broken in Vetro. The log of the service says more under %s.") % mark
                )

        view.vetro_public = public  # type: ignore[attr-defined]
        view.vetro_methods = methods or ("GET",)  # type: ignore[attr-defined]
        return view

    return make


def _marked(answer: HttpResponseBase, caller: Caller | None, path: Mapping[str, Any]) -> HttpResponseBase:
    """What is no page, a file or data, says by its head that it is about something simulated, as answers of /v2 do."""
    bare = answer.status_code < 300 and "html" not in answer.get("Content-Type", "")
    if caller is not None and bare and simulation.of_address(caller, path):
        answer[simulation.HEADER] = simulation.VALUE
    return answer


def receive(request: HttpRequest) -> HttpResponse | None:
    """Receives the form that was sent, as one of who is signed in; the page that says why it cannot be taken."""
    if request.method != "POST":
        return None
    try:
        try:
            caller = caller_of_session(request)
        except Unavailable:  # the view says so, if it matters
            caller = None
        if caller is not None:
            request.META["vetro.caller"] = caller
        assert request.POST is not None
    except RequestDataTooBig as error:
        return error_page(request, 413, _("What was sent is too large."), str(error))
    except ServiceError as error:
        return error_page(request, *_in_words(error))
    return None


def _keystone_away(request: HttpRequest, error: Unavailable) -> HttpResponse:
    _log.warning("who asks for %s is not known: %s", request.path, error.message)
    text = _("Your account is kept by Keystone, and Vetro cannot ask it at the moment what you may do.")
    hint = _("You stay signed in, and what you deployed goes on. Load the page again in a moment.")
    answer = error_page(request, 503, text, hint, way=("/app/login", _("Sign in with another account")))
    answer["Retry-After"] = "10"
    return answer


def _has_nul(values: Iterable[Any]) -> bool:
    return any(isinstance(value, str) and "\0" in value for value in values)


def render(
    request: HttpRequest, template: str, context: Mapping[str, Any] | None = None, status: int = 200
) -> HttpResponse:
    """The page made of a template below ``web/``."""
    answer = TemplateResponse(request, f"web/{template}", dict(context or {}), status=status).render()
    # One address gives pages and parts of them: without this, going back shows a part where the page should be.
    patch_vary_headers(answer, ("HX-Request", "HX-Target"))
    return answer


def is_htmx(request: HttpRequest) -> bool:
    """Whether only a part of the page is wanted."""
    return request.headers.get("HX-Request") == "true" and request.headers.get("HX-Boosted") != "true"


def to_login(request: HttpRequest) -> HttpResponse:
    """Sends to the login page; from there back to where a person was (only to pages of ours)."""
    # What was sent is lost, and its address is often no page: back to where it was sent from.
    here = request.get_full_path() if request.method in ("GET", "HEAD") else _page_before(request) or "/app/"
    target = "/app/login?" + urlencode({"next": here})
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


def error_page(
    request: HttpRequest, status: int, message: str, hint: str | None = None, *, way: tuple[str, str] | None = None
) -> HttpResponse:
    """An error in words, with a way on; a notice where htmx asked.

    ``way``: address and words of a better way than back to where somebody came from.
    """
    titles = {
        400: _("That cannot be done"), 401: _("Please sign in"), 403: _("Not allowed"), 404: _("Not found"),
        409: _("Something is in the way"), 413: _("Too large"), 429: _("Too many attempts"),
        503: _("Not available at the moment"),
    }  # fmt: skip
    title = titles.get(status, _("Error"))
    hint = _sentence(hint) if hint else hint
    context = {"status": status, "title": title, "message": message, "hint": hint, "way": way}
    context["back"] = "" if way else _came_from(request)
    if is_htmx(request):
        answer = render(request, "parts/notice.html", {**context, "level": "danger"}, status)
        answer["HX-Retarget"] = "#notices"
        answer["HX-Reswap"] = "beforeend"
        return answer
    return render(request, "error.html", context, status)


def _sentence(hint: str) -> str:
    """A hint as a sentence: terminals show them after a colon. Commands and names of code stay as they are."""
    first = hint.split(" ", 1)[0].removesuffix(",")
    if " " in hint and first.isalpha() and first.islower() and first != "vetro":
        hint = hint[0].upper() + hint[1:]
        hint += "." if hint[-1].isalnum() else ""
    return hint


def _in_words(error: ServiceError) -> tuple[int, str, str | None]:
    """(status, what is told, a way on). What /v1 says of drafts and tasks is for programs that know Murano's words."""
    if isinstance(error, Busy):
        return 409, _("A task works on this environment at the moment."), _("Wait until it has ended, or cancel it.")
    if isinstance(error, SessionInvalid):
        hint = _("Your draft is kept for reading. Look at what is deployed now, then make your changes again.")
        return 409, _("Somebody else has deployed this environment since you began to change it."), hint
    return error.status, translated(error.message), translated(error.hint) or None


def _came_from(request: HttpRequest) -> str:
    """The page of ours on which something was pressed that failed; empty when it was elsewhere or this one."""
    found = _page_before(request)
    return "" if urlsplit(found).path == request.path else found


def _page_before(request: HttpRequest) -> str:
    """The page of ours from which a request came; empty when it came from elsewhere."""
    try:
        found = urlsplit(request.headers.get("Referer", ""))
    except ValueError:
        return ""
    if found.netloc != request.get_host() or not found.path.startswith("/app/"):
        return ""
    return f"{found.path}?{found.query}" if found.query else found.path


def missing(what: str) -> NotFound:
    """The error for something that is not there."""
    return NotFound(_("There is no such %s.") % what)


def required(caller: Caller | None) -> Caller:
    """The caller of a page that is not public."""
    if caller is None:
        raise NotSignedIn("")
    return caller
