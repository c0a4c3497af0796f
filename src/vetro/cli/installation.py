"""`installation`: the settings of a service for commands that work on its data directory and database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vetro.cli import output as out


@contextmanager
def installation(
    data: str | None, config: str | None, overrides: dict[str, Any], *, make: bool = False
) -> Iterator[Any]:
    """Its settings, with Django set up. Nothing is made where there is nothing, but for ``make``: then the command
    makes the database. Errors of settings and database end the command with a message."""
    from vetro.server.config import Config, make_data
    from vetro.server.setup import setup

    with out.explained():
        settings = Config.load(data, config, overrides)
        url = str(settings["database.url"])
        if not make and not url.startswith(("postgres:", "postgresql:")):
            from vetro.server.database import database_settings
            from vetro.server.dbtools.errors import NoDatabase

            path = database_settings(settings, make=False)["NAME"]
            if not Path(path).exists():
                raise NoDatabase(f"there is no database {path}")
        make_data(settings)
        setup(settings)
        from django.db import Error, connections

        try:
            yield settings
        except Error as error:
            from vetro.server.dbtools.errors import NoDatabase

            raise NoDatabase(f"the database does not do this: {str(error).splitlines()[0]}") from None
        finally:
            connections.close_all()
