"""One's own profile: password, language, time zone, tokens."""

from __future__ import annotations

import zoneinfo
from functools import cache
from typing import Any

from django.conf import settings as django_settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.translation import gettext as _

from vetro.server.accounts import service as accounts
from vetro.server.accounts.models import Project, User
from vetro.server.accounts.web_sessions import LANGUAGE, ZONE, refresh_session, visit_of
from vetro.server.caller import Caller
from vetro.server.errors import Forbidden, Invalid, NotFound, NotSignedIn, ServiceError
from vetro.server.setup import config
from vetro.server.web.page import go, page, render
from vetro.server.web.views.people.changes import done

_HERE = "/app/people/me"
#: Days that a token may live, for choice; 0: for ever.
LIVES = (7, 30, 90, 365, 0)


@page()
def show(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Everything about oneself."""
    return _shown(request, caller) if visit_of(request) is None else _visitor(request, caller)


@page("POST")
def settings(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Another language or time zone; of people of a Keystone until they sign out."""
    language, zone = request.POST.get("language", ""), request.POST.get("zone", "")
    if language and language not in dict(django_settings.LANGUAGES):
        raise Invalid(_("There is no such language."))
    if zone and zone not in zones():
        raise Invalid(_("There is no such time zone."))
    if visit_of(request) is None:
        user = _own(caller)
        user.language, user.timezone = language, zone
        user.save(update_fields=["language", "timezone"])
        refresh_session(request, user)
    else:
        request.session.update({LANGUAGE: language, ZONE: zone})
    with translation.override(language or translation.get_language()):
        messages.success(request, _("Your settings are saved."))
    return go(request, _HERE)


@page("POST")
def password(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Another password. Who has one proves it first; attempts are counted as at the login."""
    user = _own(caller)
    wanted = request.POST.get("password", "")
    try:
        if user.has_usable_password():
            try:
                accounts.sign_in(user.username, request.POST.get("current", ""), caller.address)
            except NotSignedIn:
                raise Forbidden(_("The present password is wrong.")) from None
        if wanted != request.POST.get("again", ""):
            raise Invalid(_("The two new passwords differ."))
        accounts.set_password(caller, user, wanted)
    except ServiceError as error:
        return _shown(request, caller, error.status, password_problem=error)
    refresh_session(request, user)
    messages.success(request, _("Your password is changed. Other browsers where you were signed in have to sign in."))
    return go(request, _HERE)


@page("POST", rule="manage_own_tokens")
def create_token(request: HttpRequest, caller: Caller) -> HttpResponse:
    """A new token. Its text is in this answer and nowhere else."""
    name, days = request.POST.get("name", ""), request.POST.get("days", "")
    try:
        if days not in {str(life) for life in _lives()}:
            raise Invalid(_("Choose how long the token works."))
        user, project = _own(caller), Project.objects.get(id=caller.project_id)
        token, text = accounts.create_token(caller, user, project, name=name, days=int(days))
    except ServiceError as error:
        return _shown(request, caller, error.status, token_problem=error, name=name, days=days)
    answer = _shown(request, caller, made=token, made_text=text)
    answer["Cache-Control"] = "no-store"
    return answer


@page("POST", rule="manage_own_tokens")
def revoke_token(request: HttpRequest, caller: Caller, token: str) -> HttpResponse:
    """Ends one of one's tokens."""
    text = _("The token is revoked: whatever uses it has to sign in anew.")
    return done(request, f"{_HERE}#tokens", text, lambda: accounts.revoke_token(caller, token))


@cache
def zones() -> tuple[str, ...]:
    """Names of the time zones that people choose from."""
    return ("UTC", *sorted(name for name in zoneinfo.available_timezones() if _is_place(name)))


def _is_place(name: str) -> bool:
    return "/" in name and name.split("/")[0] not in ("Etc", "SystemV", "US", "Brazil", "Canada", "Chile", "Mexico")


def _lives() -> list[int]:
    return sorted({*LIVES, int(config()["accounts.token_days"])}, key=lambda days: days or 10**6)


def _own(caller: Caller) -> User:
    user = User.objects.filter(id=caller.user_id).first()
    if user is None:
        raise NotFound(_("Vetro keeps no account of yours: password and tokens are those of Keystone."))
    return user


def _shown(request: HttpRequest, caller: Caller, status: int = 200, **more: Any) -> HttpResponse:
    user = _own(caller)
    context = {
        "person": user,
        "has_password": user.has_usable_password(),
        "roles": accounts.roles_of(user),
        "tokens": accounts.list_tokens(caller, user),
        "languages": django_settings.LANGUAGES,
        "zones": zones(),
        "lives": [(str(days), _life(days)) for days in _lives()],
        "days": str(config()["accounts.token_days"]),
        **more,
    }
    return render(request, "people/me.html", context, status)


def _visitor(request: HttpRequest, caller: Caller) -> HttpResponse:
    """What there is of somebody whose account a Keystone keeps."""
    context = {
        "person": {
            "username": caller.user_name,
            "language": request.session.get(LANGUAGE, ""),
            "timezone": request.session.get(ZONE, ""),
        },
        "languages": django_settings.LANGUAGES,
        "zones": zones(),
    }
    return render(request, "people/visitor.html", context)


def _life(days: int) -> str:
    return _("%s days") % days if days else _("For ever")
