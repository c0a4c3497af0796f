"""Environments over /v2: list, change, copy, topology, status, states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.server.api.v2.conftest import tree

Deploy = Callable[..., Any]


def test_an_environment_is_made_shown_changed_and_removed(ann: Any, db: None) -> None:
    made = ann.post("/v2/environments", {"name": "shop", "description": "sells"})
    assert made.status_code == 201
    shown = made.json()
    assert (shown["name"], shown["description"], shown["status"], shown["version"]) == ("shop", "sells", "ready", 0)
    assert shown["created"].endswith("Z")
    address = f"/v2/environments/{shown['id']}"
    assert ann.patch(address, {"description": "buys"}).json()["name"] == "shop"
    assert ann.patch(address, {"name": "market"}).json()["description"] == "buys"
    assert ann.get(address).json()["name"] == "market"
    assert ann.post("/v2/environments", {"name": "market"}).status_code == 409
    ann.post("/v2/environments", {"name": "shop"})
    assert ann.patch(address, {"name": "shop"}).status_code == 409
    assert ann.patch(address, {"nmae": "x"}).status_code == 400
    gone = ann.delete(address)
    assert (gone.status_code, gone.json()) == (200, None)
    assert ann.get(address).status_code == 404


def test_lists_are_of_the_project_and_come_in_pages(ann: Any, bob: Any, eve: Any, root: Any) -> None:
    for name in ("b", "a", "c"):
        assert ann.post("/v2/environments", {"name": name}).status_code == 201
    eve.post("/v2/environments", {"name": "evil"})
    first = bob.get("/v2/environments?limit=2").json()
    assert ([i["name"] for i in first["items"]], first["total"]) == (["a", "b"], 3)
    rest = bob.get(f"/v2/environments?limit=2&cursor={first['next']}").json()
    assert ([i["name"] for i in rest["items"]], rest["next"]) == (["c"], None)
    assert [i["name"] for i in bob.get("/v2/environments?search=B").json()["items"]] == ["b"]
    assert bob.get("/v2/environments?all_projects=true").status_code == 403
    assert len(root.get("/v2/environments?all_projects=true").json()["items"]) == 4
    theirs = root.get(f"/v2/environments?project={eve.caller.project_id}").json()["items"]
    assert [i["name"] for i in theirs] == ["evil"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "", None), ("PATCH", "", {"name": "x"}), ("DELETE", "", None), ("POST", "/clone", {"name": "x"}),
        ("GET", "/export", None), ("GET", "/topology", None), ("GET", "/status", None), ("GET", "/states", None),
        ("GET", "/states/0", None), ("GET", "/diff?from=0", None), ("POST", "/states/0/restore", None),
        ("POST", "/sessions", None), ("GET", "/sessions", None), ("GET", "/actions", None),
        ("POST", "/actions/t1_water", {"args": {}}),
    ],
)  # fmt: skip
def test_environments_of_others_are_unknown_ones(eve: Any, environment: str, method: str, path: str, body: Any) -> None:
    unknown = "0" * 32
    one = eve.request(method, f"/v2/environments/{environment}{path}", body)
    other = eve.request(method, f"/v2/environments/{unknown}{path}", body)
    assert (one.status_code, other.status_code) == (404, 404)
    assert one.content.decode().replace(environment, unknown) == other.content.decode()


def test_readers_read_and_write_nothing(people: Any, environment: str) -> None:
    reader = people("reed", "demo", "reader")
    assert reader.get(f"/v2/environments/{environment}").status_code == 200
    assert reader.post("/v2/environments", {"name": "x"}).status_code == 403
    assert reader.post(f"/v2/environments/{environment}/sessions").status_code == 403
    assert reader.delete(f"/v2/environments/{environment}").status_code == 403
    assert reader.get(f"/v2/environments/{environment}/export").status_code == 403


def test_deleting_what_is_deployed_is_a_task(ann: Any, environment: str, deploy: Deploy, drain: Deploy) -> None:
    deploy(tree())
    task = ann.delete(f"/v2/environments/{environment}").json()
    assert (task["kind"], task["environment_id"]) == ("destroy", environment)
    assert ann.delete(f"/v2/environments/{environment}").status_code == 403
    drain()
    assert ann.get(f"/v2/environments/{environment}").status_code == 404
    assert ann.get(f"/v2/tasks/{task['id']}").json()["state"] == "done"


def test_a_deployment_changes_an_environment(ann: Any, environment: str, deploy: Deploy) -> None:
    before = ann.get(f"/v2/environments/{environment}").json()
    assert before["changed"] == before["updated"]
    deploy(tree())
    after = ann.get(f"/v2/environments/{environment}").json()
    assert after["updated"] == before["updated"] < after["changed"]


def test_states_are_listed_compared_and_restored(ann: Any, environment: str, deploy: Deploy) -> None:
    deploy(tree("t1", pin="4321"))
    deploy(tree("t1", pin="8765", height=4), tree("t2", neighbour="t1"))
    address = f"/v2/environments/{environment}"
    states = ann.get(f"{address}/states").json()
    assert ([s["number"] for s in states["items"]], states["total"]) == ([2, 1, 0], 3)
    assert states["items"][0]["kind"] == "deploy"
    page = ann.get(f"{address}/states?limit=2").json()
    assert [s["number"] for s in ann.get(f"{address}/states?cursor={page['next']}").json()["items"]] == [0]
    state = ann.get(f"{address}/states/1")
    assert [s["?"]["id"] for s in state.json()["model"]["services"]] == ["t1"]
    assert state.json()["model"]["services"][0]["pin"] == {"secret": "kept"}
    diff = ann.get(f"{address}/diff?from=1&to=2")
    found = {item["id"]: item for item in diff.json()["items"]}
    assert (found["t1"]["what"], found["t2"]["what"]) == ("changed", "created")
    assert b"4321" not in diff.content + state.content and b"8765" not in diff.content
    assert ann.get(f"{address}/diff?from=1").json() == diff.json()
    assert ann.get(f"{address}/states/9").status_code == 404
    restored = ann.post(f"{address}/states/1/restore")
    assert restored.status_code == 201
    changes = ann.get(f"/v2/sessions/{restored.json()['id']}/changes").json()["items"]
    assert {item["id"]: item["what"] for item in changes}["t2"] == "destroyed"


def test_topology_shows_owners_references_and_no_values(ann: Any, environment: str, deploy: Deploy) -> None:
    nest = {"?": {"type": "test.Nest", "id": "n1"}, "eggs": 2}
    deploy(tree("t1", nest=nest, pin="7777"), tree("t2", neighbour="t1"))
    address = f"/v2/environments/{environment}"
    shown = ann.get(f"{address}/topology")
    nodes = {n["id"]: n for n in shown.json()["nodes"]}
    assert (nodes["n1"]["owner"], nodes["n1"]["property"], nodes["n1"]["type"]) == ("t1", "nest", "test.Nest")
    edges = {(e["source"], e["target"], e["kind"]) for e in shown.json()["edges"]}
    assert {("t1", "n1", "owns"), ("t2", "t1", "uses"), (environment, "t1", "owns")} <= edges
    assert b"7777" not in shown.content
    session = ann.post(f"{address}/sessions").json()["id"]
    ann.post(f"/v2/sessions/{session}/components", tree("t3"))
    draft = {n["id"]: n["status"] for n in ann.get(f"{address}/topology?session={session}").json()["nodes"]}
    assert (draft["t3"], draft["t1"]) == ("new", "deployed")


def test_status_is_the_newest_report_of_each_component(ann: Any, environment: str, deploy: Deploy) -> None:
    deploy(tree("t1"))
    found = ann.get(f"/v2/environments/{environment}/status").json()
    assert (found["status"], found["task_id"]) == ("ready", None)
    assert [(i["component_id"], i["text"], i["level"]) for i in found["items"]] == [("t1", "growing", "info")]


def test_copies_by_clone_and_by_archive(ann: Any, eve: Any, environment: str, deploy: Deploy) -> None:
    deploy(tree("t1", pin="2468") | {"name": "oak"})
    address = f"/v2/environments/{environment}"
    cloned = ann.post(f"{address}/clone", {"name": "second"})
    assert cloned.status_code == 201
    model = ann.get(f"/v2/sessions/{cloned.json()['session_id']}/model").json()
    assert model["services"][0]["name"] == "oak" and model["services"][0]["?"]["id"] != "t1"
    answer = ann.get(f"{address}/export")
    data = answer.getvalue()
    assert (answer["Content-Type"], data[:2]) == ("application/zip", b"PK")

    def send(person: Any, content: bytes, **fields: Any) -> Any:
        archive = SimpleUploadedFile("e.zip", content, "application/zip")
        return person._client.post("/v2/environments/import", {"archive": archive, **fields})

    made = send(ann, data, name="third")
    assert made.status_code == 201, made.content
    assert ann.get(f"/v2/environments/{made.json()['environment_id']}").json()["version"] == 1
    fresh = send(ann, data, name="fourth", fresh="true").json()
    assert ann.get(f"/v2/sessions/{fresh['session_id']}/components").json()["total"] == 1
    assert send(ann, data, name="third").status_code == 409
    assert send(ann, b"junk").status_code == 400
