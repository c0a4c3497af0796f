"""Environment templates over /v2."""

from __future__ import annotations

from typing import Any

from tests.server.api.v2.conftest import tree


def test_a_template_is_made_changed_used_and_removed(ann: Any, orchard: Any) -> None:
    made = ann.post("/v2/templates", {"name": "grove", "services": [tree()]})
    assert made.status_code == 201, made.content
    address = f"/v2/templates/{made.json()['id']}"
    changed = ann.patch(address, {"description": "shady", "services": [tree(), tree("t2")]}).json()
    assert (changed["name"], changed["description"], len(changed["services"])) == ("grove", "shady", 2)
    begun = ann.post(f"{address}/create-environment", {"name": "wood"})
    assert begun.status_code == 201
    components = ann.get(f"/v2/sessions/{begun.json()['session_id']}/components").json()["items"]
    assert [c["id"] for c in components] == ["t1", "t2"]
    assert ann.post("/v2/templates", {"name": "grove"}).status_code == 409
    assert ann.patch(address, {"services": [{"no": "header"}]}).status_code == 400
    assert ann.delete(address).status_code == 204
    assert ann.get(address).status_code == 404


def test_templates_of_others_are_unknown_unless_public(ann: Any, eve: Any, db: None) -> None:
    hidden = ann.post("/v2/templates", {"name": "hidden"}).json()["id"]
    shared = ann.post("/v2/templates", {"name": "shared", "is_public": True}).json()["id"]
    unknown = "0" * 32
    for method, path, body in (
        ("GET", "", None), ("PATCH", "", {"name": "x"}), ("DELETE", "", None), ("POST", "/clone", {"name": "x"}),
        ("POST", "/create-environment", {"name": "x"}),
    ):  # fmt: skip
        one = eve.request(method, f"/v2/templates/{hidden}{path}", body)
        other = eve.request(method, f"/v2/templates/{unknown}{path}", body)
        assert (one.status_code, other.status_code) == (404, 404)
        assert one.content.decode().replace(hidden, unknown) == other.content.decode()
    assert [t["name"] for t in eve.get("/v2/templates").json()["items"]] == ["shared"]
    assert eve.patch(f"/v2/templates/{shared}", {"name": "mine"}).status_code == 404
    assert eve.delete(f"/v2/templates/{shared}").status_code == 404
    assert eve.post(f"/v2/templates/{shared}/clone", {"name": "copy"}).status_code == 201
    assert [t["name"] for t in eve.get("/v2/templates?public=false").json()["items"]] == ["copy"]
