"""For migrations: indexes and room of tables, so that writes cost less; no data changes."""

from __future__ import annotations

from collections.abc import Iterable
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
