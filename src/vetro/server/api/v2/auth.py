"""Signing in, who one is, one's own tokens."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Field, Query, Schema

from vetro.server.accounts import service as accounts
from vetro.server.accounts.authentication import caller_of_user
from vetro.server.accounts.keystone_login import Visit, sign_in
from vetro.server.accounts.models import Project, Token, User
from vetro.server.accounts.policy import allows, describe
from vetro.server.api.paging import page
from vetro.server.api.v2.access import who
from vetro.server.api.v2.routes import Answer, Routes, created, nothing
from vetro.server.api.v2.shapes import Given, Name, Page
from vetro.server.caller import Caller
from vetro.server.errors import Forbidden, Invalid, NotFound, NotSignedIn

routes = Routes("accounts")


class Login(Given):
    """Name and password."""

    name: Name = Field(examples=["ann"])
    password: str = Field(max_length=1024, examples=["correct horse battery"])
    project: str | None = Field(
        None, max_length=255, description="Name or id of the project to act in; without, the first one by name."
    )
    token_name: str = Field("login", max_length=255, description="What the token is called in lists.")
    days: int | None = Field(None, ge=0, le=36500, description="Days until the token expires; 0: never.")


class ProjectRef(Schema):
    """A project."""

    id: str
    name: str


class NewToken(Schema):
    """A token. Its text is shown once."""

    id: str
    token: str
    name: str
    project: ProjectRef
    expires: datetime | None


class Me(Schema):
    """Who asks."""

    user: ProjectRef
    project: ProjectRef
    roles: list[str]
    is_admin: bool
    projects: list[ProjectRef] = Field(description="Projects that the user belongs to; with a token its own only.")
    allowed: list[str] = Field(description="Names of the policy rules that let the caller.")
    token_id: str | None = Field(None, description="The token that was used; null with a web session.")


class TokenShown(Schema):
    """A token in a list."""

    id: str
    name: str
    prefix: str = Field(description="How its text begins.")
    user: str
    project: str
    created: datetime
    expires: datetime | None
    expired: bool
    last_used: datetime | None


class TokenWanted(Given):
    """A token to be made."""

    name: str = Field("", max_length=255, examples=["laptop"])
    days: int | None = Field(None, ge=0, le=36500, description="Days until it expires; 0: never.")
    project: str | None = Field(None, max_length=255, description="Name or id; without, the present project.")


@routes.add("POST", "/auth/login", "login", None, NewToken)
def login(request: HttpRequest, given: Login) -> Any:
    """Gives a token for a name and a password. Wrong passwords are counted by name and address: 429 after too many.

    Who has no account here, but one at the Keystone of the installation, gets a token of that, which has no id here.
    """
    address = str(request.META.get("REMOTE_ADDR", ""))
    user = sign_in(given.name, given.password, address, given.project)
    if isinstance(user, Visit):
        here = {"id": user.project, "name": dict(user.projects)[user.project]}
        return {"id": "", "token": user.token, "name": "", "project": here, "expires": user.expires}
    try:
        caller = caller_of_user(user.id, _project_of(user, given.project), address)
    except NotSignedIn:
        raise Forbidden("The account does not belong to this project, or to none.") from None
    project = Project.objects.get(id=caller.project_id)
    token, text = accounts.create_token(caller, user, project, name=given.token_name, days=given.days)
    return _new(token, text, caller)


def _project_of(user: User, wanted: str | None) -> str:
    """Id of a project of the user by name or id; a project of others is as unknown as one that there is not."""
    if wanted is None:
        return ""
    rows = user.memberships.filter(project__enabled=True).values_list("project_id", "project__name").distinct()
    found = [id for id, name in rows if wanted in (name, id)]
    if not found:
        raise Forbidden(
            f"You do not belong to a project '{wanted}'.", details={"projects": sorted({n for _, n in rows})}
        )
    return str(found[0])


def _new(token: Token, text: str, caller: Caller) -> dict[str, Any]:
    return {
        "id": token.id,
        "token": text,
        "name": token.name,
        "project": {"id": token.project.id, "name": token.project.name},
        "expires": token.expires,
    }


@routes.add("POST", "/auth/logout", "logout", "", status=204)
def logout(request: HttpRequest) -> Answer:
    """Revokes the token that the request was made with."""
    caller = who(request)
    if caller.token_id is None:
        raise Invalid("The request was made without a token of ours.")
    accounts.revoke_token(caller, caller.token_id)
    return nothing()


@routes.add("GET", "/me", "showMe", "", Me)
def me(request: HttpRequest) -> Any:
    """Who the caller is, where, and what the policy lets them do."""
    caller = who(request)
    rows = (
        User.objects.filter(id=caller.user_id, memberships__project__enabled=True)
        .values_list("memberships__project_id", "memberships__project__name")
        .order_by("memberships__project__name")
        .distinct()
    )
    # A token stands for its owner in one project, and tells nothing of others.
    projects = [{"id": id, "name": name} for id, name in rows if caller.token_id is None or id == caller.project_id]
    here = {"id": caller.project_id, "name": caller.project_name}
    return {
        "user": {"id": caller.user_id, "name": caller.user_name},
        "project": here,
        "roles": list(caller.roles),
        "is_admin": caller.is_admin,
        "projects": projects or [here],
        "allowed": sorted(name for name, *_ in describe() if allows(caller, name)),
        "token_id": caller.token_id,
    }


@routes.add("GET", "/tokens", "listTokens", "manage_own_tokens", Page[TokenShown])
def list_tokens(
    request: HttpRequest,
    user: Annotated[
        str | None, Query(max_length=255, description="Name or id of another user (administrators).")
    ] = None,
) -> Any:
    """The caller's tokens that are not revoked; with a token those of its project."""
    caller = who(request)
    wanted = _user(caller, user)
    if wanted is None:
        raise NotFound("You have no account here: your tokens come from elsewhere.")
    found = accounts.list_tokens(caller, wanted)
    return page(found, len(found))


@routes.add("POST", "/tokens", "createToken", "manage_own_tokens", NewToken, status=201)
def create_token(request: HttpRequest, given: TokenWanted) -> Answer:
    """Makes a token of the caller's own. Its text is in this answer only.

    With a token it is one for the same project, which ends no later than that and is revoked with it.
    """
    caller = who(request)
    user = _user(caller, None)
    if user is None:
        raise Invalid("You have no account here: your tokens come from elsewhere.")
    project_id = caller.project_id if given.project is None else _project_of(user, given.project)
    project = Project.objects.get(id=project_id)
    token, text = accounts.create_token(caller, user, project, name=given.name, days=given.days)
    return created(_new(token, text, caller))


@routes.add("DELETE", "/tokens/{token_id}", "revokeToken", "manage_own_tokens", status=204)
def revoke_token(request: HttpRequest, token_id: str) -> Answer:
    """Revokes a token and those made with it; from then on they are refused."""
    accounts.revoke_token(who(request), token_id)
    return nothing()


def _user(caller: Caller, name: str | None) -> User | None:
    if name is None or name in (caller.user_id, caller.user_name):
        return User.objects.filter(id=caller.user_id).first()
    if not allows(caller, "manage_accounts"):
        raise NotFound(f"There is no user '{name}' that you may ask about.")
    return accounts.find_user(name)
