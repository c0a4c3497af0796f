"""What may be stored."""

from __future__ import annotations

from typing import Any

import pytest

from vetro.server.environments import limits
from vetro.server.errors import Invalid


@pytest.mark.parametrize("name", [None, "", "  ", 5, [], "x" * 256, "a\0b", "\ud800"])
def test_names_that_are_refused(name: Any) -> None:
    with pytest.raises(Invalid):
        limits.name_of(name, "give a name", "Thing")


def test_names_of_any_script_are_taken_as_they_are() -> None:
    assert limits.name_of("имя ☃", "", "Thing") == "имя ☃"
    assert len(limits.name_of("x" * 255, "", "Thing")) == 255


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_depth_is_limited_whatever_the_nesting() -> None:
    limits.check_depth(nested(limits.DEEPEST), "it")
    for depth in (limits.DEEPEST + 1, 50_000):
        with pytest.raises(Invalid, match="nested deeper"):
            limits.check_depth(nested(depth), "it")


def test_size_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LARGEST_MODEL", 100)
    limits.check_model({"a": "x" * 80})
    with pytest.raises(Invalid, match="100 at most"):
        limits.check_model({"a": "x" * 100})


@pytest.mark.parametrize("text", ["", "x" * 65, "a\0", "ü", "a b\n"])
def test_texts_that_can_be_no_id_are_not_looked_up(text: str) -> None:
    assert not limits.known_id(text)


@pytest.mark.parametrize("bad", ["text", 5, {}, {"?": 1}, {"?": {}}, {"?": {"type": ""}}, [1], [{"a": 1}], None])
def test_an_application_needs_a_header_with_a_class(bad: Any) -> None:
    with pytest.raises(Invalid):
        limits.check_services(bad)


def test_ids_are_text_and_occur_once() -> None:
    with pytest.raises(Invalid, match="id of an object"):
        limits.check_services({"?": {"type": "T", "id": 5}})
    with pytest.raises(Invalid, match="'a'"):
        limits.check_ids(
            {"?": {"id": "r", "type": "E"}, "x": [{"?": {"id": "a"}}], "y": {"?": {"id": "a", "type": "T"}}}
        )
