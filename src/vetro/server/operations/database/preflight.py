"""`require_fitting`: all that has to be so before a process works on a database that others made."""

from __future__ import annotations

from django.db import Error

from vetro.server.config.config import Config
from vetro.server.operations.database import keys_and_archives, schema
from vetro.server.operations.database.errors import NoDatabase


def require_fitting(config: Config) -> None:
    """The database answers, its tables are of this version, keys and archives belong to it.

    Raises errors of `vetro.server.operations.database.errors`, each with what to do.
    """
    try:
        schema.require()
        keys_and_archives.require_keys(config)
        keys_and_archives.require_archives(config)
    except Error as error:
        raise NoDatabase(f"the database does not answer: {str(error).splitlines()[0]}") from None
