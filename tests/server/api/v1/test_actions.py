"""Actions of objects and static actions on /v1."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.server.tasks import shop
from vetro.server.api.v1 import actions
from vetro.server.environments.models import State
from vetro.server.tasks.models import Task


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch, drain: Callable[..., int]) -> None:
    """Whoever waits for a task runs it himself: tests have one connection to their database."""

    def wait(task_id: str, seconds: float) -> Any:
        drain()
        return Task.objects.get(id=task_id)

    monkeypatch.setattr(actions, "wait", wait)


def call(person: Any, **body: Any) -> Any:
    return person.post("/v1/actions", {"className": "test.Shop", "methodName": "add", **body})


@pytest.mark.parametrize(
    ("body", "status", "value"),
    [
        ({"parameters": {"a": 2}}, 200, 3),
        ({"parameters": {"a": 2, "b": 5}, "packageName": "test.shop", "classVersion": "0.0.0"}, 200, 7),
        ({"parameters": {"a": "4"}}, 200, 5),
        ({"parameters": {"a": 2}, "classVersion": "9.0"}, 200, 3),
        ({"parameters": {"a": 2}, "classVersion": "junk"}, 400, "junk"),
        ({"parameters": {"a": 2}, "classVersion": [1]}, 400, "classVersion"),
        ({"parameters": {}}, 400, "add(a)"),
        ({}, 400, "add(a)"),
        ({"parameters": {"a": "zz"}}, 400, "zz"),
        ({"parameters": {"a": 1, "bogus": 1}}, 404, "add"),
        ({"parameters": [1]}, 400, "parameters"),
        ({"methodName": "nosuch"}, 404, "nosuch"),
        ({"methodName": "deploy"}, 404, "deploy"),
        ({"methodName": "greet", "parameters": {"name": "x"}}, 404, "greet"),
        ({"methodName": ""}, 400, "must be specified"),
        ({"className": None}, 400, "must be specified"),
        ({"className": "test.Nope"}, 404, "test.Nope"),
        ({"packageName": "test.nope"}, 404, "test.nope"),
    ],
)
def test_static_actions(ann: Any, at_once: None, body: dict[str, Any], status: int, value: Any) -> None:
    shop.add_package(ann.caller)
    answer = call(ann, **body)
    assert answer.status_code == status, answer.content
    if status == 200:
        assert (answer.json(), answer.headers["content-type"]) == (value, "application/json")
    else:
        assert value in answer.content.decode()


def test_static_actions_that_throw_or_return_nothing(ann: Any, eve: Any, at_once: None) -> None:
    text = shop.SHOP + (
        "  boom: {Usage: Static, Scope: Public, Body: [{Throw: Boom, Message: static boom}]}\n"
        "  nothing: {Usage: Static, Scope: Public, Body: []}\n"
    )
    shop.add_package(ann.caller, shop.archive({"Classes/Shop.yaml": text}))
    answer = call(ann, methodName="boom")
    assert answer.status_code == 503
    assert "static boom" in answer.content.decode()
    answer = call(ann, methodName="nothing")
    assert (answer.status_code, json.loads(answer.content)) == (200, None)
    assert call(eve, parameters={"a": 1}).status_code == 404


def test_bodies_that_are_none(ann: Any) -> None:
    assert ann.request("POST", "/v1/actions", data=b"", content_type="").status_code == 400
    assert ann.post("/v1/actions", []).status_code == 400
    assert ann.request("POST", "/v1/actions", data="{", content_type="application/json").status_code == 400
    assert ann.request("POST", "/v1/actions", data="{}", content_type="text/plain").status_code == 415


def test_a_static_action_that_takes_too_long(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.add_package(ann.caller)
    monkeypatch.setattr(actions, "wait", lambda id, seconds: Task.objects.get(id=id))
    assert call(ann, parameters={"a": 1}).status_code == 503
    assert Task.objects.get().state == "cancelled"


@pytest.fixture
def deployed(ann: Any, drain: Callable[..., int]) -> str:
    """The id of an environment with a shop."""
    package, environment = shop.add_package(ann.caller), shop.add_environment(ann.caller)
    shop.deploy(ann.caller, environment, package)
    drain()
    assert State.objects.get().model["Objects"] is not None
    return str(environment.id)


def test_an_action(ann: Any, eve: Any, deployed: str, drain: Callable[..., int]) -> None:
    base = f"/v1/environments/{deployed}/actions"
    answer = ann.post(f"{base}/shop-1_greet", {"name": "Bo"})
    assert answer.status_code == 200
    task = answer.json()["task_id"]
    assert ann.get(f"{base}/{task}").json() == {}
    assert ann.post(f"{base}/shop-1_greet", {"name": "Bo"}).status_code == 403
    drain()
    assert ann.get(f"{base}/{task}").json() == {"result": "hello Bo from corner", "isException": False}
    assert ann.get(f"/v1/environments/{deployed}").json()["version"] == 2
    failed = ann.post(f"{base}/shop-1_greet", {}).json()["task_id"]
    drain()
    found = ann.get(f"{base}/{failed}").json()
    assert found["isException"] is True
    assert set(found["result"]) == {"message", "details"}
    assert ann.get(f"/v1/environments/{deployed}").json()["status"] == "deploy failure"
    assert ann.post(f"{base}/nosuch", {}).status_code == 404
    assert ann.request("POST", f"{base}/shop-1_greet", data=b"", content_type="").status_code == 400
    assert ann.request("POST", f"{base}/shop-1_greet", data="{", content_type="application/json").status_code == 400
    assert eve.post(f"{base}/shop-1_greet", {}).status_code == 403
    assert eve.get(f"{base}/{task}").status_code == 403
    assert ann.get(f"{base}/nosuch").status_code == 404
    other = shop.add_environment(ann.caller, "other")
    assert ann.get(f"/v1/environments/{other.id}/actions/{task}").status_code == 404
