"""/v1/environments: what goes over the wire."""

from __future__ import annotations

import gc
import json
import tracemalloc
from contextlib import closing
from typing import Any

import pytest
from django.test import RequestFactory

from benchmarks import bulk
from vetro.server.api.v1.routing import respond
from vetro.server.environments.models import Environment
from vetro.server.requests.buffered_response import BufferedResponse


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


@pytest.mark.database
def test_all_names_arrive_as_they_are(ann: Any) -> None:
    names = ['a "quoted" \\ name', "b\ttab and\nline", "c é 🌳 \u2028", "d </script>"]
    for name in names:
        assert ann.post("/v1/environments", {"name": name, "description_text": name[::-1]}).status_code == 200
    listed = ann.get("/v1/environments").json()["environments"]
    assert [(row["name"], row["description_text"]) for row in listed] == [(name, name[::-1]) for name in names]


@pytest.mark.database
def test_a_long_list_is_never_in_memory(ann: Any) -> None:
    count = 12_000
    bulk.write(Environment, ["name", "project_id"], ((f"e{n:05}", ann.caller.project_id) for n in range(count)))
    request = RequestFactory().get("/v1/environments", headers={"x-auth-token": ann.token})
    assert ann.get("/v1/environments").status_code == 200  # what is loaded once
    gc.collect()
    tracemalloc.start()
    try:
        plain = respond(request, "environments")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(plain.body, BufferedResponse) and plain.body.size > 2_500_000
    with closing(plain.body):
        rows = json.loads(b"".join(plain.body))["environments"]
    assert [row["name"] for row in rows] == [f"e{n:05}" for n in range(count)]
    assert most < 5_000_000  # 15 MB when all rows were gathered


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
