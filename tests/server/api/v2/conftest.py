"""A project with a package and environments, as clients of /v2 see it."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.server.conftest import installed
from tests.server.layers import People, layer

MANIFEST = """\
Format: MuranoPL/1.3
Type: Application
FullName: test.orchard
Version: 1.0.0
Name: Orchard
Description: Trees for tests
Author: Vetro
Tags: [garden]
Require:
  io.murano: '>=0'
Classes:
  test.Tree: Tree.yaml
  test.Nest: Nest.yaml
UI: ui.yaml
"""

TREE = """\
Name: Tree
Namespaces:
  =: test
  std: io.murano
  f: io.murano.metadata.forms
Extends: std:Application
Properties:
  name: {Contract: $.string().notNull()}
  height: {Contract: $.int().notNull(), Default: 1, Usage: InOut}
  pin:
    Contract: $.string()
    Default: null
    Meta:
      - f:Secret: {}
  nest: {Contract: $.class(Nest)}
  neighbour: {Contract: $.class(Tree)}
Methods:
  deploy:
    Body:
      - $.find(std:Environment).reporter.report($this, 'growing')
      - If: $.height < 0
        Then:
          - Throw: Withered
            Message: too small
  water:
    Scope: Public
    Arguments:
      - litres: {Contract: $.int().notNull()}
    Body:
      - $.height: $.height + $litres
      - Return: $.height
  lock:
    Scope: Public
    Arguments:
      - pin:
          Contract: $.string().notNull()
          Meta:
            - f:Secret: {}
      - times: {Contract: $.int(), Default: 1}
    Body:
      - Return: $times
  sum:
    Usage: Static
    Scope: Public
    Arguments:
      - a: {Contract: $.int().notNull()}
      - b: {Contract: $.int().notNull()}
    Body:
      - Return: $a + $b
"""

NEST = """\
Name: Nest
Namespaces:
  =: test
Properties:
  eggs: {Contract: $.int().notNull(), Default: 0}
"""

UI = """\
Version: 2.2
Application:
  ?:
    type: test.Tree
  name: $.one.name
Forms:
  - one:
      fields:
        - {name: name, type: string, label: Name}
"""


def archive(version: str = "1.0.0", require: str = "", name: str = "test.orchard") -> bytes:
    """The package test.orchard."""
    manifest = MANIFEST.replace("Version: 1.0.0", f"Version: {version}").replace(
        "FullName: test.orchard", f"FullName: {name}"
    )
    if require:
        manifest = manifest.replace("  io.murano: '>=0'\n", f"  io.murano: '>=0'\n  {require}\n")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        for path, text in {
            "manifest.yaml": manifest,
            "Classes/Tree.yaml": TREE,
            "Classes/Nest.yaml": NEST,
            "UI/ui.yaml": UI,
        }.items():
            target.writestr(zipfile.ZipInfo(path), text)
    return buffer.getvalue()


def part(data: bytes, name: str = "package.zip") -> Any:
    """A part of a multipart body."""
    from django.core.files.uploadedfile import SimpleUploadedFile

    return SimpleUploadedFile(name, data, "application/zip")


def upload(person: Any, *archives: bytes, path: str = "/v2/packages", headers: Any = None, **fields: Any) -> Any:
    """Sends archives."""
    return person._client.post(path, {"archive": [part(data) for data in archives], **fields}, headers=headers)


def tree(id: str = "t1", **properties: Any) -> dict[str, Any]:
    """An application."""
    return {"?": {"type": "test.Tree", "id": id}, "name": id, **properties}


@pytest.fixture(scope="session", autouse=True)
def _ended() -> Iterator[None]:
    """Ends the process that answers questions about classes."""
    yield
    from vetro.server.tasks import package_queries

    package_queries.close()


@layer(installed)
def orchard(people: People) -> Any:
    """The package, in ann's project; what showing it gives."""
    response = upload(people("ann"), archive())
    assert response.status_code == 201, response.content
    return response.json()["imported"][0]


@pytest.fixture
def environment(ann: Any, orchard: Any) -> str:
    """An empty environment of ann's project; its id."""
    return str(ann.post("/v2/environments", {"name": "shop"}).json()["id"])


@pytest.fixture
def deploy(ann: Any, environment: str, drain: Callable[..., Any]) -> Callable[..., Any]:
    """``deploy(tree(), …)``: makes these the applications and deploys to the end; the task."""

    def make(*trees: dict[str, Any]) -> Any:
        session = ann.post(f"/v2/environments/{environment}/sessions").json()["id"]
        model = ann.get(f"/v2/sessions/{session}/model").json()
        written = ann.put(f"/v2/sessions/{session}/model", {**model, "services": list(trees)})
        assert written.status_code == 200, written.content
        begun = ann.post(f"/v2/sessions/{session}/deploy")
        assert begun.status_code == 202, begun.content
        drain()
        return ann.get(f"/v2/tasks/{begun.json()['id']}").json()

    return make


@pytest.fixture
def real(ann: Any, orchard: Any, environment: str, deploy: Callable[..., Any]) -> dict[str, str]:
    """Values of path parameters that name something, all of it ann's project's."""
    task = deploy(tree("t1", pin="1234"))
    session = ann.post(f"/v2/environments/{environment}/sessions").json()["id"]
    template = ann.post("/v2/templates", {"name": "grove", "services": [tree()]}).json()["id"]
    form = ann.post("/v2/forms", {"package": orchard["id"], "environment_id": environment}).json()["id"]
    return {
        "environment_id": environment,
        "session_id": session,
        "form_id": form,
        "task_id": task["id"],
        "seq": str(ann.get(f"/v2/tasks/{task['id']}/log").json()["items"][0]["seq"]),
        "template_id": template,
        "package_id": orchard["id"],
        "category_id": ann.get("/v2/categories").json()["items"][0]["id"],
        "object_id": "t1",
        "action_id": "t1_water",
        "class_name": "test.Tree",
        "path": "manifest.yaml",
        "user": "ann",
        "project": "demo",
    }
