"""Tasks, their log, actions, static methods and schemas over /v2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.server.api.v2.conftest import tree
from vetro.server.audit.models import AuditRecord
from vetro.server.requests import slow_requests
from vetro.server.tasks.models import Task

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
    assert texts[0] == "Deployment requested" and texts[-1] == "Deployment finished"
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


def test_actions_are_offered_and_called(ann: Any, environment: str, deploy: Deploy, drain: Deploy, people: Any) -> None:
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
    reed = people("reed", "demo", "reader")  # who may not call it does not read what it returned, by no door
    told = reed.get(f"/v2/tasks/{task['id']}").json()
    assert (told["state"], told["result"]) == ("done", None)
    assert reed.get(f"/v1/environments/{environment}/actions/{task['id']}").status_code == 403


def test_a_failed_action_is_told_as_one(ann: Any, environment: str, deploy: Deploy, drain: Deploy) -> None:
    deploy(tree("t1"))
    begun = ann.post(f"/v2/environments/{environment}/actions/t1_water", {"args": {"litres": "many"}}).json()
    drain()
    task = ann.get(f"/v2/tasks/{begun['id']}").json()
    assert (task["state"], task["kind"]) == ("failed", "action")
    assert ann.get(f"/v2/tasks/{task['id']}/log").json()["items"][-1]["text"] == "Action water failed"
    assert ann.get(f"/v2/environments/{environment}").json()["status"] == "ready"
    assert [e["status"] for e in ann.get("/v2/environments").json()["items"]] == ["ready"]
    assert ann.get(f"/v1/environments/{environment}").json()["status"] == "deploy failure"
    reports = ann.get(f"/v1/environments/{environment}/deployments/{task['id']}").json()["reports"]
    assert (reports[-1]["text"], reports[-1]["details"]) == ("Deployment finished with errors", None)
    again = ann.post(f"/v2/environments/{environment}/actions/t1_water", {"args": {"litres": 1}}).json()
    ann.post(f"/v2/tasks/{again['id']}/cancel", {})
    assert ann.get(f"/v2/tasks/{again['id']}/log").json()["items"][-1]["text"] == "Action water was cancelled"
    assert ann.get(f"/v2/environments/{environment}").json()["status"] == "ready"


def test_secret_arguments_of_an_action_are_not_told(
    ann: Any, environment: str, deploy: Deploy, drain: Deploy, people: Any
) -> None:
    deploy(tree("t1"))
    args = {"pin": "0815-4711", "times": 2}
    begun = ann.post(f"/v2/environments/{environment}/actions/t1_lock", {"args": args})
    assert begun.json()["action"]["args"] == {"pin": {"secret": "kept"}, "times": 2}
    drain()
    told = people("reed", "demo", "reader").get(f"/v2/tasks/{begun.json()['id']}").json()
    assert (told["state"], told["action"]) == ("done", begun.json()["action"])
    assert Task.objects.get(id=begun.json()["id"]).action["args"] == args


def test_schemas_are_of_2020(ann: Any, eve: Any, orchard: Any) -> None:
    found = ann.get("/v2/schemas/test.Tree").json()
    assert found[""]["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert ann.get("/v2/schemas/test.Tree?methods=,sum").json().keys() == {"", "sum"}
    assert ann.get("/v2/schemas/test.Tree").json() == found
    assert eve.get("/v2/schemas/test.Tree").status_code == 404
    assert ann.get("/v2/schemas/test.Nothing").status_code == 404
    assert ann.get("/v2/schemas/test.Tree?version=~~").status_code == 400


def test_static_methods_answer(ann: Any, orchard: Any, drain: Deploy, monkeypatch: pytest.MonkeyPatch) -> None:
    from vetro.server.api.v2 import actions

    waiting = actions.wait

    def work(task_id: str, seconds: float) -> Any:
        drain()  # what a worker does meanwhile
        return waiting(task_id, seconds)

    monkeypatch.setattr(actions, "wait", work)

    def call(**given: Any) -> Any:
        return ann.post("/v2/actions", {"class": "test.Tree", **given})

    assert call(method="sum", args={"a": 2, "b": 3}).json()["result"] == 5
    wrong = call(method="sum", args={"a": "x", "b": 3})
    assert (wrong.status_code, "task_id" in wrong.json()["error"]["details"]) == (400, True)
    assert call(method="nothing").status_code == 404
    assert ann.post("/v2/actions", {"class": "test.Nothing", "method": "x"}).status_code == 404
    told = AuditRecord.objects.filter(action="task.call").values_list("user_name", "target_name")
    assert set(told) == {("ann", "test.Tree.sum"), ("ann", "test.Tree.nothing")}


def test_who_waits_for_too_much_at_once_comes_again(
    ann: Any, orchard: Any, environment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = ann.post(f"/v2/environments/{environment}/sessions").json()["id"]
    task = ann.post(f"/v2/sessions/{session}/deploy").json()["id"]
    monkeypatch.setattr(slow_requests, "_most", lambda: 1)
    monkeypatch.setitem(slow_requests._holding, ann.caller.project_id, 1)
    refused = [
        ann.get(f"/v2/tasks/{task}?wait=30"),
        ann.get("/v2/schemas/test.Tree?methods=not-asked-before"),
        ann.post("/v2/actions", {"class": "test.Tree", "method": "sum", "args": {"a": 2, "b": 3}}),
        ann.post("/v1/actions", {"className": "test.Tree", "methodName": "sum", "parameters": {"a": 2, "b": 3}}),
        ann.post("/v2/packages/import", {"url": "http://127.0.0.1:9/x.zip"}),
    ]
    assert [(answer.status_code, answer["Retry-After"]) for answer in refused] == [(429, "2")] * 5
    assert not Task.objects.filter(kind="static").exists()
    assert ann.get(f"/v2/tasks/{task}").json()["state"] == "queued"


def test_a_person_says_what_became_of_an_effect(ann: Any, people: Any, environment: str) -> None:
    from vetro.engine.outcome import Outcome
    from vetro.engine.worker.journal import Ended, RecordedEffect
    from vetro.server.tasks.claim import Lease, claim
    from vetro.server.tasks.completion import finish
    from vetro.server.tasks.journal import DbJournal

    session = ann.post(f"/v2/environments/{environment}/sessions").json()["id"]
    ann.post(f"/v2/sessions/{session}/components", tree())
    task = ann.post(f"/v2/sessions/{session}/deploy").json()["id"]
    lease = claim("me", 60.0)
    assert isinstance(lease, Lease)
    journal = DbJournal(task, lease.hold)
    journal.begin(Task.objects.get(id=task).spec, "1.0", 1.0)
    for key in ("0/1", "0/2"):
        journal.intent(RecordedEffect(key, "workflow", "d", {"name": "pay"}, 1.0))
    journal.end(Ended("needs_person"))
    journal.commit()
    finish(lease.held, Outcome("needs_person"))
    address = f"/v2/tasks/{task}"
    shown = ann.get(address).json()
    assert (shown["state"], shown["final"]) == ("needs_person", False)
    assert [(d["key"], d["kind"], d["args"]) for d in shown["decisions"]] == [
        ("0/1", "workflow", {"name": "pay"}), ("0/2", "workflow", {"name": "pay"}),
    ]  # fmt: skip
    assert ann.post(f"{address}/resolve", {"key": "0/9", "decision": "redo"}).status_code == 409
    assert ann.post(f"{address}/resolve", {"key": "0/1", "decision": "perhaps"}).status_code == 400
    reader = people("reed", "demo", "reader")
    assert reader.post(f"{address}/resolve", {"key": "0/1", "decision": "redo"}).status_code == 403
    one = ann.post(f"{address}/resolve", {"key": "0/1", "decision": "done", "answer": {"paid": 5}}).json()
    assert (one["state"], [d["key"] for d in one["decisions"]]) == ("needs_person", ["0/2"])
    both = ann.post(f"{address}/resolve", {"key": "0/2", "decision": "redo"}).json()
    assert (both["state"], both["decisions"]) == ("queued", [])
    assert DbJournal(task).entries()[0].answer == {"paid": 5}


#: (rule, method, address, body): T, S, E, P stand for ids of a task, session, environment, package.
CLOSED: list[tuple[str, str, str, Any]] = [
    ("list_tasks", "GET", "/v2/tasks", None), ("show_task", "GET", "/v2/tasks/T", None),
    ("cancel_task", "POST", "/v2/tasks/T/cancel", {}), ("retry_task", "POST", "/v2/tasks/T/retry", None),
    ("resolve_task", "POST", "/v2/tasks/T/resolve", {"key": "0", "decision": "redo"}),
    ("statuses_deployments", "GET", "/v2/tasks/T/log", None), ("watch_events", "GET", "/v2/events", None),
    ("plan_environment", "POST", "/v2/sessions/S/plan", None),
    ("show_history", "GET", "/v2/environments/E/states", None),
    ("show_history", "GET", "/v2/environments/E/states/0", None),
    ("show_history", "GET", "/v2/environments/E/lock", None), ("show_history", "GET", "/v2/environments/E/why", None),
    ("show_history", "GET", "/v2/environments/E/diff?from=0", None), ("list_audit", "GET", "/v2/audit", None),
    ("import_from_address", "POST", "/v2/packages/import", {"url": "http://localhost/x.zip"}),
    ("upload_package", "POST", "/v2/packages/import", {"url": "http://localhost/x.zip"}),
    ("force_delete_package", "DELETE", "/v2/packages/P?force=true", None),
    ("force_delete_package", "PATCH", "/v2/packages/P?force=true", {"enabled": False}),
    ("publicize_package", "PATCH", "/v2/packages/P", {"public": True}),
    ("execute_action", "POST", "/v2/actions", {"class": "test.Tree", "method": "sum"}),
    ("use_forms", "GET", "/v2/forms", None),
]  # fmt: skip


def test_each_rule_closes_its_routes(ann: Any, real: dict[str, str], monkeypatch: Any, tmp_path: Any) -> None:
    from vetro.server import setup

    file = tmp_path / "policy.yaml"
    for rule, method, path, body in CLOSED:
        file.write_text(f'{rule}: "!"\n')
        monkeypatch.setattr(setup, "_current", setup.config().changed({"accounts.policy_file": str(file)}))
        for short, name in (("T", "task_id"), ("S", "session_id"), ("E", "environment_id"), ("P", "package_id")):
            path = path.replace(f"/{short}", f"/{real[name]}")
        answer = ann.request(method, path, body)
        assert answer.status_code == 403, (rule, path, answer.content)
        assert rule in answer.json()["error"]["message"]
        assert rule not in ann.get("/v2/me").json()["allowed"]
