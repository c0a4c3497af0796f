"""Signing in with a password or a link, signing out, changing the project."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _

from vetro.diagnostics import Text
from vetro.server.accounts.keystone_login import Visit, sign_in, switched
from vetro.server.accounts.tokens import link_works, redeem_link
from vetro.server.accounts.web_sessions import PROJECT, begin_visit, sign_in_session, sign_out_session, visit_of
from vetro.server.errors import Forbidden, NotSignedIn, ServiceError
from vetro.server.web.page import page, render


def _next(request: HttpRequest) -> str:
    """Where to go afterwards: a page of ours, or the first one."""
    target = request.POST.get("next") or request.GET.get("next") or "/app/"
    ours = target.startswith("/app/") and url_has_allowed_host_and_scheme(target, allowed_hosts=None)
    return target if ours else "/app/"


@page("GET", "POST", public=True)
def login(request: HttpRequest, caller: Any) -> HttpResponse:
    """The login page, and what it sends."""
    if request.method == "POST":
        name = request.POST.get("name", "")
        try:
            user = sign_in(name, request.POST.get("password", ""), request.META.get("REMOTE_ADDR", ""))
        except ServiceError as error:
            context = {"name": name, "problem": error.message, "next": _next(request)}
            answer = render(request, "login.html", context, error.status)
            if isinstance(error.details, dict) and "retry_after" in error.details:
                answer["Retry-After"] = str(error.details["retry_after"])
            return answer
        if isinstance(user, Visit):
            begin_visit(request, user)
        else:
            sign_in_session(request, user)
        return HttpResponseRedirect(_next(request))
    if caller is not None:
        return HttpResponseRedirect(_next(request))
    return render(request, "login.html", {"next": _next(request)})


@page("GET", "POST", public=True)
def link(request: HttpRequest, caller: Any, token: str) -> HttpResponse:
    """A link for one login. It is used up by a button, not by opening it: mail programs look into links."""
    if request.method == "POST":
        try:
            user, project = redeem_link(token, request.META.get("REMOTE_ADDR", ""))
        except NotSignedIn:
            return render(request, "login_link.html", {"gone": True}, 401)
        sign_in_session(request, user, project.id)
        if not user.has_usable_password():
            text = _("This link is used up. To be able to come back, give yourself a password under {place}.")
            place = format_html('<a href="/app/people/me#change-password">{}</a>', _("Profile and tokens"))
            messages.info(request, format_html(text, place=place))
        return HttpResponseRedirect("/app/")
    gone = not link_works(token)
    return render(request, "login_link.html", {"gone": gone}, 401 if gone else 200)


@page("POST", public=True)
def logout(request: HttpRequest, caller: Any) -> HttpResponse:
    """Signs out."""
    sign_out_session(request)
    return HttpResponseRedirect("/app/login")


@page("POST")
def switch(request: HttpRequest, caller: Any) -> HttpResponse:
    """Acts in another of one's projects from now on."""
    wanted = request.POST.get("project", "")
    if wanted not in {project for project, _ in request.vetro_projects}:  # type: ignore[attr-defined]
        raise Forbidden(Text("You do not belong to that project."))
    visit = visit_of(request)
    if visit is None:
        request.session[PROJECT] = wanted
    else:
        begin_visit(request, switched(visit, wanted))
    return HttpResponseRedirect(_next(request))
