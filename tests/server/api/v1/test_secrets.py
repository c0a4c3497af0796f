"""What classes call secret, as /v1 tells it: to those who may change the environment, and to nobody else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.server.api.v2.conftest import archive, upload

CANARY = "v1-canary-47"


def test_readers_are_told_no_secret_by_any_call(people: Callable[..., Any], ann: Any, drain: Any) -> None:
    from vetro.server.catalog import standard_packages

    standard_packages.ensure()
    assert upload(ann, archive()).status_code == 201
    env = ann.post("/v1/environments", {"name": "e"}).json()["id"]
    path = f"/v1/environments/{env}"
    head = {"headers": {"x-configuration-session": ann.post(f"{path}/configure").json()["id"]}}
    tree = {"?": {"type": "test.Tree", "id": "1" * 32}, "name": "oak", "pin": CANARY, "nest": None}
    assert ann.post(f"{path}/services", tree, **head).status_code == 200
    session = head["headers"]["x-configuration-session"]
    assert ann.post(f"{path}/sessions/{session}/deploy").status_code == 200
    drain()
    assert ann.get(path).json()["status"] == "ready"
    called = ann.post(f"{path}/actions/{'1' * 32}_lock", {"pin": CANARY, "times": 2})
    assert called.status_code == 200
    drain()
    reed = people("reed", "demo", "reader")
    places = [
        path, f"{path}/services", f"{path}/services/{'1' * 32}", f"{path}/services/{'1' * 32}/pin",
        f"{path}/model/", f"{path}/model/services/0/pin", f"{path}/deployments", "/v1/deployments",
    ]  # fmt: skip
    for place in places:
        told, full = reed.get(place), ann.get(place)
        assert told.status_code == full.status_code == 200, place
        assert CANARY not in told.content.decode(), place
        assert CANARY in full.content.decode(), place  # whoever may change it edits whole applications
    assert reed.get(f"{path}/services/{'1' * 32}/name").json() == "oak"
    (lock, deployed) = reed.get("/v1/deployments").json()["deployments"]
    assert lock["action"]["args"] == {"pin": {"secret": "kept"}, "times": 2}
    assert deployed["description"]["services"][0]["pin"] == {"secret": "kept"}
