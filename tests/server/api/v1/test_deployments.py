"""/v1 deployments."""

from __future__ import annotations

from typing import Any


def test_a_deployment_over_the_wire(ann: Any, eve: Any, drain: Any) -> None:
    from vetro.server.catalog import standard_packages

    standard_packages.ensure()
    env = ann.post("/v1/environments", {"name": "e"}).json()["id"]
    path = f"/v1/environments/{env}"
    session = ann.post(f"{path}/configure").json()["id"]
    assert ann.get(f"{path}/deployments").json() == {"deployments": []}
    deployed = ann.post(f"{path}/sessions/{session}/deploy")
    assert (deployed.status_code, deployed.content) == (200, b"")
    assert ann.get(path).json()["acquired_by"] == session
    assert ann.post(f"{path}/sessions/{session}/deploy").status_code == 403
    assert ann.delete(path).status_code == 403
    (running,) = ann.get(f"{path}/deployments").json()["deployments"]
    assert set(running) == {
        "id", "environment_id", "started", "finished", "created", "updated", "description", "action", "result", "state",
    }  # fmt: skip
    assert (running["finished"], running["result"], running["state"]) == (None, {}, "running")
    assert running["description"]["services"] == []
    drain()
    (done,) = ann.get("/v1/deployments").json()["deployments"]
    assert (done["state"], done["result"]) == ("success", {"result": None, "isException": False})
    told = ann.get(f"{path}/deployments/{done['id']}").json()["reports"]
    assert [r["text"] for r in told] == ["Action deploy is scheduled", "Deployment finished"]
    assert set(told[0]) == {
        "id", "task_id", "entity_id", "entity", "text", "details", "level", "created", "updated",
    }  # fmt: skip
    assert eve.get(f"{path}/deployments/{done['id']}").status_code == 403
    assert ann.get(f"{path}/deployments/nosuch").status_code == 404
    assert eve.get("/v1/deployments").json() == {"deployments": []}
