"""Which dispatcher this installation has (setting ``dispatch.backend``), before Django knows its tables.

``embedded`` needs nothing. ``procrastinate`` keeps its jobs in tables of the same PostgreSQL, which its own migrations
make; they are no data of the installation: what is in them is made anew from tasks (`vetro.server.dispatch.resend`).
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from vetro.server.config import Config, ConfigError

EMBEDDED, PROCRASTINATE = BACKENDS = ("embedded", "procrastinate")
#: Label of the Django app whose migrations make procrastinate's tables.
APP = "procrastinate"
#: Connections of a worker that fetches jobs: at most so many in a pool, and one for each of two that listen.
POOL, LISTENERS = 4, 2


def backend(config: Config) -> str:
    """``embedded`` or ``procrastinate``. Raises `ConfigError` where the latter cannot work here."""
    name = str(config["dispatch.backend"])
    if name == PROCRASTINATE:
        if not str(config["database.url"]).startswith(("postgresql:", "postgres:")):
            raise ConfigError(
                "'dispatch.backend' = 'procrastinate' needs PostgreSQL: set 'database.url' to postgresql://…,"
                " or 'dispatch.backend' to 'embedded'"
            )
        if find_spec("procrastinate") is None:
            raise ConfigError(
                "'dispatch.backend' = 'procrastinate' needs the package: pip install 'vetro[procrastinate]'"
            )
    return name


def django_settings(config: Config) -> dict[str, Any]:
    """Django's settings for it: apps and routers to add, and settings of the app. Raises `ConfigError`."""
    if backend(config) == EMBEDDED:
        return {"apps": [], "routers": []}
    return {
        "apps": ["procrastinate.contrib.django"],
        "routers": ["vetro.server.dispatch.backend.OnlyOnPostgresql"],
    }


class OnlyOnPostgresql:
    """A router: procrastinate's tables are made in PostgreSQL only. A move to SQLite leaves them out."""

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool | None:
        """Whether a migration does anything; None: as usual."""
        from django.db import connections

        return False if app_label == APP and connections[db].vendor != "postgresql" else None
