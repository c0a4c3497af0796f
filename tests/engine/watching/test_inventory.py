"""What clouds have is listed: when, and when not."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.engine.watching.world import Cloud, Run, environment
from vetro.engine.watching import inventory


def listed(run: Run, count: int) -> list[dict[str, Any]]:
    for _ in range(1000):
        if len(run.contents) >= count:
            return run.contents
        time.sleep(0.01)
    raise AssertionError(run.contents)


def test_what_a_cloud_has_is_listed_soon_and_again_when_something_goes_down(
    cloud: Cloud, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inventory, "LEAST", 0.2)
    cloud.server("s1")
    run.put(environment())
    (first,) = listed(run, 1)
    content = {"stacks": {"web": "digest"}, "servers": {"s1": ["s1", "ACTIVE"]}}
    assert first == {"id": "e1", "number": 1, **content}
    run.until("running")
    assert len(run.contents) == 1
    cloud.server("s1", "ERROR")
    run.until("down")
    assert listed(run, 2)[1]["servers"] == {"s1": ["s1", "ERROR"]}


def test_a_cloud_that_is_away_has_nothing_and_lacks_nothing(cloud: Cloud, run: Run) -> None:
    cloud.server("s1")
    run.put(environment("e0"))
    listed(run, 1)
    cloud.trouble = "it is away"
    run.put(environment())
    assert listed(run, 2)[1] == {"id": "e1", "number": 1, "trouble": "it is away"}


def test_environments_without_servers_are_listed_and_nobody_is_twice_at_once(cloud: Cloud, run: Run) -> None:
    for number in range(30):
        run.put({**environment(f"e{number}"), "components": []})
    assert {item["id"] for item in listed(run, 30)} == {f"e{number}" for number in range(30)}
    assert sorted(cloud.listed) == sorted({f"e{number}" for number in range(30)})
