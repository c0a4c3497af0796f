"""Statements written by hand see the transaction at hand and fail as Django's own do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from django.db import IntegrityError, OperationalError, ProgrammingError, connection, transaction
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext

from vetro.server.audit.models import AuditRecord
from vetro.server.catalog.models import Category
from vetro.server.queries import NOW, fetch, fetch_in_parts, insert, time_value, write

pytestmark = pytest.mark.django_db


def test_rows_are_as_django_has_them() -> None:
    at = datetime(2026, 11, 21, 18, 30, 1, 250, tzinfo=UTC)
    insert("catalog_category", {"id": "c1", "name": "50% off", "created": at, "updated": at})
    kept = Category.objects.get(id="c1")
    assert (kept.name, kept.created) == ("50% off", at)
    assert fetch("SELECT name FROM catalog_category WHERE name LIKE '50%%' AND id = %s", ["c1"]) == [("50% off",)]
    ours = fetch("SELECT created, name FROM catalog_category WHERE id = 'c1'")
    with connection.cursor() as cursor:
        cursor.execute("SELECT created, name FROM catalog_category WHERE id = 'c1'")
        assert ours == cursor.fetchall()


def test_rows_come_in_parts() -> None:
    at = datetime.now(UTC)
    for number in range(5):
        insert("catalog_category", {"id": f"c{number}", "name": f"50% {number}", "created": NOW, "updated": at})
    statement = "SELECT name FROM catalog_category WHERE name LIKE '50%%' AND id < %s ORDER BY id"
    every = [(f"50% {number}",) for number in range(5)]
    for most, sizes in ((1, [1] * 5), (2, [2, 2, 1]), (4, [4, 1]), (5, [5]), (9, [5])):
        parts = [*fetch_in_parts(statement, ["d"], most)]
        assert [row for part in parts for row in part] == every and [len(part) for part in parts] == sizes
    assert [*fetch_in_parts(statement, ["a"], 2)] == []
    with CaptureQueriesContext(connection):  # Django's own cursors
        assert [len(part) for part in fetch_in_parts(statement, ["d"], 2)] == [2, 2, 1]
    with pytest.raises((OperationalError, ProgrammingError)), transaction.atomic():
        [*fetch_in_parts("SELECT nothing FROM catalog_category")]


def test_times_compare_in_any_zone() -> None:
    east = datetime(2026, 11, 21, 1, tzinfo=timezone(timedelta(hours=9)))
    insert("catalog_category", {"id": "c1", "name": "c", "created": east, "updated": east})
    assert Category.objects.get(id="c1").created == east
    later = fetch("SELECT id FROM catalog_category WHERE created > %s", [time_value(east - timedelta(seconds=1))])
    assert ("c1",) in later
    assert ("c1",) not in fetch("SELECT id FROM catalog_category WHERE created > %s", [time_value(east)])


def test_now_is_the_time_of_the_database() -> None:
    began = datetime.now(UTC)
    insert("catalog_category", {"id": "c1", "name": "c", "created": NOW, "updated": began})
    assert began - timedelta(seconds=5) < Category.objects.get(id="c1").created < began + timedelta(seconds=60)


def test_mappings_become_json() -> None:
    row = {"project_id": "p", "user_id": "u", "user_name": "", "action": "a", "target_id": "", "target_name": ""}
    insert("audit_auditrecord", {**row, "address": "", "at": datetime.now(UTC), "details": {"a": [1, "é%s"]}})
    assert AuditRecord.objects.get(action="a").details == {"a": [1, "é%s"]}


def test_changes_are_counted_and_rolled_back() -> None:
    count = Category.objects.count()
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        assert write("UPDATE catalog_category SET name = name || %s", ["!"]) == count
        raise ZeroDivisionError
    assert not Category.objects.filter(name__endswith="!").exists()


def test_errors_are_those_of_django() -> None:
    now = datetime.now(UTC)
    row = {"id": "c1", "name": "c", "created": now, "updated": now}
    with transaction.atomic():
        insert("catalog_category", row)
    with pytest.raises(IntegrityError), transaction.atomic():
        insert("catalog_category", row)
    with pytest.raises((OperationalError, ProgrammingError)), transaction.atomic():
        fetch("SELECT 1 FROM nosuch")


def test_a_transaction_that_is_to_be_rolled_back_answers_nothing() -> None:
    with transaction.atomic():
        transaction.set_rollback(True)
        with pytest.raises(TransactionManagementError):
            fetch("SELECT 1")
        transaction.set_rollback(False)


def test_whoever_looks_at_queries_sees_them() -> None:
    with CaptureQueriesContext(connection) as seen:
        assert fetch("SELECT %s + 1", [1]) == [(2,)]
        assert write("UPDATE catalog_category SET name = name WHERE id = %s", ["nosuch"]) == 0
    assert len(seen) == 2
