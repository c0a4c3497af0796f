"""One account, for administrators: roles, password, tokens, a link for signing in, lock, delete."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.server.accounts import service as accounts
from vetro.server.accounts.models import User
from vetro.server.caller import Caller
from vetro.server.errors import Conflict, Forbidden, ServiceError
from vetro.server.setup import config
from vetro.server.web.page import go, missing, page, render
from vetro.server.web.views.people.changes import address_of, done, known_roles, project_names

_RULE = "manage_accounts"


@page(rule=_RULE)
def show(request: HttpRequest, caller: Caller, user: str) -> HttpResponse:
    """The account."""
    return _shown(request, caller, _found(user))


@page("POST", rule=_RULE)
def password(request: HttpRequest, caller: Caller, user: str) -> HttpResponse:
    """Another password; the person's web sessions end."""
    found = _found(user)
    wanted = request.POST.get("password", "")
    text = _("%s has a new password.") % found.username
    return done(request, _page(found), text, lambda: accounts.set_password(caller, _other(caller, found), wanted))


@page("POST", rule=_RULE)
def lock(request: HttpRequest, caller: Caller, user: str) -> HttpResponse:
    """Tokens and sessions of the person work no longer."""
    found = _found(user)
    text = _("%s is locked out.") % found.username
    return done(request, _page(found), text, lambda: accounts.set_active(caller, _other(caller, found), False))


@page("POST", rule=_RULE)
def unlock(request: HttpRequest, caller: Caller, user: str) -> HttpResponse:
    """They work again."""
    found = _found(user)
    text = _("%s may sign in again.") % found.username
    return done(request, _page(found), text, lambda: accounts.set_active(caller, found, True))


@page("POST", rule=_RULE)
def grant(request: HttpRequest, caller: Caller, user: str) -> HttpResponse:
    """A role in a project."""
    found = _found(user)
    project, role = request.POST.get("project", ""), request.POST.get("role", "")

    def act() -> None:
        accounts.grant(caller, found, accounts.find_project(project), role)

    text = _("%(name)s is %(role)s in %(project)s.") % {"name": found.username, "role": role, "project": project}
    return done(request, _page(found), text, act)


@page("POST", rule=_RULE)
def revoke(request: HttpRequest, caller: Caller, user: str) -> HttpResponse:
    """Takes a role away."""
    found = _found(user)
    project, role = request.POST.get("project", ""), request.POST.get("role", "")

    def act() -> None:
        if caller.user_id == found.id and role == config()["accounts.admin_role"]:
            raise Conflict(_("You cannot take the administrators' role from yourself."))
        accounts.revoke_role(caller, found, accounts.find_project(project), role)

    text = _("%(name)s is no longer %(role)s in %(project)s.")
    return done(request, _page(found), text % {"name": found.username, "role": role, "project": project}, act)


@page("POST", rule=_RULE)
def link(request: HttpRequest, caller: Caller, user: str) -> HttpResponse:
    """A link that signs the person in once. It is in this answer and nowhere else."""
    found = _found(user)
    try:
        secret = accounts.create_link(caller, found, accounts.find_project(request.POST.get("project", "")))[1]
    except ServiceError as error:
        return _shown(request, caller, found, error.status, problem=error)
    answer = _shown(request, caller, found, link=address_of(request, f"/app/link/{secret}"))
    answer["Cache-Control"] = "no-store"
    return answer


@page("POST", rule=_RULE)
def revoke_token(request: HttpRequest, caller: Caller, user: str, token: str) -> HttpResponse:
    """Ends a token of the person."""
    found = _found(user)
    if not found.tokens.filter(id=token).exists():
        raise missing(_("token"))
    text = _("The token is revoked: whatever uses it has to sign in anew.")
    return done(request, _page(found), text, lambda: accounts.revoke_token(caller, token))


@page("GET", "POST", rule=_RULE)
def delete(request: HttpRequest, caller: Caller, user: str) -> HttpResponse:
    """Removes the account, after a page that says what goes with it."""
    found = _found(user)
    if request.method != "POST":
        return render(request, "people/delete.html", {"person": found, "tokens": accounts.list_tokens(caller, found)})
    name = found.username
    accounts.delete_user(caller, _other(caller, found))
    messages.success(request, _("The account of %s is deleted.") % name)
    return go(request, "/app/people/")


def _found(user: str) -> User:
    found = User.objects.filter(id=user).first()
    if found is None:
        raise missing(_("person"))
    return found


def _other(caller: Caller, user: User) -> User:
    """The user, who is not the caller: nobody locks herself out."""
    if user.id == caller.user_id:
        raise Forbidden(_("This is your own account."), hint=_("Your password is changed in your profile."))
    return user


def _page(user: User) -> str:
    return f"/app/people/users/{user.id}/"


def _shown(request: HttpRequest, caller: Caller, user: User, status: int = 200, **more: Any) -> HttpResponse:
    context = {
        "person": user,
        "myself": user.id == caller.user_id,
        "roles": accounts.roles_of(user),
        "tokens": accounts.list_tokens(caller, user),
        "open_projects": project_names(caller),
        "known_roles": known_roles(),
        "tab": "people",
        **more,
    }
    return render(request, "people/one.html", context, status)
