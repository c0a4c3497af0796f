"""What classes call secret, as /v1 tells it: to those who may change the environment, and to nobody else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.server.api.v2.conftest import archive, upload
from tests.server.web.conftest import browser

__all__ = ["browser"]

CANARY = "v1-canary-47"


def grove(**more: Any) -> dict[str, Any]:
    """A tree with a neighbour, which has one, too; both are written without headers."""
    ash = {":Tree": {"name": "ash", "pin": CANARY}, "id": "3" * 32}
    elm = {":Tree": {"name": "elm", "pin": CANARY, "neighbour": ash}, "id": "2" * 32}
    return {"?": {"type": "test.Tree", "id": "1" * 32}, "name": "oak", "neighbour": elm, **more}


@pytest.mark.parametrize("late", [False, True])
def test_objects_without_headers_keep_their_secrets_before_they_are_deployed(
    people: Callable[..., Any], ann: Any, drain: Any, late: bool
) -> None:
    """Also those that were written before their package was imported."""
    from vetro.server.catalog import standard_packages
    from vetro.server.environments.models import Session

    standard_packages.ensure()
    if not late:
        assert upload(ann, archive()).status_code == 201
    at_once = ann.post("/v1/environments", {"name": "at once", "services": [grove()]}).json()["id"]
    drafted = ann.post("/v1/environments", {"name": "e"}).json()["id"]
    session = ann.post(f"/v1/environments/{drafted}/configure").json()["id"]
    head = {"headers": {"x-configuration-session": session}}
    assert ann.post(f"/v1/environments/{drafted}/services", grove(), **head).status_code == 200
    template = ann.post("/v1/templates", {"name": "t", "services": [grove()]}).json()["id"]
    if late:
        assert upload(ann, archive()).status_code == 201

    reed = people("reed", "demo", "reader")
    for path, more in ((f"/v1/environments/{at_once}", {}), (f"/v1/environments/{drafted}", head)):
        for place in (path, f"{path}/services", f"{path}/services/{'1' * 32}/neighbour", f"{path}/model/services"):
            full = ann.get(place, **more)
            # A draft is read by whom it belongs to, also when that is no member any more.
            Session.objects.filter(id=session).update(user_id=reed.caller.user_id)
            told = reed.get(place, **more)
            Session.objects.filter(id=session).update(user_id=ann.caller.user_id)
            assert told.status_code == full.status_code == 200, place
            assert told.content.decode().count("kept") == full.content.decode().count(CANARY) == 2, place
            assert CANARY not in told.content.decode(), place
    for version in ("v1", "v2"):
        told = reed.get(f"/{version}/templates/{template}")
        assert told.status_code == 200 and CANARY not in told.content.decode()
    assert ann.get(f"/v1/environments/{drafted}/services/{'1' * 32}/neighbour", **head).json() == {
        "?": {"type": "test.Tree", "id": "2" * 32},
        "name": "elm",
        "pin": CANARY,
        "neighbour": {"?": {"type": "test.Tree", "id": "3" * 32}, "name": "ash", "pin": CANARY},
    }
    assert ann.post(f"/v1/environments/{drafted}/sessions/{session}/deploy").status_code == 200
    drain()
    assert ann.get(f"/v1/environments/{drafted}").json()["status"] == "ready"


def test_objects_that_leave_their_class_to_a_contract_show_readers_no_secret(
    people: Callable[..., Any], ann: Any, browser: Any
) -> None:
    from vetro.server.catalog import standard_packages
    from vetro.server.environments.models import Session

    standard_packages.ensure()
    assert upload(ann, archive()).status_code == 201
    elm = {"name": "elm", "pin": CANARY, "nest": {"eggs": 2}}
    oak = {"?": {"type": "test.Tree", "id": "1" * 32}, "name": "oak", "neighbour": elm}
    env = ann.post("/v1/environments", {"name": "e", "services": [oak]}).json()["id"]
    template = ann.post("/v1/templates", {"name": "t", "services": [oak]}).json()["id"]
    session = ann.post(f"/v2/environments/{env}/sessions").json()["id"]
    added = ann.post(f"/v2/sessions/{session}/components", {**oak, "?": {"type": "test.Tree", "id": "2" * 32}})
    assert added.status_code == 201
    assert ann.get(f"/v1/environments/{env}/services").json()[0]["neighbour"] == elm  # what was written comes back
    reed = people("reed", "demo", "reader")
    Session.objects.filter(id=session).update(user_id=reed.caller.user_id)
    head = {"headers": {"x-configuration-session": session}}
    for place, more in (
        (f"/v1/environments/{env}", {}),
        (f"/v1/environments/{env}/services/{'1' * 32}/neighbour", {}),
        (f"/v1/environments/{env}/model/services", head),
        (f"/v1/templates/{template}", {}),
        (f"/v2/sessions/{session}/model", {}),
        (f"/v2/sessions/{session}/components", {}),
        (f"/v2/sessions/{session}/changes", {}),
        (f"/v2/templates/{template}", {}),
    ):
        told = reed.get(place, **more)
        assert told.status_code == 200, place
        assert CANARY not in told.content.decode(), place
    pages = browser(reed)
    for page in ("", f"components/{'1' * 32}/", "topology", "history"):
        told = pages.get(f"/app/environments/{env}/{page}")
        assert told.status_code == 200 and CANARY not in told.content.decode(), page
    shown = reed.get(f"/v1/environments/{env}/services/{'1' * 32}/neighbour").json()
    assert shown["pin"] == {"secret": "kept"} and shown["nest"] == {"?": {"type": "test.Nest"}, "eggs": 2}


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
