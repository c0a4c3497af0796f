"""Objects for a second life."""

from __future__ import annotations

import itertools
import uuid
from typing import Any

from hypothesis import given

from tests.model.models import models
from vetro.model.copies import Declared, renewed, undeployed
from vetro.model.header import id_of
from vetro.model.tree import objects, references


def new_id() -> str:
    return uuid.uuid4().hex


def test_ids_are_new_and_references_follow() -> None:
    value: Any = [
        {"?": {"type": "T", "id": "a", "_actions": {"a_x": {}}}, "peer": "b", "text": "a b", "all": ["a", "b"]},
        {"?": {"type": "T", "id": "b"}, "owner": {"deep": ["a"]}},
    ]
    one, other = renewed(value, lambda type_text: {}, new_id)  # nobody knows the classes
    a, b = one["?"]["id"], other["?"]["id"]
    assert len({a, b, "a", "b"}) == 4 and "_actions" not in one["?"]
    assert (one["peer"], one["text"], one["all"], other["owner"]) == (b, "a b", [a, b], {"deep": [a]})
    assert value[0]["?"]["id"] == "a"


def test_what_deployments_wrote_is_left_out_or_kept_as_it_is_now() -> None:
    def classes(type_text: str) -> dict[str, Declared]:
        return {"out": Declared("Out", False)} if type_text == "T" else {}

    value = {"?": {"type": "T", "id": "a", "updated": "x"}, "out": 1, "in": [{"?": {"type": "T", "id": "b"}, "out": 2}]}
    assert undeployed(value, classes) == {"?": {"type": "T", "id": "a"}, "in": [{"?": {"type": "T", "id": "b"}}]}
    known = {"b": {"?": {"type": "T", "id": "b"}, "out": 9}}
    assert undeployed(value, classes, known)["in"][0]["out"] == 9


def test_a_text_that_happens_to_be_an_id_stays() -> None:
    """Clients choose ids: an application called ``web`` may well have the id ``web``."""
    random = "0123456789abcdef0123456789abcdef"

    def classes(type_text: str) -> dict[str, Declared]:
        return {"name": Declared("In", False), "peers": Declared("In", True), "text": Declared("In", False)}

    web = {"?": {"type": "T", "id": "web"}, "name": "web", "peers": {"web": ["web", "db"]}, "text": random}
    db = {"?": {"type": "T", "id": "db"}, "name": "db", "peers": {}, "text": "web", "new in the next version": "web"}
    other = {"?": {"type": "T", "id": random}, "name": "web"}
    found = renewed([web, db, other], classes, new_id)
    ids = [obj["?"]["id"] for obj in found]
    assert len({*ids, "web", "db", random}) == 6
    assert [obj["name"] for obj in found] == ["web", "db", "web"]
    assert found[0]["peers"] == {"web": [ids[0], ids[1]]}
    assert (found[0]["text"], found[1]["text"]) == (ids[2], "web")
    assert found[1]["new in the next version"] == ids[0]


@given(models())
def test_renewed_objects_have_the_same_shape_and_no_reference_is_broken(root: dict[str, Any]) -> None:
    """Where the classes are known to hold objects, what named an object names its copy."""
    numbers = itertools.count()
    made = renewed(root, lambda type_text: {}, lambda: f"fresh{next(numbers)}")
    pairs = list(zip(objects(root), objects(made), strict=True))
    fresh = {id_of(old): id_of(new) for old, new in pairs}
    assert len(set(fresh.values())) == len(pairs) and not set(fresh) & set(fresh.values())

    def expected(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: expected(item) for key, item in value.items()}
        if isinstance(value, list):
            return [expected(item) for item in value]
        return fresh.get(value, value) if isinstance(value, str) else value

    assert made == expected(root)
    known = {own for own in fresh.values() if own is not None}
    for old, new in pairs:
        for name in old:
            before = [fresh[own] for own in references(old[name], set(filter(None, fresh)))] if name != "?" else []
            assert name == "?" or list(references(new[name], known)) == before


@given(models())
def test_what_was_not_deployed_stays_as_it_is(root: dict[str, Any]) -> None:
    assert undeployed(root, lambda type_text: {}) == root
    left = undeployed(root, lambda type_text: {"a": Declared("Out", False)})
    assert all("a" not in obj for obj in objects(left))
