"""Rows by the hundred thousand, as the database takes them fastest: no objects of Django, `COPY` on PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

#: What a session of PostgreSQL has while it fills. Nobody waits for the log; and indexes of substrings collect what is
#: new until `VACUUM` sorts it in at once, instead of every few hundred rows. Rows and indexes are the same.
_FILLING = {"synchronous_commit": "off", "maintenance_work_mem": "512MB", "gin_pending_list_limit": "1GB"}


@contextmanager
def settings() -> Iterator[None]:
    """The settings of this thread's connection, for as long as many rows are written."""
    from django.db import connection

    names = _FILLING if connection.vendor == "postgresql" else {}
    with connection.cursor() as cursor:
        for name, value in names.items():
            cursor.execute(f"SET {name} = '{value}'")
        try:
            yield
        finally:
            for name in names:
                cursor.execute(f"RESET {name}")


@contextmanager
def filling() -> Iterator[None]:
    """`settings`; at the end the database tidies up and looks at what is there now, for its plans."""
    from django.db import connection

    with settings():
        yield
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")


def write(table: Any, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Writes rows: values of a model's attributes ``names``, in this order. Other columns get the model's defaults.

    Keys that are numbers are given by the database, unless they are among the names; then `numbered` has to follow.
    """
    from django.db import connection

    fields = {field.attname: field for field in table._meta.concrete_fields}
    given = [fields.pop(name) for name in names]
    others = [field for field in fields.values() if not field.get_internal_type().endswith("AutoField")]
    changed = [(place, change) for place, field in enumerate(given) if (change := _change(field)) is not None]
    made = [_maker(field) for field in others]

    def whole() -> Iterator[list[Any]]:
        for row in rows:
            values = list(row)
            for place, change in changed:
                values[place] = change(values[place])
            values += [make() for make in made]
            yield values

    columns = ", ".join(f'"{field.column}"' for field in (*given, *others))
    name = table._meta.db_table
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with cursor.copy(f'COPY "{name}" ({columns}) FROM STDIN') as copy:
                for values in whole():
                    copy.write_row(values)
        else:
            places = ", ".join(["%s"] * (len(given) + len(others)))
            cursor.executemany(f'INSERT INTO "{name}" ({columns}) VALUES ({places})', list(whole()))


def next_number(table: Any) -> int:
    """The first number that is no key of a row and follows all that are."""
    from django.db.models import Max

    return int(table.objects.aggregate(last=Max("pk"))["last"] or 0) + 1


def numbered(*tables: Any) -> None:
    """Lets the database go on after the keys that `write` was given."""
    from django.core.management.color import no_style
    from django.db import connection

    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), tables):
            cursor.execute(statement)


def _change(field: Any) -> Callable[[Any], Any] | None:
    """From a value to what the database's driver takes; None: it takes the value."""
    return json.dumps if field.get_internal_type() == "JSONField" else None


def _maker(field: Any) -> Callable[[], Any]:
    """Gives the value of a column for a row that says nothing about it."""
    from django.db import connection
    from django.utils import timezone

    if getattr(field, "auto_now", False) or getattr(field, "auto_now_add", False):
        value = field.get_db_prep_save(timezone.now(), connection)
    elif field.primary_key:
        return cast("Callable[[], Any]", field.get_default)  # another one for each row
    else:
        value = field.get_default()
        value = json.dumps(value) if field.get_internal_type() == "JSONField" else value
    return lambda: value
