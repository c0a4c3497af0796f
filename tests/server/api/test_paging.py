"""Parts of lists that are in memory: a cursor is a place, whatever happens to the rows."""

from __future__ import annotations

from typing import Any

import pytest

from vetro.server.api.paging import part
from vetro.server.errors import Invalid


def rows(*names: str) -> list[dict[str, Any]]:
    return [{"id": f"{number}{name}", "name": name} for number, name in enumerate(names)]


def names(found: dict[str, Any]) -> list[str]:
    return [item["name"] for item in found["items"]]


def test_what_a_part_ended_with_may_be_gone() -> None:
    items = rows("a", "b", "b", "b", "c", "d")
    first = part(items, "id", None, 2)
    assert (names(first), first["total"]) == (["a", "b"], 6)
    left = [item for item in items if item not in first["items"]]
    following = part([*rows("A"), *left], "id", first["next"], 2)
    assert names(following) == ["b", "b"]
    last = part(left, "id", following["next"], 2)
    assert (names(last), last["next"]) == (["c", "d"], None)
    assert part([], "id", first["next"], 2) == {"items": [], "total": 0, "next": None}


def test_names_as_long_as_they_may_be() -> None:
    items = rows("\N{DECIDUOUS TREE}" * 255, "\N{DECIDUOUS TREE}" * 255)
    first = part(items, "id", None, 1)
    assert len(first["next"]) < 4000
    assert names(part(items, "id", first["next"], 1)) == [items[1]["name"]]


@pytest.mark.parametrize("text", ["nonsense", "WyJhIl0", "WzEsMl0"])
def test_texts_that_are_none(text: str) -> None:
    with pytest.raises(Invalid, match="no cursor of this list"):
        part(rows("a"), "id", text, 1)
