"""Users, projects and who belongs where: for administrators."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.db import transaction
from django.http import HttpRequest
from ninja import Field, Query, Schema

from vetro.server.accounts import service as accounts
from vetro.server.accounts.models import Project, User
from vetro.server.api.paging import part
from vetro.server.api.v2.access import who
from vetro.server.api.v2.routes import Answer, Routes, created, nothing
from vetro.server.api.v2.shapes import Given, LongText, Name, Page
from vetro.server.config.address import link_address
from vetro.server.errors import NotFound
from vetro.server.setup import config

routes = Routes("administration")
_RULE = "manage_accounts"


class UserShown(Schema):
    """An account."""

    id: str
    name: str
    email: str
    enabled: bool
    password: bool = Field(description="It has one; others sign in by token or link only.")
    projects: dict[str, list[str]] = Field(description="Name of each project -> roles in it.")
    created: datetime


class UserWanted(Given):
    """An account to be made."""

    name: Name = Field(examples=["ann"])
    password: str | None = Field(None, max_length=1024)
    email: str = Field("", max_length=254)
    project: str | None = Field(None, max_length=255, description="Name or id of a project that it belongs to.")
    role: str = Field("member", min_length=1, max_length=64, description="reader, member or admin.")


class UserChange(Given):
    """What is to change."""

    password: str | None = Field(None, max_length=1024)
    enabled: bool | None = None


class ProjectShown(Schema):
    """A project."""

    id: str
    name: str
    description: str
    enabled: bool
    users: int
    created: datetime


class ProjectWanted(Given):
    """A project to be made."""

    name: Name = Field(examples=["shop"])
    description: LongText = ""


class ProjectChange(Given):
    """What is to change."""

    enabled: bool | None = None


class MembershipShown(Schema):
    """A role of a user in a project."""

    user: str
    project: str
    role: str


class Membership(Given):
    """A role of a user in a project; both by name or id."""

    user: Name
    project: Name
    role: str = Field("member", min_length=1, max_length=64)


class Link(Schema):
    """A link that signs somebody in once."""

    url: str
    expires: datetime | None


def _user(name: str) -> User:
    return accounts.find_user(name)


def _shown(request: HttpRequest, user: User) -> dict[str, Any]:
    return {
        "id": user.id,
        "name": user.username,
        "email": user.email,
        "enabled": user.is_active,
        "password": user.has_usable_password(),
        "projects": accounts.roles_of(user),
        "created": user.created,
    }


@routes.add("GET", "/admin/users", "listUsers", _RULE, Page[UserShown])
def list_users(
    request: HttpRequest,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    cursor: Annotated[str | None, Query(max_length=4000)] = None,
) -> Any:
    """All accounts by name."""
    return part(accounts.list_users(who(request)), "id", cursor, limit)


@routes.add("POST", "/admin/users", "createUser", _RULE, UserShown, status=201)
def create_user(request: HttpRequest, given: UserWanted) -> Answer:
    """Makes an account, in a project if one is named."""
    caller = who(request)
    with transaction.atomic():
        user = accounts.create_user(caller, given.name, password=given.password, email=given.email)
        if given.project is not None:
            accounts.grant(caller, user, accounts.find_project(given.project), given.role)
    return created(_shown(request, user))


@routes.add("PATCH", "/admin/users/{user}", "changeUser", _RULE, UserShown)
def change_user(request: HttpRequest, user: str, given: UserChange) -> Any:
    """Gives another password, locks or unlocks. ``user``: name or id."""
    caller = who(request)
    found = _user(user)
    with transaction.atomic():
        if given.password is not None:
            accounts.set_password(caller, found, given.password)
        if given.enabled is not None:
            accounts.set_active(caller, found, given.enabled)
    return _shown(request, found)


@routes.add("DELETE", "/admin/users/{user}", "deleteUser", _RULE, status=204)
def delete_user(request: HttpRequest, user: str) -> Answer:
    """Removes an account with its tokens; what it made stays with the project."""
    accounts.delete_user(who(request), _user(user))
    return nothing()


@routes.add("POST", "/admin/users/{user}/link", "createLoginLink", _RULE, Link, status=201)
def create_link(
    request: HttpRequest,
    user: str,
    project: Annotated[str, Query(min_length=1, max_length=255, description="Name or id of the project to begin in.")],
) -> Answer:
    """A link that signs the user in to the pages, once, within a day."""
    token, text = accounts.create_link(who(request), _user(user), accounts.find_project(project))
    return created({"url": link_address(config(), text), "expires": token.expires})


@routes.add("GET", "/admin/projects", "listProjects", _RULE, Page[ProjectShown])
def list_projects(
    request: HttpRequest,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    cursor: Annotated[str | None, Query(max_length=4000)] = None,
) -> Any:
    """All projects by name."""
    return part(accounts.list_projects(who(request)), "id", cursor, limit)


@routes.add("POST", "/admin/projects", "createProject", _RULE, ProjectShown, status=201)
def create_project(request: HttpRequest, given: ProjectWanted) -> Answer:
    """Makes a project."""
    made = accounts.create_project(who(request), given.name, description=given.description)
    return created(_project(request, made))


@routes.add("PATCH", "/admin/projects/{project}", "changeProject", _RULE, ProjectShown)
def change_project(request: HttpRequest, project: str, given: ProjectChange) -> Any:
    """Closes a project or opens it: tokens of a closed one work no longer, what it owns stays."""
    found = accounts.find_project(project)
    if given.enabled is not None:
        accounts.set_project_enabled(who(request), found, given.enabled)
    return _project(request, found)


def _project(request: HttpRequest, project: Project) -> dict[str, Any]:
    return next(row for row in accounts.list_projects(who(request)) if row["id"] == project.id)


@routes.add("GET", "/admin/memberships", "listMemberships", _RULE, Page[MembershipShown])
def list_memberships(
    request: HttpRequest,
    user: Annotated[str | None, Query(max_length=255, description="Only of this user: name or id.")] = None,
    project: Annotated[str | None, Query(max_length=255, description="Only in this project: name or id.")] = None,
) -> Any:
    """Who has which role where."""
    users = [row for row in accounts.list_users(who(request)) if user is None or user in (row["name"], row["id"])]
    if user is not None and not users:
        raise NotFound(f"There is no user '{user}'.")
    wanted = None if project is None else accounts.find_project(project).name
    items = [
        {"user": row["name"], "project": name, "role": role}
        for row in users
        for name, roles in row["projects"].items()
        if wanted in (None, name)
        for role in roles
    ]
    return {"items": items, "total": len(items), "next": None}


@routes.add("POST", "/admin/memberships", "grantRole", _RULE, MembershipShown, status=201)
def grant(request: HttpRequest, given: Membership) -> Answer:
    """Gives a role. A role that the user has already stays."""
    user, project = _user(given.user), accounts.find_project(given.project)
    accounts.grant(who(request), user, project, given.role)
    return created({"user": user.username, "project": project.name, "role": given.role.strip()})


@routes.add("DELETE", "/admin/memberships", "revokeRole", _RULE, status=204)
def revoke(
    request: HttpRequest,
    user: Annotated[str, Query(min_length=1, max_length=255)],
    project: Annotated[str, Query(min_length=1, max_length=255)],
    role: Annotated[str, Query(min_length=1, max_length=64)] = "member",
) -> Answer:
    """Takes a role away."""
    accounts.revoke_role(who(request), _user(user), accounts.find_project(project), role)
    return nothing()
