"""/v1 model."""

from __future__ import annotations

import json
from typing import Any

TYPE = "application/env-model-json-patch"


def test_the_model_over_the_wire(ann: Any) -> None:
    env = ann.post("/v1/environments", {"name": "e"}).json()["id"]
    path = f"/v1/environments/{env}/model/"
    assert set(ann.get(path).json()) == {"?", "name", "defaultNetworks"}
    assert ann.get(f"{path}/defaultNetworks/flat").json() is None
    assert ann.get(f"{path}%3F/id").json() == env
    assert ann.get(f"{path}nosuch").status_code == 404
    rename = json.dumps([{"op": "replace", "path": "/name", "value": "x"}])
    head = {"headers": {"x-configuration-session": ann.post(f"/v1/environments/{env}/configure").json()["id"]}}
    assert ann.patch(path, rename, content_type=TYPE).status_code == 400
    assert ann.patch(path, rename, **head).status_code == 415
    assert ann.patch(path, rename, content_type="application/json-patch+json", **head).status_code == 415
    assert ann.patch(path, "[]", content_type=TYPE, **head).status_code == 400
    assert ann.patch(f"{path}name", rename, content_type=TYPE, **head).status_code == 404
    forbidden = json.dumps([{"op": "replace", "path": "/?/id", "value": "x"}])
    assert ann.patch(path, forbidden, content_type=TYPE, **head).status_code == 403
    assert ann.patch(path, rename, content_type=TYPE, **head).json()["name"] == "x"
    assert ann.get(f"{path}name", **head).json() == "x"
    assert ann.get(f"{path}name").json() == "e"
