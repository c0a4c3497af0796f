"""Administration and audit over /v2."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client


def test_users_projects_and_roles(root: Any) -> None:
    project = root.post("/v2/admin/projects", {"name": "shop", "description": "sells"})
    assert (project.status_code, project.json()["users"]) == (201, 0)
    made = root.post("/v2/admin/users", {"name": "cleo", "password": "a long password", "project": "shop"})
    assert (made.status_code, made.json()["projects"]) == (201, {"shop": ["member"]})
    assert b"a long password" not in made.content
    login = {"name": "cleo", "password": "a long password"}
    token = Client().post("/v2/auth/login", login, content_type="application/json").json()["token"]
    assert root.post("/v2/admin/memberships", {"user": "cleo", "project": "shop", "role": "reader"}).status_code == 201
    listed = root.get("/v2/admin/memberships?user=cleo").json()["items"]
    assert [(m["project"], m["role"]) for m in listed] == [("shop", "member"), ("shop", "reader")]
    assert root.delete("/v2/admin/memberships?user=cleo&project=shop&role=reader").status_code == 204
    assert root.delete("/v2/admin/memberships?user=cleo&project=shop&role=reader").status_code == 404
    assert root.patch("/v2/admin/users/cleo", {"enabled": False}).json()["enabled"] is False
    assert Client(headers={"x-auth-token": token}).get("/v2/me").status_code == 401
    assert root.patch("/v2/admin/projects/shop", {"enabled": False}).json()["enabled"] is False
    assert root.post("/v2/admin/users", {"name": "cleo"}).status_code == 409
    assert root.post("/v2/admin/users", {"name": "dan", "password": "short"}).status_code == 400
    assert root.post("/v2/admin/users", {"name": "dan", "project": "nowhere"}).status_code == 404
    assert "dan" not in [u["name"] for u in root.get("/v2/admin/users").json()["items"]]
    link = root.post("/v2/admin/users/cleo/link?project=shop")
    assert link.status_code == 201 and "/app/" in link.json()["url"]
    assert root.delete("/v2/admin/users/cleo").status_code == 204
    assert root.patch("/v2/admin/users/cleo", {"enabled": True}).status_code == 404


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "users"), ("POST", "users"), ("PATCH", "users/bob"), ("DELETE", "users/bob"), ("GET", "projects"),
        ("POST", "projects"), ("PATCH", "projects/demo"), ("GET", "memberships"), ("POST", "memberships"),
        ("DELETE", "memberships?user=bob&project=demo"), ("POST", "users/bob/link?project=demo"),
    ],
)  # fmt: skip
def test_only_administrators_administer(ann: Any, method: str, path: str) -> None:
    body = {"name": "x", "user": "x", "project": "x"} if method == "POST" and "?" not in path else None
    assert ann.request(method, f"/v2/admin/{path}", body).status_code == 403


def test_every_write_leaves_a_record(ann: Any, eve: Any, root: Any) -> None:
    made = ann.post("/v2/environments", {"name": "shop"}).json()["id"]
    ann.patch(f"/v2/environments/{made}", {"name": "market"})
    records = ann.get(f"/v2/audit?target={made}").json()["items"]
    assert [(r["action"], r["user_name"]) for r in records] == [
        ("environment.change", "ann"), ("environment.create", "ann"),
    ]  # fmt: skip
    assert records[0]["details"] == {"fields": ["name"], "before": "shop"}
    assert ann.get("/v2/audit?action=environment.&user=ann&limit=1").json()["next"]
    assert ann.get("/v2/audit?until=2020-01-01T00:00:00Z").json()["items"] == []
    assert eve.get(f"/v2/audit?target={made}").json()["items"] == []
    assert eve.get("/v2/audit?all_projects=true").status_code == 403
    assert len(root.get(f"/v2/audit?all_projects=true&target={made}").json()["items"]) == 2
