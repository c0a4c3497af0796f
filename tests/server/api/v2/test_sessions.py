"""Drafts over /v2: model, components, revisions, secrets, changes, deployment, plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.server.api.v2.conftest import tree, upload
from tests.server.catalog.archives import archive as packed

Deploy = Callable[..., Any]


@pytest.fixture
def session(ann: Any, environment: str) -> str:
    """A session of ann's; its address."""
    made = ann.post(f"/v2/environments/{environment}/sessions")
    assert made.status_code == 201, made.content
    return f"/v2/sessions/{made.json()['id']}"


def test_a_session_says_what_it_is(ann: Any, bob: Any, environment: str, session: str) -> None:
    shown = ann.get(session).json()
    assert (shown["environment_id"], shown["state"], shown["revision"]) == (environment, "opened", 0)
    assert (shown["changed"], shown["usable"], shown["own"]) == (False, True, True)
    assert bob.get(session).json()["own"] is False
    listed = bob.get(f"/v2/environments/{environment}/sessions").json()
    assert (listed["total"], listed["items"][0]["id"]) == (1, shown["id"])


def test_another_member_sees_no_draft_and_changes_none(bob: Any, session: str) -> None:
    assert bob.get(f"{session}/model").status_code == 403
    assert bob.post(f"{session}/components", tree()).status_code == 403
    assert bob.delete(session).status_code == 403


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""), ("DELETE", ""), ("GET", "/model"), ("PUT", "/model"), ("GET", "/components"),
        ("POST", "/components"), ("GET", "/components/t1"), ("PUT", "/components/t1"), ("DELETE", "/components/t1"),
        ("GET", "/changes"), ("POST", "/undo"), ("POST", "/deploy"), ("POST", "/plan"),
    ],
)  # fmt: skip
def test_sessions_of_others_are_unknown_ones(eve: Any, session: str, method: str, path: str) -> None:
    body = {"/undo": {}, "/deploy": None, "/plan": None}.get(path, tree()) if method in ("POST", "PUT") else None
    found = eve.request(method, session + path, body)
    unknown = eve.request(method, "/v2/sessions/0000" + path, body)
    assert (found.status_code, unknown.status_code) == (404, 404)
    own = session.rpartition("/")[2]
    assert found.json()["error"]["message"].replace(own, "0000") == unknown.json()["error"]["message"]


def test_components_are_added_changed_and_removed(ann: Any, session: str) -> None:
    added = ann.post(f"{session}/components", {"?": {"type": "test.Tree"}, "name": "oak"})
    assert added.status_code == 201
    id = added.json()["id"]
    assert (added.json()["type"], added.json()["name"], added["ETag"]) == ("test.Tree", "oak", '"1"')
    ann.post(f"{session}/components", tree("t2", nest={"?": {"type": "test.Nest", "id": "n1"}, "eggs": 1}))
    listed = ann.get(f"{session}/components").json()
    assert [item["id"] for item in listed["items"]] == [id, "t2"]
    changed = ann.put(f"{session}/components/n1", {"?": {"type": "test.Nest"}, "eggs": 5})
    assert changed.json()["object"] == {"?": {"type": "test.Nest", "id": "n1"}, "eggs": 5}
    assert ann.get(f"{session}/components/t2").json()["object"]["nest"]["eggs"] == 5
    assert ann.delete(f"{session}/components/n1").status_code == 204
    assert ann.get(f"{session}/components/t2").json()["object"]["nest"] is None
    assert ann.delete(f"{session}/components/{id}").status_code == 204
    assert ann.delete(f"{session}/components/{id}").status_code == 404
    assert [item["id"] for item in ann.get(f"{session}/components").json()["items"]] == ["t2"]


def test_ids_are_taken_once_and_stay(ann: Any, session: str) -> None:
    ann.post(f"{session}/components", tree("t1"))
    twice = ann.post(f"{session}/components", tree("t1"))
    assert (twice.status_code, twice.json()["error"]["code"]) == (409, "SRV409")
    assert ann.put(f"{session}/components/t1", tree("t9")).status_code == 400
    assert ann.post(f"{session}/components", {"name": "no header"}).status_code == 400


