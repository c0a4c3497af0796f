"""Parts of models by path and by pointer."""

from __future__ import annotations

from typing import Any

import pytest

from vetro.model import paths
from vetro.model.header import id_of
from vetro.model.paths import ABSENT, NoSuchPart, NotReplaceable, at, pointer, steps_of


def tree() -> list[Any]:
    return [
        {"?": {"id": "a", "type": "T"}, "name": "n", "list": [1, 2]},
        {"?": {"id": "b", "type": "T"}, "inner": {"?": {"id": "c", "type": "U"}, "x": {"y": 1}}},
    ]


def test_parts_are_found_by_id_key_and_index() -> None:
    assert paths.part(tree(), ["a", "name"]) == "n"
    assert paths.part(tree(), ["b", "inner", "x", "y"]) == 1
    assert paths.part(tree(), ["0", "list", "1"]) == 2
    assert paths.part(tree(), ["a", "?", "type"]) == "T"


@pytest.mark.parametrize("path", ["nosuch", "a/nosuch", "7", "-1", "a/list/2", "a/name/x", "²"])
def test_what_is_not_there_is_not_found(path: str) -> None:
    with pytest.raises(NoSuchPart) as raised:
        paths.part(tree(), path.split("/"))
    assert str(raised.value) == path


def test_indexes_do_not_count_where_only_ids_do() -> None:
    with pytest.raises(NoSuchPart):
        paths.part(tree(), ["0"], by_index=False)


def test_a_value_is_replaced_by_key_or_index_but_an_object_not_by_its_id() -> None:
    value = tree()
    paths.replace(value, ["a", "name"], "m")
    paths.replace(value, ["a", "new"], 1)
    paths.replace(value, ["1"], {"?": {"id": "d", "type": "T"}})
    assert (value[0]["name"], value[0]["new"], value[1]["?"]["id"]) == ("m", 1, "d")
    with pytest.raises(NotReplaceable):
        paths.replace(value, ["a"], {})
    for path in (["9"], ["a", "name", "x"]):
        with pytest.raises(NoSuchPart):
            paths.replace(value, path, {})


def test_objects_are_removed_by_id_and_values_by_key() -> None:
    value = tree()
    paths.remove(value, ["a"])
    paths.remove(value, ["b", "inner", "x"])
    assert [id_of(item) for item in value] == ["b"]
    assert "x" not in value[0]["inner"]
    for path in (["0"], ["b", "nosuch"]):
        with pytest.raises(NoSuchPart):
            paths.remove(value, path)


def test_pointers() -> None:
    assert pointer("a/b", 0, "~") == "/a~1b/0/~0"
    assert steps_of("/a~1b/0/~0") == ["a/b", "0", "~"]
    assert steps_of("") == []
    assert at({"a/b": [{"~": 1}]}, "/a~1b/0/~0") == 1
    assert at({"a": [1]}, "/a/1") is ABSENT
    assert at({"a": [1]}, "/a/-1") is ABSENT
    assert at({"a": 1}, "/a/b") is ABSENT
    with pytest.raises(ValueError, match="begins with"):
        steps_of("a")
