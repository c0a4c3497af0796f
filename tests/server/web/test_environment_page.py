"""Differences as pages show them."""

from __future__ import annotations

from typing import Any

import pytest

from vetro.server.web.environment_page import shown_change


def told(old: Any, new: Any, **more: Any) -> dict[str, Any]:
    """One property of a changed object as templates get it."""
    item = {
        "what": "changed", "id": "a", "type": "t.A", "name": "A",
        "properties": [{"name": "p", "old": old, "new": new, "added": False, "removed": False, **more}],
    }  # fmt: skip
    found: dict[str, Any] = shown_change(item, {"id-1": "North"})["properties"][0]
    return found


def test_lists_are_compared_line_by_line_whatever_their_length() -> None:
    old = [f"entry {number} of a long list" for number in range(100)]
    lines = told(old, [*old[:50], "one more", *old[51:]])["lines"]
    assert lines == [
        ("same", 51),
        ("old", ' "entry 50 of a long list",'),
        ("new", ' "one more",'),
        ("same", 50),
    ]


def test_a_few_equal_lines_are_shown() -> None:
    assert told("a\nb", "a\nc")["lines"] == [("", "a"), ("old", "b"), ("new", "c")]


@pytest.mark.parametrize(
    ("old", "new", "more"),
    [
        ("one", "two", {}),
        (None, ["a", "b"], {"added": True}),
        (["a", "b"], None, {"removed": True}),
        (list(range(1500)), list(range(1, 1500)), {}),
    ],
)
def test_other_values_are_shown_as_a_whole(old: Any, new: Any, more: dict[str, Any]) -> None:
    found = told(old, new, **more)
    assert found["lines"] == []
    assert found["old_text"] or found["new_text"]


def test_references_are_called_by_name() -> None:
    found = told("id-1", None)
    assert (found["old_text"], found["new_text"]) == ("North", "null")
