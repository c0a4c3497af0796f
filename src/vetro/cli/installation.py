"""`installation`: the settings of a service for commands that work on its data directory and database."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.db import Error, connections

from vetro.cli import output as out
from vetro.server.caller import SYSTEM, Caller
from vetro.server.config.config import Config, make_data
from vetro.server.database import database_settings
from vetro.server.operations.database.errors import NoDatabase
from vetro.server.setup import setup

if TYPE_CHECKING:
    from vetro.cli.administration import Administration


@contextmanager
def installation(
    data: str | None, config: str | None, overrides: dict[str, Any], *, make: bool = False
) -> Iterator[Any]:
    """Its settings, with Django set up. Nothing is made where there is nothing, but for ``make``: then the command
    makes the database. Errors of settings and database end the command with a message."""
    with out.explained():
        settings = Config.load(data, config, overrides)
        if not make:
            require_there(settings)
        make_data(settings)
        setup(settings)
        try:
            yield settings
        except Error as error:
            raise NoDatabase(f"the database does not do this: {str(error).splitlines()[0]}") from None
        finally:
            connections.close_all()


@contextmanager
def administration(
    data: str | None, config: str | None, database: str | None, *, make: bool
) -> Iterator[Administration]:
    """The database, with its tables, for somebody who may do everything. ``make``: where there is none, it is made."""
    settings = Config.load(data, config, {"database.url": database})
    if not make:
        require_there(settings)
    elif not is_there(settings):
        out.note(f"there is no installation in {settings.data} yet; it is made now")
    make_data(settings)
    setup(settings)
    from vetro.cli.administration import Administration  # it needs models, and Django is set up now

    try:
        who = f"vetro admin ({getpass.getuser()})"
    except (KeyError, OSError):
        who = "vetro admin"
    try:
        yield Administration(Caller(SYSTEM.user_id, who, "", "", SYSTEM.roles, True))
    except Error as error:
        out.fail(f"the database does not do this: {error}", "'vetro config show database' says which one it is")
    finally:
        connections.close_all()


def require_there(settings: Any) -> None:
    """Raises `NoDatabase` (SRV586) where the settings name a file of SQLite that is not there: a slip in ``--data``
    makes no installation. Whether a PostgreSQL answers is found out by whoever asks it."""
    if not is_there(settings):
        raise NoDatabase(f"there is no database {database_settings(settings, make=False)['NAME']}")


def is_there(settings: Any) -> bool:
    """Whether the file of SQLite exists that the settings name; for PostgreSQL always."""
    if str(settings["database.url"]).startswith(("postgres:", "postgresql:")):
        return True
    return Path(database_settings(settings, make=False)["NAME"]).exists()
