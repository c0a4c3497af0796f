"""`vetro admin`: accounts, projects and tokens, straight in the database; no server has to run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from vetro.cli import output as out
from vetro.cli.arguments import settings_options
from vetro.cli.groups import Commands

if TYPE_CHECKING:
    from vetro.cli.administration import Administration

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
    """A command that gets an `Administration` of the database, and returns what is printed: a mapping or a list."""

    def decorate(function: F) -> click.Command:
        @wraps(function)
        def run(data: str | None, config: str | None, database: str | None, output: str, **rest: Any) -> None:
            from vetro.cli.installation import administration  # Django: vetro admin --help does without

            make = name == "create" and group in (user, project)
            with out.explained(), administration(data, config, database, make=make) as work:
                found = function(work, **rest)
            _print(found, output)

        decorated = out.output_option(*(formats or ("table", "json", "yaml")))(settings_options(run))
        return group.command(name)(decorated)

    return decorate


def switch_commands(
    group: click.Group, change: Callable[[Administration, str, bool], dict[str, Any]], *, disable: str, enable: str
) -> None:
    """The commands ``disable`` and ``enable`` of a group, with their help. ``change`` gets name and which."""
    for word, on, text in (("disable", False, disable), ("enable", True, enable)):

        def switch(work: Administration, name: str, on: bool = on) -> dict[str, Any]:
            return change(work, name, on)

        switch.__doc__ = text
        admin_command(group, word)(click.argument("name")(switch))


@admin_command(user, "create")
@click.argument("name")
@click.option("--email", default="", help="Address of the person.")
@click.option("--password-stdin", is_flag=True, help="Read a password from standard input.")
@click.option("--project", "project_name", help="A project that the user belongs to.")
@click.option("--role", default="member", show_default=True, help="The role in it.")
def user_create(
    work: Administration, name: str, email: str, password_stdin: bool, project_name: str | None, role: str
) -> dict[str, Any]:
    """Create the account NAME; without a password it signs in by link or token only."""
    return work.create_user(name, email, _password() if password_stdin else None, project_name, role)


@admin_command(user, "list")
def user_list(work: Administration) -> list[dict[str, Any]]:
    """List all accounts."""
    return work.list_users()


@admin_command(user, "password")
@click.argument("name")
def user_password(work: Administration, name: str) -> dict[str, Any]:
    """Give NAME another password: typed twice at a terminal, else read from standard input."""
    return work.set_password(name, _password)


switch_commands(
    user,
    lambda work, name, active: work.set_active(name, active),
    disable="Lock the account NAME: neither its password nor its tokens work.",
    enable="Unlock the account NAME.",
)


@admin_command(user, "delete")
@click.argument("name")
def user_delete(work: Administration, name: str) -> dict[str, Any]:
    """Delete the account NAME with its tokens; what it made stays with the project."""
    return work.delete_user(name)


@admin_command(project, "create")
@click.argument("name")
@click.option("--description", default="", help="What it is for.")
def project_create(work: Administration, name: str, description: str) -> dict[str, Any]:
    """Create the project NAME."""
    return work.create_project(name, description)


@admin_command(project, "list")
def project_list(work: Administration) -> list[dict[str, Any]]:
    """List all projects."""
    return work.list_projects()


switch_commands(
    project,
    lambda work, name, enabled: work.set_enabled(name, enabled),
    disable="Close the project NAME: no token works in it; what it owns stays.",
    enable="Open the project NAME again.",
)


@admin_command(project, "grant")
@click.argument("name")
@click.argument("user_name", metavar="USER")
@click.option("--role", default="member", show_default=True, help="reader, member, admin, or one of a policy file.")
def project_grant(work: Administration, name: str, user_name: str, role: str) -> dict[str, Any]:
    """Give USER a role in the project NAME."""
    return work.grant(name, user_name, role)


@admin_command(project, "revoke")
@click.argument("name")
@click.argument("user_name", metavar="USER")
@click.option("--role", default="member", show_default=True, help="The role to take.")
def project_revoke(work: Administration, name: str, user_name: str, role: str) -> dict[str, Any]:
    """Take a role in the project NAME from USER."""
    return work.revoke_role(name, user_name, role)


@admin_command(quota, "show")
@click.argument("name", metavar="PROJECT")
def quota_show(work: Administration, name: str) -> list[dict[str, Any]]:
    """Show what PROJECT may have at most, and has; '-' is no limit, or nobody can count it here."""
    return work.show_quota(name)


@admin_command(quota, "set")
@click.argument("name", metavar="PROJECT")
@click.argument("limits", nargs=-1, required=True, metavar="NAME=LIMIT...")
def quota_set(work: Administration, name: str, limits: tuple[str, ...]) -> list[dict[str, Any]]:
    """Set limits of PROJECT: whole numbers, 'none' for no limit, or 'default' for those of the settings."""
    return work.set_quota(name, limits)


@admin_command(token, "create", "table", "json", "yaml", "value")
@click.argument("user_name", metavar="USER")
@click.option("--project", "project_name", help="The project it is for; needed if USER belongs to several.")
@click.option("--name", default="", help="What it is for.")
@click.option("--days", type=click.IntRange(0), help="Days until it expires; 0: never [accounts.token_days].")
def token_create(
    work: Administration, user_name: str, project_name: str | None, name: str, days: int | None
) -> dict[str, Any]:
    """Create a token for USER. It is printed now and never again; '-o value' prints nothing else."""
    return work.create_token(user_name, project_name, name, days)


@admin_command(token, "list")
@click.argument("user_name", metavar="[USER]", required=False)
def token_list(work: Administration, user_name: str | None) -> list[dict[str, Any]]:
    """List tokens that are not revoked, of everybody or of USER."""
    return work.list_tokens(user_name)


@admin_command(token, "revoke")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
def token_revoke(work: Administration, ids: tuple[str, ...]) -> list[dict[str, Any]]:
    """End tokens, named by id or in full; the next request with one is refused."""
    return work.revoke_tokens(ids)


@admin_command(link, "create", "table", "json", "yaml", "value")
@click.argument("user_name", metavar="USER")
@click.option("--project", "project_name", help="The project to begin in; needed if USER belongs to several.")
def link_create(work: Administration, user_name: str, project_name: str | None) -> dict[str, Any]:
    """Create a link that signs USER in once, within a day."""
    return work.create_link(user_name, project_name)


def _password() -> str:
    if sys.stdin.isatty():
        typed: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        return typed
    return sys.stdin.readline().rstrip("\r\n")


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
