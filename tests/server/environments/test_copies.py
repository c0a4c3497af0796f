"""Objects for a second life."""

from __future__ import annotations

from typing import Any

from vetro.server.environments.copies import Declared, renewed, undeployed


def test_ids_are_new_and_references_follow() -> None:
    value: Any = [
        {"?": {"type": "T", "id": "a", "_actions": {"a_x": {}}}, "peer": "b", "text": "a b", "all": ["a", "b"]},
        {"?": {"type": "T", "id": "b"}, "owner": {"deep": ["a"]}},
    ]
    one, other = renewed(value, lambda type_text: {})  # nobody knows the classes
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
    found = renewed([web, db, other], classes)
    ids = [obj["?"]["id"] for obj in found]
    assert len({*ids, "web", "db", random}) == 6
    assert [obj["name"] for obj in found] == ["web", "db", "web"]
    assert found[0]["peers"] == {"web": [ids[0], ids[1]]}
    assert (found[0]["text"], found[1]["text"]) == (ids[2], "web")
    assert found[1]["new in the next version"] == ids[0]
