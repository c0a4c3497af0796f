"""The database's clock: leases of workers on many machines are compared by one time.

On PostgreSQL that is the server's own time; SQLite is on the machine of all its users, so theirs will do.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.models.functions import Now


def on_postgresql() -> bool:
    """Whether the database is PostgreSQL."""
    return connections[DEFAULT_DB_ALIAS].vendor == "postgresql"


def after(seconds: float = 0.0) -> Any:
    """The time in ``seconds`` (now without), as a value for filters and updates."""
    if not on_postgresql():
        return datetime.now(UTC) + timedelta(seconds=seconds)
    if not seconds:
        return Now()
    return models.ExpressionWrapper(Now() + timedelta(seconds=seconds), output_field=models.DateTimeField())


def sql(seconds: float = 0.0) -> tuple[str, list[Any]]:
    """The same as a piece of SQL with its parameters."""
    if on_postgresql():
        return "(statement_timestamp() + make_interval(secs => %s))", [seconds]
    return "%s", [connections[DEFAULT_DB_ALIAS].ops.adapt_datetimefield_value(after(seconds))]
