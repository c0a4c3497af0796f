"""Parts of models by path, and what applications have to be."""

from __future__ import annotations

from typing import Any

import pytest

from vetro.server.environments import content
from vetro.server.errors import Invalid, NotFound


def tree() -> list[Any]:
    return [
        {"?": {"id": "a", "type": "T"}, "name": "n", "list": [1, 2]},
        {"?": {"id": "b", "type": "T"}, "inner": {"?": {"id": "c", "type": "U"}, "x": {"y": 1}}},
    ]


def test_parts_are_found_by_id_key_and_index() -> None:
    assert content.part(tree(), ["a", "name"]) == "n"
    assert content.part(tree(), ["b", "inner", "x", "y"]) == 1
    assert content.part(tree(), ["0", "list", "1"]) == 2
    assert content.part(tree(), ["a", "?", "type"]) == "T"


@pytest.mark.parametrize("path", ["nosuch", "a/nosuch", "7", "-1", "a/list/2", "a/name/x", "²"])
def test_what_is_not_there_is_not_found(path: str) -> None:
    with pytest.raises(NotFound, match="nothing at"):
        content.part(tree(), path.split("/"))


def test_indexes_do_not_count_where_only_ids_do() -> None:
    with pytest.raises(NotFound):
        content.part(tree(), ["0"], by_index=False)


def test_a_value_is_replaced_by_key_or_index_but_an_object_not_by_its_id() -> None:
    value = tree()
    content.replace(value, ["a", "name"], "m")
    content.replace(value, ["a", "new"], 1)
    content.replace(value, ["1"], {"?": {"id": "d", "type": "T"}})
    assert (value[0]["name"], value[0]["new"], value[1]["?"]["id"]) == ("m", 1, "d")
    with pytest.raises(Invalid, match="by its id"):
        content.replace(value, ["a"], {})
    with pytest.raises(NotFound):
        content.replace(value, ["9"], {})
    with pytest.raises(NotFound):
        content.replace(value, ["a", "name", "x"], {})


def test_objects_are_removed_by_id_and_values_by_key() -> None:
    value = tree()
    content.remove(value, ["a"])
    content.remove(value, ["b", "inner", "x"])
    assert [content.id_of(item) for item in value] == ["b"]
    assert "x" not in value[0]["inner"]
    with pytest.raises(NotFound):
        content.remove(value, ["0"])


def test_objects_are_told_owners_first() -> None:
    assert [content.id_of(obj) for obj in content.objects_in(tree())] == ["a", "b", "c"]


@pytest.mark.parametrize("bad", ["text", 5, {}, {"?": 1}, {"?": {}}, {"?": {"type": ""}}, [1], [{"a": 1}], None])
def test_an_application_needs_a_header_with_a_class(bad: Any) -> None:
    with pytest.raises(Invalid):
        content.check_services(bad)


def test_ids_are_text_and_occur_once() -> None:
    with pytest.raises(Invalid, match="id of an object"):
        content.check_services({"?": {"type": "T", "id": 5}})
    with pytest.raises(Invalid, match="'a'"):
        content.check_ids({"?": {"id": "r", "type": "E"}, "x": tree(), "y": {"?": {"id": "a", "type": "T"}}})


def test_clients_know_applications_as_services() -> None:
    root = {"?": {"id": "r"}, "applications": [1]}
    assert content.view_of(root) == {"?": {"id": "r"}, "services": [1]}
    assert content.root_of(content.view_of(root)) == root
    assert content.view_of(None) == {}


def test_what_exists_outside_is_the_state_unless_the_state_says_otherwise() -> None:
    assert content.deployed_objects({"Objects": {"a": 1}}) == {"a": 1}
    assert content.deployed_objects({"Objects": {"a": 1}, "ObjectsCopy": None}) is None
