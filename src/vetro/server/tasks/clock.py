"""The database's clock: leases of workers on many machines are compared by one time.

On PostgreSQL that is the server's own time; SQLite is on the machine of all its users, so theirs will do.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

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


if TYPE_CHECKING:
    _Field = models.DateTimeField[Any, Any]
else:
    _Field = models.DateTimeField


class Stamp(_Field):
    """When a row was made, by this clock. The object that was saved has the time of this machine until it is read."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"auto_now_add": True, **options})

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        """See ``Field.pre_save``."""
        value = super().pre_save(model_instance, add)
        return Now() if add and on_postgresql() else value

    def deconstruct(self) -> Any:
        """To migrations it is what it is in the database."""
        name, _, args, options = super().deconstruct()
        return name, "django.db.models.DateTimeField", args, options


def read() -> datetime:
    """The time itself; on PostgreSQL a query."""
    if not on_postgresql():
        return datetime.now(UTC)
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        found: datetime = cursor.fetchone()[0]
    return found


def sql(seconds: float = 0.0) -> tuple[str, list[Any]]:
    """The same as a piece of SQL with its parameters."""
    if on_postgresql():
        return "(statement_timestamp() + make_interval(secs => %s))", [seconds]
    return "%s", [connections[DEFAULT_DB_ALIAS].ops.adapt_datetimefield_value(after(seconds))]
