"""For migrations: indexes, room and order of columns of tables, so that writes cost less; no data changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def drop_indexes(schema_editor: Any, model: Any, columns: Iterable[str]) -> None:
    """Drops the indexes of single columns, for which another one that begins with the column serves as well."""
    for column in columns:
        for name in schema_editor._constraint_names(model, [column], index=True, unique=False, primary_key=False):
            schema_editor.execute(f"DROP INDEX IF EXISTS {schema_editor.quote_name(name)}")


def drop_pattern_indexes(schema_editor: Any, app: str) -> None:
    """Drops what Django makes on PostgreSQL for ``LIKE 'prefix%'`` beside each index of a text, in all tables of an
    app: ids are never looked for by how they begin."""
    if schema_editor.connection.vendor != "postgresql":
        return
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexname FROM pg_indexes WHERE schemaname = current_schema() AND tablename LIKE %s"
            " AND indexname LIKE %s AND indexdef LIKE %s",
            [f"{app}\\_%", "%\\_like", "%varchar_pattern_ops)%"],
        )
        for (name,) in cursor.fetchall():
            cursor.execute(f"DROP INDEX IF EXISTS {schema_editor.quote_name(name)}")


def set_fill_factor(schema_editor: Any, table: str, percent: int) -> None:
    """Has PostgreSQL fill the pages of a table up to ``percent`` only: new versions of a row find room beside the old
    one, and no index is written (HOT)."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"ALTER TABLE {schema_editor.quote_name(table)} SET (fillfactor = {percent})")


def vacuum_at(schema_editor: Any, table: str, share: float) -> None:
    """Has PostgreSQL clean up a table when this share of its rows is dead, where it waits for a fifth by default."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(
            f"ALTER TABLE {schema_editor.quote_name(table)} SET (autovacuum_vacuum_scale_factor = {share},"
            " autovacuum_vacuum_threshold = 500)"
        )


def move_to_the_end(schema_editor: Any, table: str, columns: Sequence[str]) -> None:
    """Makes these the last columns of a table of PostgreSQL, in this order; they hold bytes.

    Of a new version of a row that finds room beside the old one PostgreSQL logs what is between the first and the last
    byte that changed. So what is large and stays as it is stands after all that changes. Nobody else can use the table
    meanwhile: it is written twice, since a column that is dropped keeps its room in the rows that are there.
    """
    if schema_editor.connection.vendor != "postgresql":
        return
    with schema_editor.connection.cursor() as cursor:
        described = {column.name: column for column in schema_editor.connection.introspection.get_table_description(
            cursor, table)}  # fmt: skip
    quote = schema_editor.quote_name
    pairs = [(quote(name), quote(f"{name}_moved")) for name in columns]

    def alter(*changes: str) -> None:
        schema_editor.execute(f"ALTER TABLE {quote(table)} {', '.join(changes)}")

    alter(*(f"ADD COLUMN {new} bytea" for _, new in pairs))
    alter(*(f"ALTER COLUMN {new} TYPE bytea USING {old}" for old, new in pairs))
    alter(*(f"DROP COLUMN {old}" for old, _ in pairs))
    for old, new in pairs:
        alter(f"RENAME COLUMN {new} TO {old}")
    needed = [f"ALTER COLUMN {quote(name)} SET NOT NULL" for name in columns if not described[name].null_ok]
    alter(*(f"ALTER COLUMN {old} TYPE bytea USING {old} || ''::bytea" for old, _ in pairs), *needed)
