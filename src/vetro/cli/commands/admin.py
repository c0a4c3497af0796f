"""`vetro admin`: accounts, projects and tokens, straight in the database; no server has to run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import wraps
from typing import Any, TypeVar

import click

from vetro.cli import output as out
from vetro.cli.commands.serve import settings_options
from vetro.cli.groups import Commands
from vetro.cli.installation import is_there, require_there

F = TypeVar("F", bound=Callable[..., Any])


@click.group("admin", cls=Commands)
def command() -> None:
    """Manage users, projects, roles, quotas and tokens of a service, on its data directory or database.

    Roles: reader may look, member may change, admin may do everything in every project.

    \b
    Examples:
      vetro admin project create demo
      vetro admin user create ann --project demo --role member
      TOKEN=$(vetro admin token create ann -o value)
      vetro admin link create ann
    """


@command.group("user")
def user() -> None:
    """Accounts."""


@command.group("project")
def project() -> None:
    """Projects (tenants), and who belongs to them."""


@command.group("quota")
def quota() -> None:
    """What projects may have at most, and have."""


@command.group("token")
def token() -> None:
    """Tokens: what programs send instead of a password."""


@command.group("link")
def link() -> None:
    """Links that sign a person in, once."""


def admin_command(group: click.Group, name: str, *formats: str) -> Callable[[F], click.Command]:
    """A command that gets ``caller`` with the database ready, and returns what is printed: a mapping or a list."""

    def decorate(function: F) -> click.Command:
        @wraps(function)
        def run(data: str | None, config: str | None, database: str | None, output: str, **rest: Any) -> None:
            make = name == "create" and group in (user, project)
            with out.explained(), _installation(data, config, database, make) as caller:
                found = function(caller, **rest)
            _print(found, output)

        decorated = out.output_option(*(formats or ("table", "json", "yaml")))(settings_options(run))
        return group.command(name)(decorated)

    return decorate


def switch_commands(
    group: click.Group, change: Callable[[Any, str, bool], dict[str, Any]], *, disable: str, enable: str
) -> None:
    """The commands ``disable`` and ``enable`` of a group, with their help. ``change`` gets caller, name and which."""
    for word, on, text in (("disable", False, disable), ("enable", True, enable)):

        def switch(caller: Any, name: str, on: bool = on) -> dict[str, Any]:
            return change(caller, name, on)

        switch.__doc__ = text
        admin_command(group, word)(click.argument("name")(switch))


@admin_command(user, "create")
@click.argument("name")
@click.option("--email", default="", help="Address of the person.")
@click.option("--password-stdin", is_flag=True, help="Read a password from standard input.")
@click.option("--project", "project_name", help="A project that the user belongs to.")
@click.option("--role", default="member", show_default=True, help="The role in it.")
def user_create(
    caller: Any, name: str, email: str, password_stdin: bool, project_name: str | None, role: str
) -> dict[str, Any]:
    """Create the account NAME; without a password it signs in by link or token only."""
    from django.db import transaction

    from vetro.server.accounts import service

    password = _password() if password_stdin else None
    with transaction.atomic():
        made = service.create_user(caller, name, password=password, email=email)
        if project_name:
            service.grant(caller, made, service.find_project(project_name), role)
            _about_role(role)
    return {"id": made.id, "name": made.username, "projects": service.roles_of(made)}


@admin_command(user, "list")
def user_list(caller: Any) -> list[dict[str, Any]]:
    """List all accounts."""
    from vetro.server.accounts import service

    return service.list_users(caller)


@admin_command(user, "password")
@click.argument("name")
def user_password(caller: Any, name: str) -> dict[str, Any]:
    """Give NAME another password: typed twice at a terminal, else read from standard input."""
    from vetro.server.accounts import service

    found = service.find_user(name)
    service.set_password(caller, found, _password())
    return {"id": found.id, "name": found.username}


def _set_active(caller: Any, name: str, active: bool) -> dict[str, Any]:
    from vetro.server.accounts import service

    found = service.find_user(name)
    service.set_active(caller, found, active)
    return {"id": found.id, "name": found.username, "enabled": found.is_active}


switch_commands(
    user,
    _set_active,
    disable="Lock the account NAME: neither its password nor its tokens work.",
    enable="Unlock the account NAME.",
)


@admin_command(user, "delete")
@click.argument("name")
def user_delete(caller: Any, name: str) -> dict[str, Any]:
    """Delete the account NAME with its tokens; what it made stays with the project."""
    from vetro.server.accounts import service

    found = service.find_user(name)
    answer = {"id": found.id, "name": found.username}
    service.delete_user(caller, found)
    return answer


@admin_command(project, "create")
@click.argument("name")
@click.option("--description", default="", help="What it is for.")
def project_create(caller: Any, name: str, description: str) -> dict[str, Any]:
    """Create the project NAME."""
    from vetro.server.accounts import service

    made = service.create_project(caller, name, description=description)
    return {"id": made.id, "name": made.name}


@admin_command(project, "list")
def project_list(caller: Any) -> list[dict[str, Any]]:
    """List all projects."""
    from vetro.server.accounts import service

    return service.list_projects(caller)


def _set_enabled(caller: Any, name: str, enabled: bool) -> dict[str, Any]:
    from vetro.server.accounts import service

    found = service.find_project(name)
    service.set_project_enabled(caller, found, enabled)
    return {"id": found.id, "name": found.name, "enabled": found.enabled}


switch_commands(
    project,
    _set_enabled,
    disable="Close the project NAME: no token works in it; what it owns stays.",
    enable="Open the project NAME again.",
)


@admin_command(project, "grant")
@click.argument("name")
@click.argument("user_name", metavar="USER")
@click.option("--role", default="member", show_default=True, help="reader, member, admin, or one of a policy file.")
def project_grant(caller: Any, name: str, user_name: str, role: str) -> dict[str, Any]:
    """Give USER a role in the project NAME."""
    from vetro.server.accounts import service

    who = service.find_user(user_name)
    service.grant(caller, who, service.find_project(name), role)
    _about_role(role)
    return {"id": who.id, "name": who.username, "projects": service.roles_of(who)}


@admin_command(project, "revoke")
@click.argument("name")
@click.argument("user_name", metavar="USER")
@click.option("--role", default="member", show_default=True, help="The role to take.")
def project_revoke(caller: Any, name: str, user_name: str, role: str) -> dict[str, Any]:
    """Take a role in the project NAME from USER."""
    from vetro.server.accounts import service

    who = service.find_user(user_name)
    service.revoke_role(caller, who, service.find_project(name), role)
    return {"id": who.id, "name": who.username, "projects": service.roles_of(who)}


@admin_command(quota, "show")
@click.argument("name", metavar="PROJECT")
def quota_show(caller: Any, name: str) -> list[dict[str, Any]]:
    """Show what PROJECT may have at most, and has; '-' is no limit, or nobody can count it here."""
    from vetro.server.quotas import service

    return service.shown(caller, service.project_named(name))


@admin_command(quota, "set")
@click.argument("name", metavar="PROJECT")
@click.argument("limits", nargs=-1, required=True, metavar="NAME=LIMIT...")
def quota_set(caller: Any, name: str, limits: tuple[str, ...]) -> list[dict[str, Any]]:
    """Set limits of PROJECT: whole numbers, 'none' for no limit, or 'default' for those of the settings."""
    from vetro.cli.commands.quota import given
    from vetro.server.quotas import service

    wanted = given(limits)
    return [row for row in service.change(caller, service.project_named(name), wanted) if row["name"] in wanted]


@admin_command(token, "create", "table", "json", "yaml", "value")
@click.argument("user_name", metavar="USER")
@click.option("--project", "project_name", help="The project it is for; needed if USER belongs to several.")
@click.option("--name", default="", help="What it is for.")
@click.option("--days", type=click.IntRange(0), help="Days until it expires; 0: never [accounts.token_days].")
def token_create(caller: Any, user_name: str, project_name: str | None, name: str, days: int | None) -> dict[str, Any]:
    """Create a token for USER. It is printed now and never again; '-o value' prints nothing else."""
    from vetro.server.accounts import service

    who = service.find_user(user_name)
    made, text = service.create_token(caller, who, _project(who, project_name), name=name, days=days)
    return {
        "token": text,
        "id": made.id,
        "user": who.username,
        "project": made.project.name,
        "project_id": made.project_id,
        "expires": made.expires,
    }


@admin_command(token, "list")
@click.argument("user_name", metavar="[USER]", required=False)
def token_list(caller: Any, user_name: str | None) -> list[dict[str, Any]]:
    """List tokens that are not revoked, of everybody or of USER."""
    from vetro.server.accounts import service

    return service.list_tokens(caller, service.find_user(user_name) if user_name else None)


@admin_command(token, "revoke")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
def token_revoke(caller: Any, ids: tuple[str, ...]) -> list[dict[str, Any]]:
    """End tokens, named by id or in full; the next request with one is refused."""
    from django.db import transaction

    from vetro.server.accounts import service

    with transaction.atomic():
        for one in ids:
            service.revoke_token(caller, one)
    return [{"revoked": len(ids)}]


@admin_command(link, "create", "table", "json", "yaml", "value")
@click.argument("user_name", metavar="USER")
@click.option("--project", "project_name", help="The project to begin in; needed if USER belongs to several.")
def link_create(caller: Any, user_name: str, project_name: str | None) -> dict[str, Any]:
    """Create a link that signs USER in once, within a day."""
    from vetro.server.accounts import service
    from vetro.server.config.address import link_address
    from vetro.server.setup import config

    who = service.find_user(user_name)
    made, text = service.create_link(caller, who, _project(who, project_name))
    return {"link": link_address(config(), text), "user": who.username, "expires": made.expires}


@contextmanager
def _installation(data: str | None, config: str | None, database: str | None, make: bool) -> Iterator[Any]:
    """The database, with its tables, and somebody who may do everything. ``make``: where there is none, it is made."""
    import getpass

    from vetro.server.caller import SYSTEM, Caller
    from vetro.server.config.config import Config, make_data
    from vetro.server.setup import setup

    settings = Config.load(data, config, {"database.url": database})
    if not make:
        require_there(settings)
    elif not is_there(settings):
        out.note(f"there is no installation in {settings.data} yet; it is made now")
    make_data(settings)
    setup(settings)
    from django.db import Error, connections

    from vetro.server.http.startup import migrate

    try:
        who = f"vetro admin ({getpass.getuser()})"
    except (KeyError, OSError):
        who = "vetro admin"
    try:
        migrate()
        yield Caller(SYSTEM.user_id, who, "", "", SYSTEM.roles, True)
    except Error as error:
        out.fail(f"the database does not do this: {error}", "'vetro config show database' says which one it is")
    finally:
        connections.close_all()


def _about_role(role: str) -> None:
    """Says so where a role may be a slip of the keyboard: unknown ones may do what members may."""
    from vetro.server.setup import config

    known = ("reader", "member", str(config()["accounts.admin_role"]))
    if role.strip() not in known:
        out.note(f"role '{role}' is none of {', '.join(known)}: unless the policy file names it, it counts as member")


def _password() -> str:
    import sys

    if sys.stdin.isatty():
        typed: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        return typed
    return sys.stdin.readline().rstrip("\r\n")


def _project(who: Any, name: str | None) -> Any:
    from vetro.server.accounts import service
    from vetro.server.errors import Invalid

    if name:
        return service.find_project(name)
    names = list(service.roles_of(who))
    if len(names) != 1:
        raise Invalid(
            f"'{who.username}' belongs to {'no project' if not names else 'several projects: ' + ', '.join(names)}.",
            hint="name one with --project" if names else "'vetro admin project grant' gives a role in one",
        )
    return service.find_project(names[0])


def _print(found: Any, output: str) -> None:
    rows = found if isinstance(found, list) else [found]
    plain = [{key: _plain(value) for key, value in row.items()} for row in rows]
    if output == "value":
        out.echo(str(next(iter(plain[0].values()))))
    elif output != "table":
        out.print_data(plain if isinstance(found, list) else plain[0], output)
    elif plain:
        columns = list(plain[0])
        out.print_table(columns, [[_cell(row[column]) for column in columns] for row in plain])
    else:
        out.note("there are none")


def _plain(value: Any) -> Any:
    return value.strftime("%Y-%m-%dT%H:%M:%SZ") if isinstance(value, datetime) else value


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{project}: {'/'.join(roles)}" for project, roles in value.items())
    return {None: "-", True: "yes", False: "no"}[value] if value is None or isinstance(value, bool) else str(value)
