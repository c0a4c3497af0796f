"""/v1 templates."""

from __future__ import annotations

from typing import Any

APP = {"?": {"type": "my.App", "id": "a"}, "name": "n"}


def test_templates_over_the_wire(ann: Any, eve: Any) -> None:
    made = ann.post("/v1/templates", {"name": "t"})
    fields = {"name", "id", "tenant_id", "created", "updated", "description_text", "version", "is_public"}
    assert (made.status_code, set(made.json())) == (200, fields)
    path = f"/v1/templates/{made.json()['id']}"
    assert set(ann.get(path).json()) == fields | {"services"}
    assert ann.post("/v1/templates", {"name": "t"}).status_code == 409
    assert ann.post("/v1/templates", {}).status_code == 400
    assert ann.post(f"{path}/services", APP).json() == APP
    assert ann.get(f"{path}/services/a/name").json() == "n"
    assert ann.put(f"{path}/services/a", {**APP, "name": "m"}).json()["name"] == "m"
    assert ann.put(f"{path}/services/nosuch", APP).status_code == 404
    assert eve.get(path).status_code == 403
    assert eve.put(path, {"name": "x"}).status_code == 403
    assert ann.put(path, {"name": "t", "is_public": True}).json()["is_public"] is True
    assert [t["name"] for t in eve.get("/v1/templates?is_public=true").json()["templates"]] == ["t"]
    assert eve.delete(path).status_code == 403
    assert eve.post(f"{path}/clone", {"name": "c"}).json()["services"] == [{**APP, "name": "m"}]
    made = ann.post(f"{path}/create-environment", {"name": "e"}).json()
    assert set(made) == {"environment_id", "session_id"}
    assert set(ann.delete(f"{path}/services/a").json()) == {"name", "id", "tenant_id", "services", "updated"}
    assert ann.delete(path).status_code == 200
    assert ann.delete(path).status_code == 404
