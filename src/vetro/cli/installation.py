"""`installation`: the settings of a service for commands that work on its data directory and database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.db import Error, connections

from vetro.cli import output as out
from vetro.server.config.config import Config, make_data
from vetro.server.database import database_settings
from vetro.server.operations.database.errors import NoDatabase
from vetro.server.setup import setup


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
