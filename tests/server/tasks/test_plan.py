"""A plan says what a deployment would do, and does nothing of it."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.tasks import shop
from vetro.engine.planning import host_config
from vetro.server.environments.models import State
from vetro.server.tasks.plan import scratch, tidy
from vetro.server.tasks.queue import enqueue_plan

AGENT = """\
Name: Shop
Namespaces:
  =: test
  std: io.murano
  res: io.murano.resources
  sys: io.murano.system
Extends: std:Application
Properties:
  title: {Contract: $.string().notNull()}
  instance: {Contract: $.class(res:Instance).notNull()}
Methods:
  deploy:
    Body:
      - $.instance.deploy()
      - sleep(3600)
      - $resources: new(sys:Resources)
      - $plan: $resources.yaml('Install.template')
      - $.instance.agent.call($plan, $resources)
"""

PLAN = """\
FormatVersion: 2.0.0
Version: 1.0.0
Name: Install the shop
Body: |
  return install().stdout
Parameters: {}
Scripts:
  install:
    Type: Application
    Version: 1.0.0
    EntryPoint: install.sh
    Files: []
    Options: {captureStdout: true, captureStderr: true}
"""


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a recording cloud of its own."""
    from vetro.server import setup
    from vetro.server.config.config import Config

    data = setup.config().data
    place = tmp_path / "cloud"
    given = {"cloud.driver": "record", "cloud.directory": str(place)}
    monkeypatch.setattr(setup, "_current", Config.load(data, overrides=given))
    yield place


def seen(folder: Path) -> dict[str, str]:
    """Names and contents of everything in a folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        # Who reads makes an empty log.
        if path.is_file() and not path.name.endswith("-shm") and not (path.name.endswith("-wal") and _empty(path)):
            found[str(path.relative_to(folder))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def _empty(path: Path) -> bool:
    return path.stat().st_size == 0


def with_server(environment: Any, *, title: str = "corner") -> dict[str, Any]:
    instance = {"?": {"type": "io.murano.resources.LinuxMuranoInstance", "id": "server-1"}, "name": "web",
                "image": "debian-12-murano", "flavor": "m1.small", "assignFloatingIp": False}  # fmt: skip
    return shop.model(environment, title=title, instance=instance)


def planned(caller: Any, environment: Any, package: Any, model: dict[str, Any], drain: Callable[..., int]) -> Any:
    task = enqueue_plan(caller, environment=environment, model=model, packages=[package])
    assert drain() == 1
    task.refresh_from_db()
    return task


def test_the_first_deployment(ann: Any, drain: Callable[..., int], cloud: Path) -> None:
    caller = ann.caller
    files = {"Classes/Shop.yaml": AGENT, "Resources/Install.template": PLAN, "Resources/scripts/install.sh": "echo hi"}
    package = shop.add_package(caller, shop.archive(files))
    environment = shop.add_environment(caller)
    before = seen(cloud)
    task = planned(caller, environment, package, with_server(environment), drain)
    assert task.state == "done", task.error
    found = task.result
    assert {(o["what"], o["id"]) for o in found["objects"]} >= {("created", "shop-1"), ("created", "server-1")}
    (stack,) = found["stacks"]
    assert stack["what"] == "created"
    types = {resource["type"] for resource in stack["resources"]}
    assert "OS::Nova::Server" in types
    assert [(s["plan"], s["server"], s["scripts"]) for s in found["scripts"]] == [
        ("Install the shop", "web", ["install.sh"])
    ]
    told = [*(item.get("label", item["name"]) for item in stack["resources"]), *found["unknown"]]
    assert not [text for text in told if re.search("[0-9a-f]{32}", text)], told
    assert any("Install the shop" in text for text in found["unknown"])
    assert any("3600 seconds" in text for text in found["unknown"])
    again = planned(caller, environment, package, with_server(environment), drain)
    assert again.id != task.id and again.result == found, "the same model and packages, the same plan"
    # Nothing happened: no server, no state, no report of a deployment, the environment is free.
    assert seen(cloud) == before
    environment.refresh_from_db()
    assert (environment.version, State.objects.filter(environment=environment).count()) == (0, 0)
    assert task.environment_id == ""
    assert not task.reports.filter(level="error").exists()


def test_a_change_of_what_is_there(ann: Any, drain: Callable[..., int], cloud: Path) -> None:
    caller = ann.caller
    files = {"Classes/Shop.yaml": AGENT.replace("sleep(3600)", "sleep(0)"), "Resources/Install.template": PLAN,
             "Resources/scripts/install.sh": "echo hi"}  # fmt: skip
    package = shop.add_package(caller, shop.archive(files))
    environment = shop.add_environment(caller)
    task = shop.enqueue(caller, environment, package, with_server(environment))
    drain()
    task.refresh_from_db()
    assert task.state == "done", task.error
    there = State.objects.get(environment=environment).model
    before = seen(cloud)

    same = {**there, "ObjectsCopy": there["Objects"]}
    found = planned(caller, environment, package, same, drain).result
    assert (found["objects"], found["stacks"]) == ([], [])
    assert len(found["scripts"]) == 1  # the package runs its plan each time

    gone = {**same, "Objects": {**there["Objects"], "applications": []}}
    found = planned(caller, environment, package, gone, drain).result
    assert {(o["what"], o["id"]) for o in found["objects"]} >= {("destroyed", "shop-1"), ("destroyed", "server-1")}
    (stack,) = found["stacks"]
    assert [r["what"] for r in stack["resources"] if r["type"] == "OS::Nova::Server"] == ["deleted"]
    assert seen(cloud) == before


def test_a_plan_that_fails_says_why(ann: Any, drain: Callable[..., int], cloud: Path) -> None:
    package = shop.add_package(ann.caller)
    environment = shop.add_environment(ann.caller)
    task = planned(ann.caller, environment, package, shop.model(environment, fail=True), drain)
    assert task.state == "failed"
    assert "no customers" in task.error["message"]
    assert {o["id"] for o in task.result["objects"]} >= {environment.id, "shop-1"}


def test_what_killed_workers_left_of_plans_is_removed(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = tmp_path / f"plan-{ended.pid}-x"
    left.mkdir()
    (left / "cloud.db").write_bytes(b"state")
    with scratch(tmp_path) as mine:
        tidy(tmp_path)
        assert [str(path) for path in tmp_path.iterdir()] == [mine]
    assert list(tmp_path.iterdir()) == []


def test_servers_are_told_the_key_that_the_deployment_tells_them(tmp_path: Path) -> None:
    """With another one each server had another boot script in the plan, and was replaced in it."""
    key = tmp_path / "signing-key.pem"
    real = {"cloud": {}, "signing_key": str(key)}
    assert host_config(real, str(tmp_path / "plan"))["signing_key"] == str(tmp_path / "plan" / "signing-key.pem")
    key.touch()
    assert host_config(real, str(tmp_path / "plan"))["signing_key"] == str(key)
    assert host_config({**real, "signing_key": None}, "")["signing_key"] is None
