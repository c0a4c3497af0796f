"""Users, projects and who belongs where. Every write needs rule ``manage_accounts`` and leaves an audit record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from django.contrib.auth.hashers import make_password
from django.db import IntegrityError, models, transaction

from vetro.diagnostics import Text
from vetro.server.accounts.models import Membership, Project, Token, User
from vetro.server.accounts.policy import enforce
from vetro.server.accounts.revocation import end_links, end_without_role
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.errors import Conflict, Invalid, NotFound
from vetro.yaql.didyoumean import suggest

#: Roles that the default rules know; a policy file may know more.
ROLES = ("reader", "member", "admin")
#: Characters of a password. The upper bound keeps hashing cheap for whoever sends nonsense.
SHORTEST_PASSWORD, LONGEST_PASSWORD = 8, 1024
_MANAGE = "manage_accounts"

M = TypeVar("M", bound=models.Model)


def create_user(caller: Caller, name: str, *, password: str | None = None, email: str = "") -> User:
    """A new account; without password it is for tokens and links only. Raises `Conflict`, `Invalid`."""
    enforce(caller, _MANAGE)
    name = checked_name(name, Text("user"))
    hashed = make_password(checked_password(password) if password is not None else None)
    try:
        with transaction.atomic():
            user = User.objects.create(username=name, email=email, password=hashed)
            record(caller, "user.create", user.id, name)
    except IntegrityError:
        raise Conflict(Text("There is a user '{name}' already.", name=name)) from None
    return user


def set_password(caller: Caller, user: User, password: str) -> None:
    """Gives a user another password. Web sessions and links end with it, tokens do not. Raises `Invalid`."""
    if caller.user_id != user.id:
        enforce(caller, _MANAGE)
    user.password = make_password(checked_password(password))
    with transaction.atomic():
        user.save(update_fields=["password"])
        end_links(user)
        record(caller, "user.password", user.id, user.username)


def set_active(caller: Caller, user: User, active: bool) -> None:
    """Locks an account or unlocks it; tokens and sessions of a locked one work no longer, at once.

    Those work again once it is unlocked, links for signing in do not.
    """
    enforce(caller, _MANAGE)
    user.is_active = active
    with transaction.atomic():
        user.save(update_fields=["is_active"])
        if not active:
            end_links(user)
        record(caller, "user.enable" if active else "user.disable", user.id, user.username)


def delete_user(caller: Caller, user: User) -> None:
    """Removes an account with its tokens and memberships; what it made stays with the project."""
    enforce(caller, _MANAGE)
    with transaction.atomic():
        record(caller, "user.delete", user.id, user.username)
        user.delete()


def create_project(caller: Caller, name: str, *, description: str = "") -> Project:
    """A new tenant. Raises `Conflict`, `Invalid`."""
    enforce(caller, _MANAGE)
    name = checked_name(name, Text("project"))
    try:
        with transaction.atomic():
            project = Project.objects.create(name=name, description=description)
            record(caller, "project.create", project.id, name)
    except IntegrityError:
        raise Conflict(Text("There is a project '{name}' already.", name=name)) from None
    return project


def set_project_enabled(caller: Caller, project: Project, enabled: bool) -> None:
    """Closes a project or opens it; tokens of a closed one work no longer, what it owns stays."""
    enforce(caller, _MANAGE)
    project.enabled = enabled
    with transaction.atomic():
        project.save(update_fields=["enabled"])
        record(caller, "project.enable" if enabled else "project.disable", project.id, project.name)


def grant(caller: Caller, user: User, project: Project, role: str) -> bool:
    """Gives a user a role in a project; False when it has it already. Raises `Invalid`."""
    enforce(caller, _MANAGE)
    role = checked_name(role, Text("role"), 64)
    with transaction.atomic():
        _, made = Membership.objects.get_or_create(user=user, project=project, role=role)
        if made:
            record(caller, "membership.grant", user.id, user.username, project=project.name, role=role)
    return made


def revoke_role(caller: Caller, user: User, project: Project, role: str) -> None:
    """Takes a role from a user; the last one in a project ends its tokens there. Raises `NotFound` when it has not."""
    enforce(caller, _MANAGE)
    with transaction.atomic():
        count, _ = Membership.objects.filter(user=user, project=project, role=role).delete()
        if not count:
            raise NotFound(
                Text(
                    "'{username}' does not have role '{role}' in project '{name}'.",
                    username=user.username,
                    role=role,
                    name=project.name,
                )
            )
        ended = end_without_role(Token.objects.filter(user=user, project=project))
        more = {"tokens": ended} if ended else {}
        record(caller, "membership.revoke", user.id, user.username, project=project.name, role=role, **more)


def roles_of(user: User) -> dict[str, list[str]]:
    """Name of each project the user belongs to -> roles in it."""
    found: dict[str, list[str]] = {}
    rows = user.memberships.order_by("project__name", "role").values_list("project__name", "role")
    for project, role in rows:
        found.setdefault(project, []).append(role)
    return found


def list_users(caller: Caller) -> list[dict[str, Any]]:
    """Every account with its projects, by name. Two queries."""
    enforce(caller, _MANAGE)
    roles: dict[str, dict[str, list[str]]] = {}
    rows = Membership.objects.order_by("project__name", "role").values_list("user_id", "project__name", "role")
    for user_id, project, role in rows:
        roles.setdefault(user_id, {}).setdefault(project, []).append(role)
    return [
        {
            "id": user.id,
            "name": user.username,
            "email": user.email,
            "enabled": user.is_active,
            "password": user.has_usable_password(),
            "projects": roles.get(user.id, {}),
            "created": user.created,
        }
        for user in User.objects.order_by("username")
    ]


def list_projects(caller: Caller) -> list[dict[str, Any]]:
    """Every project with the number of its users, by name."""
    enforce(caller, _MANAGE)
    counted = Project.objects.annotate(users=models.Count("memberships__user", distinct=True)).order_by("name")
    return [dict(row) for row in counted.values("id", "name", "description", "enabled", "users", "created")]


def find_user(name: str) -> User:
    """The account with this name or id. Raises `NotFound`."""
    return _find(User, "username", name, Text("user"))


def find_project(name: str) -> Project:
    """The project with this name or id. Raises `NotFound`."""
    return _find(Project, "name", name, Text("project"))


def counts() -> tuple[int, int, int]:
    """How many users, projects and tokens there are: (0, 0, 0) is a new installation."""
    return User.objects.count(), Project.objects.count(), Token.objects.count()


def checked_name(name: str, what: str, longest: int = 255) -> str:
    """The name without blanks around it. Raises `Invalid`."""
    name = name.strip()
    if not name:
        raise Invalid(Text("The {what} needs a name.", what=what))
    if len(name) > longest:
        raise Invalid(
            Text(
                "The name of a {what} has at most {longest} characters, not {name}.",
                what=what,
                longest=longest,
                name=len(name),
            )
        )
    if not name.isprintable():
        raise Invalid(Text("The name of a {what} holds a character that cannot be printed.", what=what))
    return name


def checked_password(password: str) -> str:
    """The password. Raises `Invalid` for one that is too short or absurdly long."""
    if len(password) < SHORTEST_PASSWORD:
        raise Invalid(
            Text("A password has at least {shortest_password} characters.", shortest_password=SHORTEST_PASSWORD)
        )
    if len(password) > LONGEST_PASSWORD:
        raise Invalid(Text("A password has at most {longest_password} characters.", longest_password=LONGEST_PASSWORD))
    return password


def _find(model: type[M], field: str, name: str, what: str) -> M:
    objects = model._default_manager
    found = objects.filter(**{field: name}).first() or objects.filter(pk=name).first()
    if found is None:
        names: Sequence[str] = list(objects.order_by(field).values_list(field, flat=True)[:1000])
        close = suggest(name, names)
        raise NotFound(
            (
                Text("There is no {what} '{name}'; did you mean '{close}'?", what=what, name=name, close=close)
                if close
                else Text("There is no {what} '{name}'.", what=what, name=name)
            ),
            details={"known": list(names[:20])},
        )
    return found
