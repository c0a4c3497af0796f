"""`snapshot`: the database at one moment, for what reads a lot and must not stand in the way of those who write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DEFAULT_DB_ALIAS, connections, transaction


@contextmanager
def snapshot(alias: str = DEFAULT_DB_ALIAS) -> Iterator[None]:
    """The database as it is now, whatever is written meanwhile; within a transaction, what that sees."""
    connection = connections[alias]
    if connection.in_atomic_block:
        yield
        return
    if connection.vendor == "postgresql":
        with transaction.atomic(using=alias), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield
        return
    # Django's own transactions take the lock for writing at once.
    with connection.cursor() as cursor:
        cursor.execute("BEGIN DEFERRED")
        try:
            cursor.execute("SELECT count(*) FROM django_migrations")
            yield
        finally:
            cursor.execute("ROLLBACK")
