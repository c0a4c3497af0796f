"""What counts as the same row in two databases, and the tables that there are."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from vetro.server.dbtools.tables import Column, Sum, Table, tables

TABLE = Table("t", (Column("id", "int", None), Column("data", "json", None), Column("text", "text", 10)), "id")


def checksum(*rows: list[Any], table: Table = TABLE) -> str:
    total = Sum(table)
    for row in rows:
        total.add(row)
    assert total.count == len(rows)
    return total.checksum


def test_order_of_rows_and_keys_and_spelling_of_numbers_do_not_count() -> None:
    one = checksum([1, '{"a": 1e2, "b": [1.50, null]}', "x"], [2, "{}", None])
    assert one == checksum([2, "{ }", None], [1, '{"b":[1.5,null],"a":100}', "x"])
    assert checksum([1, "1e22", ""]) == checksum([1, "10000000000000000000000", ""])


@pytest.mark.parametrize(
    "other",
    [
        [1, '{"a": 1}', ""],
        [1, '{"a": "1"}', "x"],
        [1, '{"a": true}', "x"],
        [2, '{"a": 1}', "x"],
        [1, "null", "x"],
        [1, None, "x"],
    ],
)
def test_everything_else_does(other: list[Any]) -> None:
    assert checksum([1, '{"a": 1}', "x"]) != checksum(other)


def test_a_row_that_is_there_twice_is_not_one_that_is_missing() -> None:
    row = [1, "{}", "x"]
    assert len({checksum(), checksum(row), checksum(row, row)}) == 3


def test_values_do_not_run_into_each_other() -> None:
    table = Table("t", (Column("a", "text", None), Column("b", "text", None)), "")
    assert checksum(["ab", "c"], table=table) != checksum(["a", "bc"], table=table)
    assert checksum(["", None], table=table) != checksum([None, ""], table=table)
    times = Table("t", (Column("a", "time", None),), "")
    assert checksum([datetime(2026, 1, 1, tzinfo=UTC)], table=times) != checksum([None], table=times)


def test_every_table_comes_after_those_it_refers_to() -> None:
    from django.apps import apps

    order = [table.name for table in tables()]
    assert len(order) == len(set(order)) and "catalog_package_categories" in order
    for model in apps.get_models(include_auto_created=True):
        for field in model._meta.local_fields:
            if field.remote_field is not None and field.remote_field.model is not model:
                other = field.remote_field.model._meta.db_table
                assert order.index(other) < order.index(model._meta.db_table)
