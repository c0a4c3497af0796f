"""Sessions of PostgreSQL keep the statements that come again, unless a pooler shares them; statements may be long."""

from __future__ import annotations

import contextlib
import re
import select
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from tests.support.needs import need
from vetro.server.environments.models import Environment
from vetro.server.postgresql.base import MOST
from vetro.server.quotas.models import ProjectQuota

pytestmark = [
    pytest.mark.database,
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="of PostgreSQL"),
]


@contextlib.contextmanager
def connected(**settings: Any) -> Iterator[Any]:
    other = connection.copy("other")
    other.settings_dict.update(settings)
    try:
        yield other
    finally:
        other.close()


def prepared(session: Any) -> list[str]:
    with session.cursor() as cursor:
        for _ in range(4):
            cursor.execute("SELECT 1 + %s", [1])
            assert cursor.fetchone() == (2,)
        cursor.execute("SELECT statement FROM pg_prepared_statements WHERE statement LIKE %s", ["SELECT 1 +%"])
        return [row[0] for row in cursor.fetchall()]


def test_a_session_keeps_what_it_is_asked_again() -> None:
    with connected() as session:
        assert prepared(session) == ["SELECT 1 + $1"]


def test_a_column_may_get_another_type_while_others_work() -> None:
    """As in an upgrade: processes of the version before go on."""
    with connected() as session, session.cursor() as cursor:
        cursor.execute("CREATE TABLE altered (a varchar(8))")
        try:
            for type in ("varchar(16)", "text", "varchar(32)"):
                for _ in range(6):
                    cursor.execute("SELECT a FROM altered WHERE a <> %s", ["x"])
                with connected() as other, other.cursor() as migration:
                    migration.execute(f"ALTER TABLE altered ALTER a TYPE {type}")
        finally:
            cursor.execute("DROP TABLE altered")


def test_the_address_may_forbid_it() -> None:
    with connected(OPTIONS={**connection.settings_dict["OPTIONS"], "prepare_threshold": None}) as session:
        assert prepared(session) == []


def test_a_session_that_a_pooler_shares_keeps_nothing() -> None:
    """Each transaction through it may be another session's, which knows nothing of what was prepared before."""
    with pooler() as folder, connected(HOST=folder) as session:
        assert prepared(session) == []


@contextlib.contextmanager
def pooler() -> Iterator[str]:
    """A folder with a socket before the server's, which tells another number of the session, as PgBouncer does."""
    server = Path(connection.settings_dict["HOST"]) / ".s.PGSQL.5432"
    need(None if server.exists() else "the server has no socket of its own")
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{folder}/.s.PGSQL.5432")
        listening.listen()

        def carry() -> None:
            ours, _ = listening.accept()
            with ours, socket.socket(socket.AF_UNIX) as theirs:
                theirs.connect(str(server))
                while True:
                    for one in select.select([ours, theirs], [], [])[0]:
                        data = one.recv(1 << 16)
                        if not data:
                            return
                        if one is theirs:
                            data = re.sub(rb"(?s)K\0\0\0\x0c....", b"K\0\0\0\x0c\0\0\0\x07", data)
                        (ours if one is theirs else theirs).sendall(data)

        thread = threading.Thread(target=carry)
        thread.start()
        yield folder
        thread.join(10)


def test_a_list_may_have_more_values_than_a_statement() -> None:
    made = Environment.objects.create(project_id="p", name="there")
    ids = [made.id, *(f"none-{number}" for number in range(MOST + 10))]
    assert Environment.objects.filter(id__in=ids).count() == 1
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT '100%%', count(*) FROM (VALUES {', '.join(['(%s)'] * len(ids))}) v", ids)
        assert cursor.fetchone() == ("100%", len(ids))


def test_more_rows_may_be_inserted_than_a_statement_takes_values() -> None:
    rows = [ProjectQuota(project_id="p", name=f"q{number}", most=number) for number in range(MOST // 2)]
    ProjectQuota.objects.bulk_create(rows)
    assert ProjectQuota.objects.filter(project_id="p").count() == len(rows)
