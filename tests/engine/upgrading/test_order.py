"""The order of upgrades one by one."""

from __future__ import annotations

import random
from typing import Any

import pytest

from vetro.engine.upgrading.order import order


def root(**uses: list[str]) -> dict[str, Any]:
    """An environment with these applications, each with a part of its own that names what it uses."""
    applications = [
        {"?": {"id": id, "type": "t.A"}, "part": {"?": {"id": f"{id}-part", "type": "t.P"}, "links": {"to": links}}}
        for id, links in uses.items()
    ]
    return {"?": {"id": "env", "type": "io.murano.Environment"}, "applications": applications}


@pytest.mark.parametrize(
    ("uses", "moved", "wanted"),
    [
        ({"web": ["db"], "db": []}, ["web", "db"], [["db"], ["web"]]),
        ({"web": ["db-part"], "db": []}, ["web", "db"], [["db"], ["web"]]),
        ({"a": [], "b": []}, ["a", "b"], [["a"], ["b"]]),
        ({"web": ["db"], "db": []}, ["web-part"], [["web"]]),
        # Through one that stays; cycles together; what names itself.
        ({"web": ["bus"], "bus": ["db"], "db": []}, ["web", "db"], [["db"], ["web"]]),
        ({"a": ["b"], "b": ["a"], "c": ["a"], "d": []}, ["c", "a", "b", "d"], [["d"], ["a", "b"], ["c"]]),
        ({"a": ["a"]}, ["a"], [["a"]]),
        ({"a": ["gone"]}, [], []),
    ],
)
def test_providers_come_first(uses: dict[str, list[str]], moved: list[str], wanted: list[list[str]]) -> None:
    assert order(root(**uses), set(moved)) == wanted


def test_any_graph_is_put_in_order_once() -> None:
    chance = random.Random("order")
    for _ in range(200):
        names = [f"n{number}" for number in range(chance.randint(1, 12))]
        uses = {name: chance.sample(names, chance.randint(0, min(3, len(names)))) for name in names}
        groups = order(root(**uses), set(names))
        place = {name: number for number, group in enumerate(groups) for name in group}
        assert sorted(place) == sorted(names) and sum(map(len, groups)) == len(names)
        reached = {name: _all(name, uses) for name in names}
        for name in names:
            for other in reached[name]:
                assert place[other] <= place[name]
                assert (place[other] == place[name]) == (name in reached[other]), "one group is one cycle"


def _all(name: str, uses: dict[str, list[str]]) -> set[str]:
    found, stack = {name}, [name]
    while stack:
        for other in uses[stack.pop()]:
            if other not in found:
                found.add(other)
                stack.append(other)
    return found
