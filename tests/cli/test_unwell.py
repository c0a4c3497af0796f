"""`vetro env show` says of each component that does not run how it is, and why."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from vetro.cli.environments.overview import _unwell

PARTS = [
    {"name": "web", "health": {"state": "degraded", "text": "no connection to 10.0.0.5:80: refused", "since": None}},
    {"name": "db", "health": {"state": "running", "text": "", "since": None}},
]


@pytest.mark.parametrize(
    ("health", "asked", "wanted"),
    [(None, 0, []), ({"state": "running"}, 0, []), ({"state": "degraded"}, 1, PARTS[:1])],
)
def test_components_that_do_not_run(health: Any, asked: int, wanted: Any) -> None:
    paths: list[str] = []

    def get(path: str) -> Any:
        paths.append(path)
        return {"components": PARTS}

    client: Any = SimpleNamespace(get=get)
    assert _unwell(client, {"id": "e", "health": health}) == wanted
    assert paths == ["/environments/e/health"] * asked
