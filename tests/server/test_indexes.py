"""What migrations do to tables that hold rows already."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from django.db import IntegrityError, connection, transaction

from vetro.server.indexes import move_to_the_end

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

#: Stored in the row, and beside it.
SHORT, LONG = os.urandom(1600), os.urandom(20_000)


@pytest.fixture
def table() -> Iterator[str]:
    """A table of PostgreSQL with an index, a column that was dropped, and three rows."""
    if connection.vendor != "postgresql":
        pytest.skip("only tables of PostgreSQL are written anew")
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE moved (id int PRIMARY KEY, gone text, kept bytea NOT NULL, maybe bytea, state text NOT NULL)"
        )
        cursor.execute("CREATE INDEX by_state ON moved (state)")
        cursor.execute("ALTER TABLE moved DROP COLUMN gone")
        rows = [(1, SHORT, None, "a"), (2, LONG, SHORT, "b"), (3, b"", LONG, "c")]
        cursor.executemany("INSERT INTO moved (id, kept, maybe, state) VALUES (%s, %s, %s, %s)", rows)
    yield "moved"
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE moved")


def test_columns_that_move_keep_what_they_hold(table: str) -> None:
    with connection.schema_editor() as editor:
        move_to_the_end(editor, table, ["maybe", "kept"])
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM moved ORDER BY id")
        assert cursor.description is not None
        assert [column.name for column in cursor.description] == ["id", "state", "maybe", "kept"]
        found = [(id, state, maybe and bytes(maybe), bytes(kept)) for id, state, maybe, kept in cursor.fetchall()]
        assert found == [(1, "a", None, SHORT), (2, "b", SHORT, LONG), (3, "c", LONG, b"")]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SELECT id FROM moved WHERE state = 'b'")
        assert cursor.fetchall() == [(2,)]


def test_a_column_that_moved_may_be_empty_if_it_might_before(table: str) -> None:
    with connection.schema_editor() as editor:
        move_to_the_end(editor, table, ["kept", "maybe"])
    insert = "INSERT INTO moved (id, kept, state) VALUES (4, %s, 'd')"
    with connection.cursor() as cursor:
        cursor.execute(insert, [b"x"])
        with pytest.raises(IntegrityError), transaction.atomic():
            cursor.execute(insert.replace("4", "5"), [None])


def test_rows_take_no_more_room_afterwards(table: str) -> None:
    """What is dropped goes on taking room until a table is written anew."""
    size = "SELECT pg_table_size('moved')"
    with connection.cursor() as cursor:
        insert = "INSERT INTO moved (id, kept, state) VALUES (%s, %s, 'd')"
        cursor.executemany(insert, [(number, SHORT) for number in range(100, 300)])
        cursor.execute(size)
        ((before,),) = cursor.fetchall()
        with connection.schema_editor() as editor:
            move_to_the_end(editor, table, ["kept"])
        cursor.execute(size)
        ((after,),) = cursor.fetchall()
    assert before > 200 * 1600 and after <= before
