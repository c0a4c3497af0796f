"""/v1 services."""

from __future__ import annotations

from typing import Any

APP = {"?": {"type": "my.App", "id": "a"}, "name": "n", "list": [{"x": 1}]}


def test_services_over_the_wire(ann: Any) -> None:
    env = ann.post("/v1/environments", {"name": "e"}).json()["id"]
    path = f"/v1/environments/{env}/services"
    head = {"headers": {"x-configuration-session": ann.post(f"/v1/environments/{env}/configure").json()["id"]}}
    assert ann.post(path, APP).status_code == 400
    assert ann.post(path, APP, headers={"x-configuration-session": "nosuch"}).status_code == 404
    assert ann.post(path, APP, **head).json() == APP
    assert ann.post(path, APP, **head).status_code == 400
    assert ann.get(path, **head).json() == [{**APP, "?": {**APP["?"], "status": "pending"}}]
    assert ann.get(path).json() == []
    assert ann.get(f"{path}/", **head).json() == ann.get(path, **head).json()
    assert ann.get(f"{path}/a", **head).json() == APP
    assert ann.get(f"{path}/a/%3F/type", **head).json() == "my.App"
    assert ann.get(f"{path}/a/?/type", **head).json() == APP
    assert ann.get(f"{path}/a/list/0/x", **head).status_code == 404
    assert ann.get(f"{path}/0", **head).status_code == 404
    assert ann.put(f"{path}/a", APP, **head).status_code == 400
    assert ann.put(f"{path}/0", {**APP, "name": "m"}, **head).json()["name"] == "m"
    assert ann.put(f"{path}/a/name", '"x"', **head).json() == "x"
    assert ann.put(f"{path}/a/flag", "false", **head).json() is False
    assert ann.put(f"{path}/a/flag", "null", **head).content == b"null"
    assert ann.put(f"{path}/nosuch/name", '"x"', **head).status_code == 404
    assert ann.put(f"{path}/", [APP], **head).json() == [APP]
    assert ann.put(path, "null", **head).json() == [] == ann.get(path, **head).json()
    assert ann.put(path, "false", **head).status_code == 400
    assert ann.put(f"{path}/", [APP], **head).json() == [APP]
    assert ann.delete(f"{path}/nosuch", **head).status_code == 404
    assert ann.delete(f"{path}/a").status_code == 400
    gone = ann.delete(f"{path}/a", **head)
    assert (gone.status_code, gone.content) == (200, b"")
    assert ann.delete(path, **head).status_code == 200
    # The published client writes a '/' at the end.
    assert ann.post(f"{path}/", APP, **head).json() == APP
    assert ann.post(f"{path}/b", {**APP, "?": {**APP["?"], "id": "b"}}, **head).status_code == 404
