"""`OnlyOnPostgresql`: a router of Django's for the tables of procrastinate."""

from __future__ import annotations

from typing import Any

from django.db import connections


class OnlyOnPostgresql:
    """The tables are made in PostgreSQL only. A move to SQLite leaves them out."""

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool | None:
        """Whether a migration does anything; None: as usual."""
        return False if app_label == "procrastinate" and connections[db].vendor != "postgresql" else None
