"""An archive of somebody else's environment gives its importer nothing of it: no stack, server, network, queue, secret.

The archives here say what the worst ones could: ids of environments that exist or existed, generated names of their
stacks, references to their secrets.
"""

from __future__ import annotations

import io
import json
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.environments.conftest import exported
from vetro.clouds.interface import Conflict, Owner, StackChange
from vetro.engine.host.answer import NoSuchSecret
from vetro.engine.host.encryption import SecretCipher
from vetro.server.config import cloud_settings
from vetro.server.environments import deploy as deploying
from vetro.server.environments import deployments, drafts, history, imports, queries, service, sessions
from vetro.server.tasks.spec import secret_keys

MANIFEST = """\
Format: MuranoPL/1.3
Type: Application
FullName: test.House
Name: House
Description: For tests
Author: Vetro
Tags: []
Classes:
  test.House: House.yaml
"""

HOUSE = """\
Name: House
Namespaces:
  =: test
  std: io.murano
  res: io.murano.resources
Extends: std:Application
Properties:
  name: {Contract: $.string().notNull()}
  instance: {Contract: $.class(res:Instance).notNull()}
  sealed: {Contract: $.string(), Default: null}
  opened: {Contract: $.string(), Default: null, Usage: Out}
Methods:
  deploy:
    Body:
      - If: $.sealed != null
        Then:
          - $.opened: decryptData($.sealed)
      - $.instance.deploy()
"""


def house(**properties: Any) -> dict[str, Any]:
    instance = {"?": {"type": "io.murano.resources.LinuxMuranoInstance", "id": "server-1"}, "name": "web",
                "image": "debian-12-murano", "flavor": "m1.small", "assignFloatingIp": False}  # fmt: skip
    return {"?": {"type": "test.House", "id": "house-1"}, "name": "house", "instance": instance, **properties}


def changed(data: bytes, change: Callable[[str, Any], Any]) -> bytes:
    """The archive with ``change(path, value)`` in the place of every JSON file."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            body = old.read(name)
            new.writestr(name, json.dumps(change(name, json.loads(body))) if name.endswith(".json") else body)
    return target.getvalue()


def with_id(data: bytes, id: str) -> bytes:
    return changed(data, lambda path, value: {**value, "id": id} if path == "environment.json" else value)


def refused(caller: Any, data: bytes, **how: Any) -> None:
    """An exact copy with another id would count as deployed, and nothing of what is deployed would be its."""
    with pytest.raises(service.Conflict, match="would have none") as caught:
        imports.import_environment(caller, data, **how)
    assert "fresh=true" in str(caught.value.hint)


class Town:
    """A recording cloud, and what of it belongs to an environment."""

    def __init__(self, place: Path, drain: Callable[..., int]) -> None:
        self.place = place
        self.drain = drain

    def of(self, project: str, environment: str) -> dict[str, list[Any]]:
        """Every row about it in the files of the cloud."""
        found: dict[str, list[Any]] = {}
        for file in ("cloud.db", "record.db"):
            path = next(self.place.rglob(file), None)
            if path is None:
                continue
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
                tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")]
                for table in tables:
                    columns = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
                    if {"project", "environment"} <= columns:
                        found[f"{file}/{table}"] = connection.execute(
                            f"SELECT * FROM {table} WHERE project = ? AND environment = ?", (project, environment)
                        ).fetchall()
                stacks = "(SELECT id FROM stacks WHERE project = ? AND environment = ?)"
                for table in sorted({"resources", "parts", "outputs"} & set(tables)):
                    found[f"{file}/{table}"] = connection.execute(
                        f"SELECT * FROM {table} WHERE stack IN {stacks}", (project, environment)
                    ).fetchall()
            connection.close()
        return found

    def build(self, caller: Any, name: str = "home", **properties: Any) -> str:
        """A deployed environment with a server in a network; its id."""
        id = str(service.create(caller, {"name": name})["id"])
        session = sessions.open_session(caller, id).id
        drafts.put_services(caller, id, session, (), [house(**properties)])
        assert self.deploy(caller, id, session).state == "done"
        return id

    def deploy(self, caller: Any, id: str, session: str = "") -> Any:
        task = deploying.deploy(caller, id, session or sessions.open_session(caller, id).id)
        self.drain()
        task.refresh_from_db()
        return task

    def destroy(self, caller: Any, id: str) -> Any:
        task = deploying.delete(caller, id)
        assert task is not None
        self.drain()
        task.refresh_from_db()
        return task


@pytest.fixture
def town(ann: Any, drain: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Town]:
    """With a cloud of its own; the package is public in ann's project."""
    from vetro.server import setup
    from vetro.server.catalog import standard_packages
    from vetro.server.catalog.service import import_packages
    from vetro.server.config.config import Config

    place = tmp_path / "cloud"
    given = {"cloud.driver": "record", "cloud.directory": str(place)}
    monkeypatch.setattr(setup, "_current", Config.load(setup.config().data, overrides=given))
    standard_packages.ensure()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        target.writestr("manifest.yaml", MANIFEST)
        target.writestr("Classes/House.yaml", HOUSE)
    import_packages(ann.caller, [buffer.getvalue()])
    yield Town(place, drain)


