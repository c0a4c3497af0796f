"""Marks and masks in the place of secrets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from tests.model.models import CANARY, SECRET, models
from vetro.model.header import id_of, type_of
from vetro.model.secrets import (
    MarkWithoutSecret,
    conceal,
    has_mark,
    is_mark,
    kept,
    mark,
    masked,
    restore,
    unset,
    without,
)
from vetro.model.tree import by_id, copied, objects
from vetro.yaql.redact import MASK


def names(type_text: str) -> frozenset[str]:
    return SECRET


@given(models(secrets=True))
def test_a_concealed_model_holds_no_secret_and_is_restored_from_what_is_stored(root: dict[str, Any]) -> None:
    shown = conceal(root, names)
    assert CANARY not in repr(shown)
    assert by_id(shown).keys() == by_id(root).keys()
    assert has_mark(shown) == (CANARY in repr(root))
    assert restore(shown, root) == root


@given(models(secrets=True))
def test_nothing_is_left_of_secrets_and_marks(root: dict[str, Any]) -> None:
    for given_ in (root, conceal(root, names)):
        left = without(given_, names)
        assert CANARY not in repr(left) and not has_mark(left)
        assert by_id(left).keys() == by_id(root).keys()


@given(models(secrets=True))
def test_masked_values_hold_no_secret(root: dict[str, Any]) -> None:
    before = copied(root)
    for obj in objects(root):
        for name, value in obj.items():
            if name != "?":
                assert CANARY not in repr(masked(name, value, "T", lambda class_name, name: name in SECRET))
    assert root == before


@given(models(secrets=True))
def test_secrets_without_a_value_are_told(root: dict[str, Any]) -> None:
    missing = {(row["object"], row["property"]) for row in unset(root, names)}
    assert missing == {(id_of(obj), name) for obj in objects(root) for name in SECRET if name not in obj}
    assert all(row["type"] == type_of(by_id(root)[row["object"]]) for row in unset(root, names))


def test_a_mark_needs_a_stored_secret() -> None:
    stored = {"?": {"id": "a", "type": "T"}, "pin": 5}
    assert restore({"?": {"id": "a"}, "pin": mark()}, stored)["pin"] == 5
    with pytest.raises(MarkWithoutSecret) as raised:
        restore({"?": {"id": "a"}, "word": mark()}, stored)
    assert (raised.value.name, raised.value.object_id) == ("word", "a")
    with pytest.raises(MarkWithoutSecret) as raised:
        restore([{"?": {"type": "T"}, "pin": mark()}], stored)
    assert raised.value.object_id is None


def test_what_is_not_set_is_not_marked() -> None:
    value = {"?": {"type": "T"}, "pin": None, "word": ""}
    assert conceal(value, names) == value


def test_marks_say_where_a_secret_stood() -> None:
    assert is_mark(mark()) and is_mark(mark("/a")) and not is_mark({**mark(), "more": 1}) and not is_mark("kept")
    stored = {"list": [1, 2], "x": 3}
    assert kept(mark("/list/1"), stored, "/x") == 2
    assert kept(mark(), stored, "/x") == 3
    assert repr(kept(mark(), None, "/x")) == repr(kept(mark("no pointer"), stored, "/x")) == "ABSENT"


def test_names_that_sound_secret_are_masked_at_any_depth_and_objects_are_told_by_id() -> None:
    inner = {"?": {"id": "i", "type": "T", "more": 1}, "password": "p"}
    assert masked("x", [{"Token": "t", "b": [inner]}, ""]) == [
        {"Token": MASK, "b": [{"?": {"id": "i", "type": "T"}}]},
        "",
    ]
    assert masked("apiKey", "k") == MASK and masked("apiKey", "") == "" and masked("apiKey", None) is None
