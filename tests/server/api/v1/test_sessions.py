"""/v1 sessions."""

from __future__ import annotations

from typing import Any


def test_statuses_of_sessions(ann: Any, bob: Any, eve: Any) -> None:
    env = ann.post("/v1/environments", {"name": "e"}).json()["id"]
    other = ann.post("/v1/environments", {"name": "f"}).json()["id"]
    opened = ann.post(f"/v1/environments/{env}/configure")
    body = opened.json()
    assert set(body) == {"environment_id", "user_id", "state", "version", "id", "created", "updated"}
    assert (body["state"], body["user_id"]) == ("opened", ann.caller.user_id)
    path = f"/v1/environments/{env}/sessions/{body['id']}"
    assert ann.get(path).json() == body
    refused = bob.get(path)
    assert (refused.status_code, refused["www-authenticate"].partition(" ")[0]) == (401, "Keystone")
    assert eve.get(path).status_code == 403
    assert ann.get(f"/v1/environments/{other}/sessions/{body['id']}").status_code == 400
    assert ann.get(f"/v1/environments/nosuch/sessions/{body['id']}").status_code == 400
    assert ann.get(f"/v1/environments/{env}/sessions/nosuch").status_code == 404
    assert ann.get(f"/v1/environments/{env}/sessions").status_code == 404
    assert bob.delete(path).status_code == 401
    assert ann.delete(path).status_code == 200
    assert ann.delete(path).status_code == 404
    assert ann.post(f"{path}/deploy").status_code == 404
