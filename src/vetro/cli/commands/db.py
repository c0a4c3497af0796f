"""`vetro db`: the database of a service: bring it up to date, examine it, save it, move it to another one."""

from __future__ import annotations

import click

from vetro.cli.groups import Commands, Table

TABLE: Table = {
    "migrate": ("db_state:migrate", "Bring the tables up to this version of Vetro; make them in an empty database."),
    "check": (
        "db_state:check",
        "Examine an installation: database, tables, references, keys, package archives, tasks that are stuck.",
    ),
    "move": ("db_state:move", "Move an installation to another database, with everything in it."),
    "reopen": ("db_state:reopen", "Make a database that was moved away the installation again."),
    "backup": (
        "db_backup:backup",
        "Save an installation into one file, while it runs: its database and its package archives.",
    ),
    "restore": ("db_backup:restore", "Make an installation out of a backup, in an empty database."),
}


@click.group("db", cls=Commands, table=TABLE)
def command() -> None:
    """Bring the database of a service up to date, examine an installation, save it, move it to another database.

    \b
    Examples:
      vetro db check
      vetro db backup /backups/vetro.tar
      vetro db move --to postgresql://vetro:SECRET@db/vetro
      vetro db migrate --database postgresql://vetro:SECRET@db/vetro
    """
