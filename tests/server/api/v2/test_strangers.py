"""A hostile client: every route of the description with ids of another project, and what it may not see otherwise.

No route tells somebody else's thing from one that there is not: same status, same words, nothing changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.apps import apps

from tests.server.api.v2.conftest import tree
from vetro.server.api.v2.api import api

pytestmark = pytest.mark.attack("routes", "strangers")

#: What is sent, so that no request stops at its body. Operations without a row take none.
BODIES: dict[str, Any] = {
    "changePackage": {"name": "mine", "enabled": False},
    "renameCategory": {"name": "Mine"},
    "changeEnvironment": {"name": "mine"},
    "cloneEnvironment": {"name": "mine"},
    "writeModel": {"?": {"type": "io.murano.Environment", "id": "x"}, "name": "mine", "services": []},
    "addComponent": tree("t7"),
    "changeComponent": tree("t1", height=9),
    "undoChanges": {},
    "cancelTask": {"reason": "mine"},
    "markImage": {"title": "Mine", "type": "linux"},
    "resolveTask": {"key": "0", "decision": "redo"},
    "callAction": {"args": {"litres": 3}},
    "changeTemplate": {"name": "mine", "services": []},
    "cloneTemplate": {"name": "mine"},
    "createEnvironmentFromTemplate": {"name": "mine"},
    "changeUser": {"enabled": False, "password": "a long password"},
    "changeProject": {"enabled": False},
}
#: Query parameters without which a route answers 400.
QUERIES = {"compareStates": "?from=0&to=1", "createLoginLink": "?project=demo"}
#: Parts of addresses that name nothing of a project.
PLAIN = {"object_id", "action_id", "number", "path", "class_name"}
#: Rules that refuse everybody but administrators, before anything is looked up.
CLOSED = {"manage_accounts", "add_category", "delete_category", "mark_images"}


def operations() -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """(operation id, method, path, description) of the routes with parameters; forms have a test of their own."""
    for path, methods in api.get_openapi_schema()["paths"].items():
        for method, about in methods.items():
            if "{" in path and "forms" not in about["tags"]:
                yield about["operationId"], method.upper(), path, about


def everything() -> dict[str, list[dict[str, Any]]]:
    """All rows of all tables, but for when tokens were used."""
    found = {}
    for model in apps.get_models():
        rows = list(model.objects.order_by("pk").values())
        found[model.__name__] = [{k: v for k, v in row.items() if k != "last_used"} for row in rows]
    return found


def test_nothing_of_another_project_is_reached_by_any_route(eve: Any, real: dict[str, str]) -> None:
    values = {**real, "number": "1", "image_id": "5f" * 16}
    before = everything()
    walked = set()
    for id, method, path, about in operations():
        names = {p["name"] for p in about["parameters"] if p["in"] == "path"}
        assert names <= {*values, "token_id"}, f"{id}: give the fixture 'real' a value"
        mine = {**values, "token_id": next(t["id"] for t in before["Token"] if t["user_id"] != eve.caller.user_id)}
        unknown = {name: value if name in PLAIN else "0" * 32 for name, value in mine.items()}
        answers = []
        for given in (mine, unknown):
            address = path.format(**given) + QUERIES.get(id, "")
            answer = eve.request(method, address, BODIES.get(id))
            answers.append((answer.status_code, blind(answer.content.decode(), given)))
        expected = 403 if about.get("x-policy-rule") in CLOSED else 404
        assert answers[0][0] == expected, f"{id}: {answers[0]}"
        assert answers[0] == answers[1], id
        assert everything() == before, f"{id} changed something"
        walked.add(id)
    assert len(walked) > 55
    assert set(BODIES) | set(QUERIES) <= walked


def blind(text: str, given: dict[str, str]) -> str:
    """An answer without the ids that were asked for."""
    for name, value in given.items():
        if name not in PLAIN:
            text = text.replace(value, "ID")
    return text


def test_lists_searches_and_filters_show_nothing_of_another_project(eve: Any, real: dict[str, str]) -> None:
    environment, task, package = real["environment_id"], real["task_id"], real["package_id"]
    for address in (
        "/environments", "/tasks", "/templates", "/packages?owned=true", "/packages?search=orchard",
        "/packages?fqn=test.orchard&all_versions=true&disabled=true", "/packages?class=test.Tree", "/audit",
        f"/tasks?environment={environment}", f"/audit?target={environment}", "/audit?user=ann",
    ):  # fmt: skip
        answer = eve.get(f"/v2{address}")
        assert (answer.status_code, answer.json()["items"]) == (200, []), address
    for address in (
        f"/events?environment={environment}", f"/events?task={task}", "/tokens?user=ann", "/schemas/test.Tree",
        "/schemas/test.Tree?package=test.orchard&version=1.0.0",
    ):  # fmt: skip
        assert eve.get(f"/v2{address}").status_code == 404, address
    for address in ("/environments?all_projects=true", f"/environments?project={real_project(real)}"):
        assert eve.get(f"/v2{address}").status_code == 403, address
    asked = {"items": [{"fqn": "test.orchard", "version": "1.0.0", "digest": "0" * 64}]}
    assert eve.post("/v2/packages/known", asked).json()["different"] == []
    assert package not in eve.get("/v2/categories").content.decode()


def real_project(real: dict[str, str]) -> str:
    from vetro.server.environments.models import Environment

    return str(Environment.objects.get(id=real["environment_id"]).project_id)


def test_bodies_name_nothing_of_another_project(eve: Any, real: dict[str, str], drain: Callable[..., Any]) -> None:
    made = eve.post("/v2/environments", {"name": "evil"}).json()["id"]
    session = eve.post(f"/v2/environments/{made}/sessions").json()["id"]
    stolen = {"name": "copy", "session_id": real["session_id"]}
    assert eve.post(f"/v2/environments/{made}/clone", stolen).status_code == 404
    assert eve.get(f"/v2/environments/{made}/topology?session={real['session_id']}").status_code == 404
    assert eve.post("/v2/tokens", {"name": "x", "project": "demo"}).status_code == 403
    call = {"class": "test.Tree", "method": "sum", "args": {"a": 1, "b": 2}}
    assert eve.post("/v2/actions", call).status_code == 404
    assert eve.post(f"/v2/sessions/{session}/components", tree("t1")).status_code == 201
    task = eve.post(f"/v2/sessions/{session}/deploy").json()
    # Its class is in a package that eve does not see.
    assert (task["state"], task["error"]["kind"]) == ("failed", "not-found")
    assert drain() == 0


@pytest.mark.parametrize("path", ["files/../../../etc/passwd", "files/%2e%2e/manifest.yaml", "files//etc/passwd"])
def test_only_names_that_an_archive_has_are_files(ann: Any, orchard: Any, path: str) -> None:
    answer = ann.get(f"/v2/packages/{orchard['id']}/{path}")
    assert answer.status_code == 404, answer.content
    assert ann.get(f"/v2/packages/{orchard['id']}/files/manifest.yaml").status_code == 200