def test_a_copy_in_another_project_shares_nothing(town: Town, ann: Any, eve: Any) -> None:
    from vetro.server.setup import config

    reference = SecretCipher(secret_keys(config()), ann.caller.project_id).encrypt("the cellar key")
    mine = town.build(ann.caller, sealed=reference)
    before = town.of(ann.caller.project_id, mine)
    assert before["cloud.db/stacks"] and before["cloud.db/records"] and before["cloud.db/resources"]
    data = exported(ann.caller, mine)
    refused(eve.caller, data)
    made = imports.import_environment(eve.caller, data, fresh=True)
    copy = str(made["environment_id"])
    task = town.deploy(eve.caller, copy, str(made["session_id"]))
    assert task.state == "failed" and "sealed for another project" in json.dumps(task.error), task.error
    with pytest.raises(NoSuchSecret):
        SecretCipher(secret_keys(config()), eve.caller.project_id).decrypt(reference)

    assert town.of(ann.caller.project_id, mine) == before

    # Without the secret it is built under the same names and taken down again.
    made = imports.import_environment(eve.caller, data, name="other", fresh=True)
    other, session = str(made["environment_id"]), str(made["session_id"])
    (app,) = drafts.show(eve.caller, other, session)["services"]
    drafts.put_services(eve.caller, other, session, (app["?"]["id"], "sealed"), None)
    task = town.deploy(eve.caller, other, session)
    assert task.state == "done", task.error
    theirs = town.of(eve.caller.project_id, other)
    assert {table: len(rows) for table, rows in theirs.items()} == {t: len(rows) for t, rows in before.items()}
    for id in (copy, other):
        assert town.destroy(eve.caller, id).state == "done"
        left = town.of(eve.caller.project_id, id)
        assert not any(rows for table, rows in left.items() if table.startswith("cloud.db"))
    assert town.of(ann.caller.project_id, mine) == before


def test_a_copy_beside_the_original_cannot_touch_it(town: Town, ann: Any) -> None:
    from vetro.engine.host.config import cloud_of
    from vetro.server.setup import config

    mine = town.build(ann.caller)
    project = ann.caller.project_id
    before = town.of(project, mine)
    data = exported(ann.caller, mine)
    refused(ann.caller, data, name="copy")
    # Nor does it help to leave out of the archive what the refusal goes by.
    hidden = changed(data, lambda path, value: {**value, "Attributes": []} if path.startswith("model-") else value)
    copy = str(imports.import_environment(ann.caller, hidden, name="copy")["environment_id"])
    model = queries.get(ann.caller, mine, model=True).model or {}
    name = "murano-" + next(value for _, _, key, value in model["Attributes"] if key == "generatedStackName")
    owner = Owner(project, copy)
    cloud = cloud_of(cloud_settings.cloud(config()), owner)
    try:
        # Who knows the name of the original's stack gains nothing: for this owner there is none, and it can get none.
        assert [stack.name for stack in cloud.stacks(Owner(project, mine))] == [name]
        assert cloud.read_stack(owner, "", name) is None
        with pytest.raises(Conflict):
            cloud.push_stack(owner, "", name, StackChange("0" * 64))
    finally:
        cloud.close()
    assert town.destroy(ann.caller, copy).state == "done"
    assert town.of(project, mine) == before


def test_the_id_of_an_environment_that_is_gone_brings_back_nothing_of_another_project(
    town: Town, ann: Any, eve: Any
) -> None:
    mine = town.build(ann.caller)
    data = exported(ann.caller, mine)
    before = town.of(ann.caller.project_id, mine)
    deploying.delete(ann.caller, mine, abandon=True)  # its stacks and agents stay where they are
    refused(eve.caller, data)
    hidden = changed(data, lambda path, value: {**value, "Attributes": []} if path.startswith("model-") else value)
    theirs = str(imports.import_environment(eve.caller, hidden)["environment_id"])
    assert deployments.of_environment(eve.caller, theirs) == []
    assert [state["task_id"] for state in history.states(eve.caller, theirs)] == [None] * 2
    assert theirs != mine  # queues of agents are named by it
    assert town.destroy(eve.caller, theirs).state == "done"
    assert town.of(ann.caller.project_id, mine) == before
    # In its own project it is again what it was.
    assert imports.import_environment(ann.caller, data)["environment_id"] == mine
    assert [d["state"] for d in deployments.of_environment(ann.caller, mine)] == ["success"]


@pytest.mark.parametrize("id", ["{upper}", "../../../tmp/x", "a b", "x-hserver", "..", "A" * 32, 5])
def test_an_id_that_the_service_would_not_give_is_not_taken(ann: Any, eve: Any, id: Any) -> None:
    made = str(service.create(ann.caller, {"name": "home"})["id"])
    given = made.upper() if id == "{upper}" else id
    data = with_id(exported(ann.caller, made), given)
    theirs = str(imports.import_environment(eve.caller, data)["environment_id"])
    assert theirs.lower() != made and theirs != given
    assert len(theirs) == 32 and set(theirs) <= set("0123456789abcdef")
    model = queries.get(eve.caller, theirs, model=True).model or {}
    assert model["Objects"]["?"]["id"] == theirs
