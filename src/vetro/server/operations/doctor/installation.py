"""`findings`: those of the installation that settings describe, however little of it there is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.db import connections

from vetro.diagnostics import ERROR, NOTE, Diagnostic, Text
from vetro.server.config.config import Config
from vetro.server.database import database_settings
from vetro.server.operations.doctor import folder, variables
from vetro.server.setup import setup
from vetro.yaql.errors import VetroError


def findings(data: str | None, config: str | None, overrides: Mapping[str, Any]) -> list[Diagnostic]:
    """All of them. Makes nothing where there is nothing: neither data directory nor database nor keys."""
    try:
        settings = Config.load(data, config, overrides)
    except VetroError as error:
        return [Diagnostic("settings", ERROR, error.message, error.hint)]
    keys = settings.path("secrets.key_file")
    database = _file(settings)
    missing = []
    if not settings.data.is_dir() and database is not None and not database.exists() and not keys.exists():
        text = Text("there is no installation in {data} yet", data=settings.data)
        return [
            *variables.examine(settings),
            Diagnostic("folder", NOTE, text, Text("'vetro serve' makes one; see --data")),
        ]
    if not settings.data.is_dir():
        missing.append(
            Diagnostic(
                "folder", ERROR, Text("there is no data directory {data}", data=settings.data), Text("see --data")
            )
        )
    if database is not None and not database.exists():
        text = Text("there is no database {database}", database=database)
        missing.append(Diagnostic("connection", ERROR, text, Text("'vetro serve' makes it; see 'database.url'")))
    if not keys.exists():
        hint = Text(
            "restore it: without it nothing encrypted can be read; a new installation makes one at its first start"
        )
        missing.append(Diagnostic("keys", ERROR, Text("there is no file of keys {keys}", keys=keys), hint))
    elif not os.access(keys, os.R_OK):
        hint = Text("run this as the user of the service, to whom it must belong")
        missing.append(Diagnostic("keys", ERROR, Text("{keys} cannot be read by this user", keys=keys), hint))
    if missing:
        here = list(folder.examine(settings)) if settings.data.is_dir() else []
        return [*variables.examine(settings), *here, *missing]
    try:
        setup(settings)
    except VetroError as error:
        return [Diagnostic("settings", ERROR, error.message, error.hint)]
    from vetro.server.operations.doctor.checks import examine

    try:
        return examine(settings)
    finally:
        connections.close_all()


def _file(settings: Config) -> Path | None:
    """The file of the database; None for one that is elsewhere."""
    if str(settings["database.url"]).startswith(("postgres:", "postgresql:")):
        return None
    return Path(database_settings(settings, make=False)["NAME"])
