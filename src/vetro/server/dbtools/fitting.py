"""`require_fitting`: all that has to be so before a process works on a database that others made."""

from __future__ import annotations

from django.db import Error

from vetro.server.config import Config
from vetro.server.dbtools import reach, schema
from vetro.server.dbtools.errors import NoDatabase


def require_fitting(config: Config) -> None:
    """The database answers, its tables are of this version, keys and archives belong to it.

    Raises errors of `vetro.server.dbtools.errors`, each with what to do.
    """
    try:
        schema.require()
        reach.require_keys(config)
        reach.require_archives(config)
    except Error as error:
        raise NoDatabase(f"the database does not answer: {str(error).splitlines()[0]}") from None
