"""Changes of two people to one object."""

from __future__ import annotations

import pytest

from vetro.forms.form_source import fingerprint
from vetro.server.environments.errors import DraftChanged
from vetro.server.forms.merge import merged, refilled

BASE = {"?": {"type": "t.Shop/1.0.0@t", "id": "s"}, "a": 1, "b": {"x": 1, "y": 1}, "c": [1, 2]}


def test_both_changes_are_kept() -> None:
    mine = {**BASE, "a": 2, "b": {"x": 1, "y": 2}, "new": 1}
    theirs = {**BASE, "b": {"x": 2, "y": 1}, "c": [3], "other": 2}
    assert merged(BASE, mine, theirs) == {**BASE, "a": 2, "b": {"x": 2, "y": 2}, "c": [3], "other": 2, "new": 1}
    gone = {key: value for key, value in BASE.items() if key != "a"}
    assert merged(BASE, gone, theirs) == {key: value for key, value in theirs.items() if key != "a"}
    assert merged(BASE, BASE, gone) == gone


@pytest.mark.parametrize(
    ("mine", "theirs", "path"),
    [
        ({"a": 2}, {"a": 3}, "/a"),
        ({"b": {"x": 2, "y": 1}}, {"b": {"x": 3, "y": 1}}, "/b/x"),
        ({"c": [1]}, {"c": [2]}, "/c"),
        ({"b": {"?": {"id": "n"}}}, {"b": {"?": {"id": "m"}}}, "/b"),
    ],
)
def test_the_same_place_twice_is_refused(mine: dict[str, object], theirs: dict[str, object], path: str) -> None:
    with pytest.raises(DraftChanged) as caught:
        merged(BASE, {**BASE, **mine}, {**BASE, **theirs})
    assert caught.value.details == {"paths": [path]}


def test_what_code_wrote_stays_when_a_definition_is_answered_anew() -> None:
    before = {"?": {"type": "t.Shop", "id": "s"}, "name": "a", "extra": 1, "host": {"?": {"type": "t.Host", "id": "h"}}}
    stored = {
        **before,
        "?": {"type": "t.Shop/1.0.0@t", "id": "s", "_actions": {}},
        "out": 7,
        "host": {"?": {"type": "t.Host/1.0.0@t", "id": "h"}, "address": "10.0.0.1"},
    }
    made = {"?": {"type": "t.Shop", "id": "s", "name": "shop"}, "name": "b", "host": before["host"]}
    found = refilled(made, stored, fingerprint(before, "salt"))
    assert found == {
        "?": {"type": "t.Shop/1.0.0@t", "id": "s", "_actions": {}, "name": "shop"},
        "name": "b",
        "out": 7,
        "host": stored["host"],
    }
    other = {**made, "host": {"?": {"type": "t.BigHost", "id": "h"}}}
    assert refilled(other, stored, fingerprint(before, "salt"))["host"] == other["host"]