def test_a_draft_that_was_changed_meanwhile_is_not_overwritten(ann: Any, session: str) -> None:
    read = ann.get(f"{session}/model")
    ann.post(f"{session}/components", tree())
    late = ann.put(f"{session}/model", read.json(), headers={"If-Match": read["ETag"]})
    assert (late.status_code, late.json()["error"]["details"]) == (409, {"revision": 1})
    again = ann.put(f"{session}/model", read.json(), headers={"If-Match": ann.get(f"{session}/model")["ETag"]})
    assert (again.status_code, again["ETag"]) == (200, '"2"')
    assert ann.put(f"{session}/model", read.json(), headers={"If-Match": "soon"}).status_code == 400


def test_secrets_do_not_come_back_and_stay_when_the_mark_does(ann: Any, session: str) -> None:
    from vetro.server.environments.models import Session

    def stored() -> Any:
        draft: Any = Session.objects.get(id=session.rpartition("/")[2]).draft
        return draft["Objects"]["applications"][0]["pin"]

    added = ann.post(f"{session}/components", tree(pin="1234"))
    assert added.json()["object"]["pin"] == {"secret": "kept"}
    for path in ("/model", "/components", "/components/t1", "/changes"):
        response = ann.get(session + path)
        assert response.status_code == 200 and b"1234" not in response.content, path
    model = ann.get(f"{session}/model").json()
    model["services"][0]["height"] = 7
    assert ann.put(f"{session}/model", model).status_code == 200
    assert stored() == "1234"
    ann.put(f"{session}/components/t1", tree(pin="5678"))
    assert stored() == "5678"
    ann.put(f"{session}/components/t1", tree(pin=None))
    assert stored() is None
    lost = ann.put(f"{session}/components/t1", tree(pin={"secret": "kept"}))
    assert lost.status_code == 400 and "pin" in lost.json()["error"]["message"]


def test_objects_without_headers_are_objects(ann: Any, environment: str, session: str) -> None:
    """Their secrets and their ids count before they are deployed."""
    from vetro.server.environments.models import Session

    nest = {":Nest": {"eggs": 3}, "id": "n"}
    added = ann.post(f"{session}/components", tree(neighbour={":Tree": {"name": "ash", "pin": "1234", "nest": nest}}))
    assert added.status_code == 201, added.content
    inner = added.json()["object"]["neighbour"]
    own = inner["?"]["id"]
    assert inner == {
        "?": {"type": "test.Tree", "id": own},
        "name": "ash",
        "pin": {"secret": "kept"},
        "nest": {"?": {"type": "test.Nest", "id": "n"}, "eggs": 3},
    }
    for path in ("/model", "/components", "/components/t1", "/changes"):
        response = ann.get(session + path)
        assert response.status_code == 200 and b"1234" not in response.content, path
    assert ann.get(f"{session}/components/n").json()["object"]["eggs"] == 3
    # The mark comes back, and means what is stored.
    assert ann.put(f"{session}/model", ann.get(f"{session}/model").json()).status_code == 200
    draft: Any = Session.objects.get(id=session.rpartition("/")[2]).draft
    assert draft["Objects"]["applications"][0]["neighbour"]["pin"] == "1234"
    for wrong in ({":Nest": {}, "id": "n"}, {":Nest": {}, "id": 5}, {":Nest": {}, "id": "x" * 256}):
        refused = ann.post(f"{session}/components", tree("t2", nest=wrong))
        assert refused.status_code == 400 and "id" in refused.json()["error"]["message"], wrong
    # No object: the contract of this property takes no class.
    ann.post(f"{session}/components", tree("t2", height={":Tree": {"pin": "1234"}}))
    assert ann.get(f"{session}/components/t2").json()["object"]["height"] == {":Tree": {"pin": "1234"}}


