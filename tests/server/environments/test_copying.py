"""Objects for a second life."""

from __future__ import annotations

from typing import Any

from vetro.server.environments.copying import renewed, undeployed


def test_ids_are_new_and_references_follow() -> None:
    value: Any = [
        {"?": {"type": "T", "id": "a", "_actions": {"a_x": {}}}, "peer": "b", "text": "a b", "all": ["a", "b"]},
        {"?": {"type": "T", "id": "b"}, "owner": {"deep": ["a"]}},
    ]
    one, other = renewed(value)
    a, b = one["?"]["id"], other["?"]["id"]
    assert len({a, b, "a", "b"}) == 4 and "_actions" not in one["?"]
    assert (one["peer"], one["text"], one["all"], other["owner"]) == (b, "a b", [a, b], {"deep": [a]})
    assert value[0]["?"]["id"] == "a"


def test_what_deployments_wrote_is_left_out_or_kept_as_it_is_now() -> None:
    def usages(type_text: str) -> dict[str, str]:
        return {"out": "Out"} if type_text == "T" else {}

    value = {"?": {"type": "T", "id": "a", "updated": "x"}, "out": 1, "in": [{"?": {"type": "T", "id": "b"}, "out": 2}]}
    assert undeployed(value, usages) == {"?": {"type": "T", "id": "a"}, "in": [{"?": {"type": "T", "id": "b"}}]}
    known = {"b": {"?": {"type": "T", "id": "b"}, "out": 9}}
    assert undeployed(value, usages, known)["in"][0]["out"] == 9
