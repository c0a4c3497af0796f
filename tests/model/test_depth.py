"""Models that are nested deeper than Python's stack: nothing here calls itself."""

from __future__ import annotations

from typing import Any

import pytest

from tests.model.models import CANARY, deep
from vetro.model.copies import renewed, undeployed
from vetro.model.differences import diff, same
from vetro.model.edit import place_of, take_back, take_out
from vetro.model.environment import Environment
from vetro.model.secrets import conceal, has_mark, masked, restore, unset, without
from vetro.model.tree import by_id, copied, find, objects, references, walk

LEVELS = 20_000


@pytest.fixture(scope="module")
def model() -> dict[str, Any]:
    return deep(LEVELS)


def names(type_text: str) -> frozenset[str]:
    return frozenset({"word"})


def test_walks_and_look_ups(model: dict[str, Any]) -> None:
    assert sum(1 for _ in objects(model)) == LEVELS + 1
    innermost = find(model, "innermost")
    assert innermost is not None and innermost["word"] == CANARY
    last = list(walk(model))[-1]
    assert last.owner == "o0" and last.path == "/in/0/x" * LEVELS
    assert list(references([["innermost"]], by_id(model))) == ["innermost"]


def test_copies_and_edits(model: dict[str, Any]) -> None:
    made = copied(model)
    assert same({"x": [made]}, {"x": [model]}) and place_of(made, "innermost") is not None
    assert diff(model, made) == []
    assert take_out(made, "innermost") and find(made, "innermost") is None
    assert [item.what for item in diff(model, made)][-1] == "destroyed"
    assert take_back(made, model, "o5")
    assert find(made, "innermost") is not None
    numbers = iter(range(LEVELS * 2))
    fresh = renewed(model, lambda type_text: {}, lambda: f"n{next(numbers)}")
    assert len(by_id(fresh)) == LEVELS + 1 and "innermost" not in by_id(fresh)
    assert len(by_id(undeployed(model, lambda type_text: {}, by_id(model)))) == LEVELS + 1
    assert Environment({"Objects": model}).deployed().root is not model


def test_secrets(model: dict[str, Any]) -> None:
    shown = conceal(model, names)
    assert has_mark(shown)
    assert find(restore(shown, model), "innermost")["word"] == CANARY  # type: ignore[index]
    assert "word" not in find(without(model, names), "innermost")  # type: ignore[operator]
    assert len(unset(model, names)) == LEVELS
    assert masked("x", [model]) == [{"?": {"id": f"o{LEVELS - 1}", "type": "T"}}]


def test_values_without_objects() -> None:
    value: Any = "end"
    for _ in range(LEVELS):
        value = [{"k": value}]
    assert same(value, copied(value)) and list(references(value, {"end"})) == ["end"]
    assert masked("x", value) is not value
