"""Tasks, their log, actions, static methods and schemas over /v2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.server.api.v2.conftest import tree
from vetro.server.dispatch.models import Task

Deploy = Callable[..., Any]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "", None), ("POST", "/cancel", {}), ("POST", "/retry", None), ("GET", "/log", None),
        ("POST", "/resolve", {"key": "0", "decision": "redo"}),
    ],
)  # fmt: skip
def test_tasks_of_others_are_unknown_ones(eve: Any, deploy: Deploy, method: str, path: str, body: Any) -> None:
    task, unknown = deploy(tree())["id"], "0" * 32
    one = eve.request(method, f"/v2/tasks/{task}{path}", body)
    other = eve.request(method, f"/v2/tasks/{unknown}{path}", body)
    assert (one.status_code, other.status_code) == (404, 404)
    assert one.content.decode().replace(task, unknown) == other.content.decode()
    assert eve.get("/v2/tasks").json()["items"] == []


def test_tasks_are_listed_by_what_they_are(ann: Any, environment: str, deploy: Deploy) -> None:
    done, failed = deploy(tree()), deploy(tree(height=-1))
    assert (done["state"], failed["state"]) == ("done", "failed")
    assert failed["error"]["message"] == "too small"
    listed = ann.get("/v2/tasks").json()
    assert ([t["id"] for t in listed["items"]], listed["total"]) == ([failed["id"], done["id"]], 2)
    assert "result" not in listed["items"][0]
    for query, ids in (
        ("state=failed", [failed["id"]]), ("state=done&state=queued", [done["id"]]), ("kind=plan", []),
        (f"environment={environment}&limit=1", [failed["id"]]), ("environment=unknown", []),
    ):  # fmt: skip
        assert [t["id"] for t in ann.get(f"/v2/tasks?{query}").json()["items"]] == ids, query
    page = ann.get("/v2/tasks?limit=1").json()
    rest = ann.get(f"/v2/tasks?limit=1&cursor={page['next']}").json()
    assert ([t["id"] for t in rest["items"]], rest["next"]) == ([done["id"]], None)
    assert ann.get("/v2/tasks?state=odd").status_code == 400
    assert ann.get("/v2/tasks?cursor=WzEsMl0").status_code == 400


def test_the_log_goes_on_where_one_stopped(ann: Any, deploy: Deploy) -> None:
    task = deploy(tree("t1"), tree("t2"))
    log = ann.get(f"/v2/tasks/{task['id']}/log").json()
    texts = [line["text"] for line in log["items"]]
    assert texts[0] == "Action deploy is scheduled" and texts[-1] == "Deployment finished"
    assert (log["final"], log["state"], log["next"]) == (True, "done", None)
    first = ann.get(f"/v2/tasks/{task['id']}/log?limit=1").json()
    assert (first["final"], first["next"]) == (False, first["items"][0]["seq"])
    rest = ann.get(f"/v2/tasks/{task['id']}/log?after={first['next']}").json()["items"]
    assert first["items"] + rest == log["items"]
    about = ann.get(f"/v2/tasks/{task['id']}/log?object=t2").json()["items"]
    assert [(line["object_id"], line["text"]) for line in about] == [("t2", "growing")]
    assert ann.get(f"/v2/tasks/{task['id']}/log?level=error").json()["items"] == []


def test_a_failed_task_is_retried_a_queued_one_cancelled(ann: Any, environment: str, deploy: Deploy) -> None:
    failed = deploy(tree(height=-1))
    again = ann.post(f"/v2/tasks/{failed['id']}/retry")
    assert (again.status_code, again.json()["state"]) == (202, "queued")
    cancelled = ann.post(f"/v2/tasks/{again.json()['id']}/cancel", {"reason": "enough"})
    assert (cancelled.json()["state"], cancelled.json()["cancel"]) == ("cancelled", "enough")
    assert ann.get(f"/v2/environments/{environment}").json()["status"] == "deploy failure"
    assert ann.post(f"/v2/tasks/{failed['id']}/retry").status_code == 409
    resolved = ann.post(f"/v2/tasks/{failed['id']}/resolve", {"key": "0", "decision": "redo"})
    assert resolved.status_code == 409


def test_actions_are_offered_and_called(ann: Any, environment: str, deploy: Deploy, drain: Deploy) -> None:
    deploy(tree("t1", height=2))
    actions = ann.get(f"/v2/environments/{environment}/actions").json()["items"]
    water = next(a for a in actions if a["name"] == "water")
    assert (water["object_id"], water["class"], water["enabled"]) == ("t1", "test.Tree", True)
    schemas = ann.get(water["schema"])
    assert schemas.status_code == 200, schemas.content
    assert schemas.json()["water"]["properties"]["litres"]["type"] == "integer"
    begun = ann.post(f"/v2/environments/{environment}/actions/{water['id']}", {"args": {"litres": 3}})
    assert (begun.status_code, begun.json()["kind"]) == (202, "action")
    drain()
    task = ann.get(f"/v2/tasks/{begun.json()['id']}?wait=1").json()
    assert (task["state"], task["result"], task["action"]["method"]) == ("done", 5, "water")
    assert ann.post(f"/v2/environments/{environment}/actions/t1_nothing", {}).status_code == 404


def test_schemas_are_of_2020(ann: Any, eve: Any, orchard: Any) -> None:
    found = ann.get("/v2/schemas/test.Tree").json()
    assert found[""]["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert ann.get("/v2/schemas/test.Tree?methods=,sum").json().keys() == {"", "sum"}
    assert ann.get("/v2/schemas/test.Tree").json() == found
    assert eve.get("/v2/schemas/test.Tree").status_code == 404
    assert ann.get("/v2/schemas/test.Nothing").status_code == 404
    assert ann.get("/v2/schemas/test.Tree?version=~~").status_code == 400


@pytest.mark.django_db(transaction=True)
def test_static_methods_answer(people: Any) -> None:
    from threading import Thread

    from tests.server.api.v2.conftest import archive, upload
    from vetro.server.catalog import embedded
    from vetro.server.dispatch.worker import run_queued

    ann = people("ann")
    embedded.ensure()
    assert upload(ann, archive()).status_code == 201
    answers: list[Any] = []

    def call(**given: Any) -> Any:
        def work() -> None:
            from django.db import connections

            answers.append(ann.post("/v2/actions", {"class": "test.Tree", **given}))
            connections.close_all()

        thread = Thread(target=work)
        before = Task.objects.count()
        thread.start()
        while thread.is_alive() and Task.objects.count() == before:
            thread.join(0.02)
        run_queued()
        thread.join()
        return answers[-1]

    assert call(method="sum", args={"a": 2, "b": 3}).json()["result"] == 5
    wrong = call(method="sum", args={"a": "x", "b": 3})
    assert (wrong.status_code, "task_id" in wrong.json()["error"]["details"]) == (400, True)
    assert call(method="nothing").status_code == 404
    assert ann.post("/v2/actions", {"class": "test.Nothing", "method": "x"}).status_code == 404
