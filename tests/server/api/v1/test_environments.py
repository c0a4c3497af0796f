"""/v1/environments: what goes over the wire."""

from __future__ import annotations

from typing import Any

import pytest


def make(person: Any, name: str = "e") -> str:
    return str(person.post("/v1/environments", {"name": name}).json()["id"])


def test_the_life_of_an_environment(ann: Any) -> None:
    assert ann.get("/v1/environments").json() == {"environments": []}
    made = ann.post("/v1/environments", {"name": "e", "tenant_id": "hack"})
    assert made.status_code == 200
    body = made.json()
    assert set(body) == {"name", "id", "tenant_id", "version", "description_text", "created", "updated"}
    assert body["tenant_id"] == ann.caller.project_id
    path = f"/v1/environments/{body['id']}"
    shown = ann.get(path).json()
    assert {k: shown[k] for k in ("status", "acquired_by", "services")} == {
        "status": "ready", "acquired_by": None, "services": [],
    }  # fmt: skip
    assert "status" not in ann.put(path, {"name": "f"}).json()
    assert ann.get(f"{path}/lastStatus").json() == {"lastStatuses": {}}
    gone = ann.delete(path)
    assert (gone.status_code, gone.content, gone["Content-Type"]) == (200, b"", "application/json")
    assert ann.get(path).status_code == 404


@pytest.mark.parametrize(
    ("body", "type_", "status"),
    [
        (b"{bad", "application/json", 400),
        (b"[]", "application/json", 400),
        (b'"x"', "application/json", 400),
        (b'{"name": 5}', "application/json", 400),
        (b'{"name": "x", "id": "mine"}', "application/json", 400),
        (b'{"name": "a\\u0000b"}', "application/json", 400),
        (b'{"name": "\\ud800"}', "application/json", 400),
        (b'{"name": "x", "deep": ' + b"[" * 500 + b"]" * 500 + b"}", "application/json", 400),
        (b'{"name": "x"}', "text/plain", 415),
        (b'{"name": "x"}', "application/json; charset=utf-8", 200),
    ],
)
def test_bodies(ann: Any, body: bytes, type_: str, status: int) -> None:
    answer = ann._client.generic("POST", "/v1/environments", body, content_type=type_)
    assert answer.status_code == status


def test_recorded_statuses_for_others(ann: Any, eve: Any, root: Any) -> None:
    path = f"/v1/environments/{make(ann)}"
    for method, more in (("GET", {}), ("PUT", {"json": {"name": "z"}}), ("DELETE", {})):
        assert eve.request(method, path, **more).status_code == 403
        assert eve.request(method, "/v1/environments/nosuch", **more).status_code == 404
    assert eve.get(f"{path}/model/").status_code == 403
    assert eve.delete(f"{path}?abandon=true").status_code == 403
    assert root.get(path).status_code == 200
    assert eve.get("/v1/environments?all_tenants=true").status_code == 403
    assert eve.get("/v1/environments?all_tenants=False").json() == {"environments": []}
    assert len(root.get("/v1/environments?all_tenants=True").json()["environments"]) == 1
    assert len(root.get(f"/v1/environments?tenant={ann.caller.project_id}").json()["environments"]) == 1


def test_a_trailing_slash_is_another_path(ann: Any) -> None:
    assert ann.get("/v1/environments/").status_code == 404
    assert ann.get(f"/v1/environments/{make(ann)}/model").status_code == 404
    assert ann.post(f"/v1/environments/{make(ann, 'f')}/services/x", {"?": {"type": "T"}}).status_code == 404


@pytest.mark.parametrize("id", ["%ff", "..%2f..", "x" * 3000, "%F0%9F%98%80", "a%20b"])
def test_odd_ids_are_not_found(ann: Any, id: str) -> None:
    for path in (f"/v1/environments/{id}", f"/v1/environments/{id}/deployments", f"/v1/templates/{id}"):
        assert ann.get(path).status_code == 404
