"""In which order servers start: who needs another, after it."""

from __future__ import annotations

from typing import Any

import pytest

from vetro.server.environments.power_steps import _waves, machines, server_of, steps


def instance(id: str, server: Any, **more: Any) -> dict[str, Any]:
    return {
        "?": {"id": id, "type": "I"},
        "name": f"n-{id}",
        "openstackId": server,
        "flavor": "f",
        "ipAddresses": [],
        **more,
    }


def app(id: str, **parts: Any) -> dict[str, Any]:
    return {"?": {"id": id, "type": "A"}, **parts}


def order(*apps: dict[str, Any]) -> list[list[str]]:
    return [[machine.id for machine in wave] for wave in machines({"applications": list(apps)})]


def test_who_needs_another_is_started_after_it() -> None:
    web, db = instance("web", "s-web"), instance("db", "s-db")
    assert order(app("a", i=web, db="b"), app("b", i=db)) == [["s-db"], ["s-web"]]
    assert order(app("a", i=web, db={"x": ["db"]}), app("b", i=db)) == [["s-db"], ["s-web"]], "a part of it, anywhere"
    assert order(app("a", i=web), app("b", i=db)) == [["s-web", "s-db"]]
    # Through one that has no servers of its own; in a circle the first one begins.
    assert order(app("a", i=web, uses="c"), app("b", i=db), app("c", on="db")) == [["s-db"], ["s-web"]]
    assert order(app("a", i=web, uses="b"), app("b", i=db, uses="a")) == [["s-web"], ["s-db"]]
    assert order(app("a", i=web, me="a", mine="web")) == [["s-web"]]
    assert machines(None) == []


def test_what_is_no_server() -> None:
    assert server_of(instance("i", "s")) == ("s", "n-i")
    for id in (None, "", 5, "x" * 256, "a\nb", "a\0"):
        assert server_of(instance("i", id)) is None
    assert server_of({"openstackId": "s"}) is None


def test_steps_of_a_part() -> None:
    waves = machines({"applications": [app("a", i=instance("1", "s1"), uses="b"), app("b", i=instance("2", "s2"))]})

    def said(action: Any, *wanted: str) -> list[Any]:
        return [(step["action"], [server["id"] for server in step["servers"]]) for step in steps(waves, action, wanted)]

    assert said("start", "s1", "s2") == [("start", ["s2"]), ("start", ["s1"])]
    assert said("stop", "s1", "s2") == [("stop", ["s1"]), ("stop", ["s2"])]
    assert said("restart", "s2") == [("restart", ["s2"])], "one step of the cloud"
    assert said("stop", "s9") == []


@pytest.mark.attack("quotas", "H4")
def test_the_order_costs_what_the_references_are() -> None:
    """1,500 components that each use all later ones kept each page of the environment waiting for 56 seconds."""
    looked = 0

    class Id(str):
        def __hash__(self) -> int:
            nonlocal looked
            looked += 1
            return super().__hash__()

    ids = [Id(number) for number in range(300)]
    for needs in (
        {id: set(ids[number + 1 :]) for number, id in enumerate(ids)},
        {id: {*ids} - {id} for id in ids},  # all circles
    ):
        looked, all = 0, sum(map(len, needs.values()))
        assert [id for wave in _waves(needs) for id in wave][-1] == ids[0 if needs[ids[1]] < {*ids[1:]} else -1]
        assert looked < 20 * all
