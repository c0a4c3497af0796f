"""Where the library knowingly differs from the published package (docs/yaql-deviations.md)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.yaql.library.agreement import ours, value
from vetro.yaql.errors import StepsExceeded


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("list([range(2)].select($))", [[0, 1]]),
        ("[1, 1].groupBy(range($))", [[[0], [1, 1]]]),
        ("set(set(1)).len()", 1),
        ("set([1], [1]).len()", 1),
        ("str(set(1, 2))", "{1, 2}"),
        ("characters(letters => true).len()", 52),
        ("characters(lowercase => true, uppercase => true).len()", 52),
        ("characters(digits => true)", list("0123456789")),
        ("set(3, 1, 2).toList()", [3, 1, 2]),
        ("let([1, 2].select(range($)).toList()) -> [$[1].len(), $[1].len()]", [2, 2]),
        ("{a => 1}.keys().union(set(2)).len()", 2),
        ("datetime('2020-01-02T03:04:05Z').offset.seconds", 0.0),
    ],
)
def test_results(text: str, expected: Any) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("pow(-8, 0.333)", "ValueError"),
        ("random(1.5, 2)", "NoMatchingFunctionException"),
        ("regex('(')", "ValueError"),
        ("datetime('garbage')", "ValueError"),
        ("datetime(2020, 1, 2, offset => timespan(hours => 25))", "ValueError"),
        ("[].first()", "NoItems"),
        ("[].single()", "NoItems"),
        ("dict([[a]])", "NoItems"),
    ],
)
def test_errors(text: str, name: str) -> None:
    kind, names = ours(text)
    assert kind == "error"
    assert name in names


def test_endless_walks_use_up_the_steps() -> None:
    with pytest.raises(StepsExceeded):
        value("generateMany(a, b).where(false).len()", max_steps=10_000)
