"""A hostile client: what it may not see. `tests.server.roles` tries every route with ids of another project."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.server.api.v2.conftest import tree

pytestmark = pytest.mark.attack("routes", "strangers")


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
