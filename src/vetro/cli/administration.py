"""`Administration`: what the commands of `vetro admin` do, as plain data. Imported once Django is set up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import transaction

from vetro.cli import output as out
from vetro.cli.commands.quota import given
from vetro.server.accounts import service
from vetro.server.caller import Caller
from vetro.server.config.address import link_address
from vetro.server.errors import Invalid
from vetro.server.http.startup import migrate
from vetro.server.quotas import service as quotas
from vetro.server.setup import config


class Administration:
    """Accounts, projects, quotas, tokens and links in the database of an installation. ``caller`` may do everything.

    Methods raise `vetro.server.errors.ServiceError`.
    """

    def __init__(self, caller: Caller) -> None:
        migrate()
        self.caller = caller

    def create_user(
        self, name: str, email: str, password: str | None, project: str | None, role: str
    ) -> dict[str, Any]:
        """A new account, which belongs to a project where one is named."""
        with transaction.atomic():
            made = service.create_user(self.caller, name, password=password, email=email)
            if project:
                service.grant(self.caller, made, service.find_project(project), role)
                _about_role(role)
        return {"id": made.id, "name": made.username, "projects": service.roles_of(made)}

    def list_users(self) -> list[dict[str, Any]]:
        """All accounts."""
        return service.list_users(self.caller)

    def set_password(self, name: str, ask: Callable[[], str]) -> dict[str, Any]:
        """Gives an account another password; ``ask`` is called once the account is found."""
        found = service.find_user(name)
        service.set_password(self.caller, found, ask())
        return {"id": found.id, "name": found.username}

    def set_active(self, name: str, active: bool) -> dict[str, Any]:
        """Locks or unlocks an account."""
        found = service.find_user(name)
        service.set_active(self.caller, found, active)
        return {"id": found.id, "name": found.username, "enabled": found.is_active}

    def delete_user(self, name: str) -> dict[str, Any]:
        """Deletes an account with its tokens."""
        found = service.find_user(name)
        answer = {"id": found.id, "name": found.username}
        service.delete_user(self.caller, found)
        return answer

    def create_project(self, name: str, description: str) -> dict[str, Any]:
        """A new project."""
        made = service.create_project(self.caller, name, description=description)
        return {"id": made.id, "name": made.name}

    def list_projects(self) -> list[dict[str, Any]]:
        """All projects."""
        return service.list_projects(self.caller)

    def set_enabled(self, name: str, enabled: bool) -> dict[str, Any]:
        """Closes or opens a project."""
        found = service.find_project(name)
        service.set_project_enabled(self.caller, found, enabled)
        return {"id": found.id, "name": found.name, "enabled": found.enabled}

    def grant(self, name: str, user: str, role: str) -> dict[str, Any]:
        """Gives a user a role in a project."""
        who = service.find_user(user)
        service.grant(self.caller, who, service.find_project(name), role)
        _about_role(role)
        return {"id": who.id, "name": who.username, "projects": service.roles_of(who)}

    def revoke_role(self, name: str, user: str, role: str) -> dict[str, Any]:
        """Takes a role in a project from a user."""
        who = service.find_user(user)
        service.revoke_role(self.caller, who, service.find_project(name), role)
        return {"id": who.id, "name": who.username, "projects": service.roles_of(who)}

    def show_quota(self, project: str) -> list[dict[str, Any]]:
        """What a project may have at most, and has."""
        return quotas.shown(self.caller, quotas.project_named(project))

    def set_quota(self, project: str, limits: tuple[str, ...]) -> list[dict[str, Any]]:
        """Sets limits of a project, given as NAME=LIMIT; these limits."""
        wanted = given(limits)
        rows = quotas.change(self.caller, quotas.project_named(project), wanted)
        return [row for row in rows if row["name"] in wanted]

    def create_token(self, user: str, project: str | None, name: str, days: int | None) -> dict[str, Any]:
        """A new token of a user, in clear."""
        who = service.find_user(user)
        made, text = service.create_token(self.caller, who, _project(who, project), name=name, days=days)
        return {
            "token": text,
            "id": made.id,
            "user": who.username,
            "project": made.project.name,
            "project_id": made.project_id,
            "expires": made.expires,
        }

    def list_tokens(self, user: str | None) -> list[dict[str, Any]]:
        """Tokens that are not revoked, of everybody or of a user."""
        return service.list_tokens(self.caller, service.find_user(user) if user else None)

    def revoke_tokens(self, ids: tuple[str, ...]) -> list[dict[str, Any]]:
        """Revokes all of these tokens, or none."""
        with transaction.atomic():
            for one in ids:
                service.revoke_token(self.caller, one)
        return [{"revoked": len(ids)}]

    def create_link(self, user: str, project: str | None) -> dict[str, Any]:
        """A link that signs a user in once."""
        who = service.find_user(user)
        made, text = service.create_link(self.caller, who, _project(who, project))
        return {"link": link_address(config(), text), "user": who.username, "expires": made.expires}


def _about_role(role: str) -> None:
    """Says so where a role may be a slip of the keyboard: unknown ones may do what members may."""
    known = ("reader", "member", str(config()["accounts.admin_role"]))
    if role.strip() not in known:
        out.note(f"role '{role}' is none of {', '.join(known)}: unless the policy file names it, it counts as member")


def _project(who: Any, name: str | None) -> Any:
    if name:
        return service.find_project(name)
    names = list(service.roles_of(who))
    if len(names) != 1:
        raise Invalid(
            f"'{who.username}' belongs to {'no project' if not names else 'several projects: ' + ', '.join(names)}.",
            hint="name one with --project" if names else "'vetro admin project grant' gives a role in one",
        )
    return service.find_project(names[0])