def test_objects_without_headers_bring_their_packages(ann: Any, environment: str, session: str, drain: Any) -> None:
    owl = "Namespaces: {=: test}\nName: Owl\nExtends: Nest\n"
    there = packed("test.wood", classes={"test.Owl": owl}, Require={"test.orchard": "1"}, Type="Library")
    uploaded = upload(ann, there)
    assert uploaded.status_code == 201, uploaded.content
    ann.post(f"{session}/components", tree(nest={":Owl@test.wood": {"eggs": 2}}))
    assert ann.post(f"{session}/deploy").status_code == 202
    drain()
    shown = ann.get(f"/v2/environments/{environment}").json()
    assert shown["status"] == "ready", shown


@pytest.mark.parametrize(
    "change",
    [
        {"?": {"id": "another", "type": "io.murano.Environment"}},
        {"services": {}},
        {"services": [{"name": "no header"}]},
        {"applications": []},
        {"name": ""},
        {"services": [{"?": {"type": "a", "id": "x"}}, {"?": {"type": "a", "id": "x"}}]},
    ],
)
def test_a_model_that_is_none_is_refused(ann: Any, session: str, change: dict[str, Any]) -> None:
    model = ann.get(f"{session}/model").json()
    refused = ann.put(f"{session}/model", {**model, **change})
    assert refused.status_code == 400, refused.content
    assert ann.get(session).json()["revision"] == 0


def test_changes_are_told_and_taken_back(ann: Any, environment: str, deploy: Deploy) -> None:
    deploy(tree("t1"), tree("t2"))
    session = f"/v2/sessions/{ann.post(f'/v2/environments/{environment}/sessions').json()['id']}"
    ann.put(f"{session}/components/t1", tree("t1", height=3, pin="9999"))
    ann.delete(f"{session}/components/t2")
    ann.post(f"{session}/components", tree("t3"))
    items = {item["id"]: item for item in ann.get(f"{session}/changes").json()["items"]}
    assert {id: item["what"] for id, item in items.items() if id.startswith("t")} == {
        "t1": "changed", "t2": "destroyed", "t3": "created",
    }  # fmt: skip
    properties = {p["name"]: (p["old"], p["new"]) for p in items["t1"]["properties"]}
    assert properties["height"] == (1, 3) and "9999" not in str(properties)
    assert ann.post(f"{session}/undo", {"object_id": "t2"}).status_code == 200
    assert "t2" not in {item["id"] for item in ann.get(f"{session}/changes").json()["items"]}
    assert ann.post(f"{session}/undo", {}).json()["changed"] is False
    assert ann.get(f"{session}/changes").json() == {"items": []}


def test_a_draft_is_deployed_once(ann: Any, environment: str, session: str, drain: Callable[..., Any]) -> None:
    ann.post(f"{session}/components", tree())
    begun = ann.post(f"{session}/deploy")
    assert begun.status_code == 202
    assert (begun.json()["kind"], begun.json()["state"], begun.json()["final"]) == ("deploy", "queued", False)
    assert ann.post(f"{session}/deploy").status_code == 403
    assert ann.get(f"/v2/environments/{environment}").json()["task_id"] == begun.json()["id"]
    drain()
    assert ann.get(f"/v2/tasks/{begun.json()['id']}").json()["state"] == "done"
    assert ann.get(session).json()["usable"] is False
    assert ann.get(f"/v2/environments/{environment}").json()["status"] == "ready"


def test_a_plan_says_what_would_happen(ann: Any, environment: str, session: str, drain: Callable[..., Any]) -> None:
    ann.post(f"{session}/components", tree("t1", pin="0815-4711"))
    begun = ann.post(f"{session}/plan")
    assert begun.status_code == 202, begun.content
    drain()
    task = ann.get(f"/v2/tasks/{begun.json()['id']}").json()
    assert task["state"] == "done", task
    assert {o["id"]: o["what"] for o in task["result"]["objects"]}["t1"] == "created"
    assert "0815-4711" not in str(task)
    assert ann.get(f"/v2/environments/{environment}").json()["version"] == 0


def test_a_session_is_closed(ann: Any, session: str) -> None:
    assert ann.delete(session).status_code == 204
    assert ann.get(session).status_code == 404
