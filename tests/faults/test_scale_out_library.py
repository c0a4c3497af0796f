"""The same through the standard library and the recording cloud: real servers' classes, stacks, plans and agents."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.faults.harness import Case, package
from vetro.clouds.interface import Owner
from vetro.clouds.record.driver import RecordDriver
from vetro.engine.host.config import build_host
from vetro.engine.host.performer import EffectsHost
from vetro.engine.task.launcher import Launcher
from vetro.engine.task.task import Task

ENVIRONMENT = "0123456789abcdef0123456789abcdef"
PROPERTIES = """\
numItems:
  Contract: $.int()
  Usage: InOut
  Default: 0
servers:
  Contract: [$.class('io.murano.resources.LinuxMuranoInstance')]
  Usage: InOut
  Default: []
"""
METHODS = """\
scaleOut:
  Usage: Action
  Body:
    - $.numItems: $.numItems + 1
    - $one: $.server()
    - $two: $.server()
    - $.servers: $.servers + [$one, $two]
    - Parallel:
      - $.install($one)
      - $.install($two)
server:
  Body:
    - $properties: dict(name => randomName(), flavor => 'm1.small', image => 'debian-12-murano')
    - Return: new('io.murano.resources.LinuxMuranoInstance', $properties, $this)
install:
  Arguments:
    - server:
        Contract: $.class('io.murano.resources.LinuxMuranoInstance')
  Body:
    - $server.deploy()
    - new('io.murano.configuration.Linux').runCommand($server.agent, 'echo install')
    - new('io.murano.configuration.Linux').runCommand($server.agent, 'echo start')
    - $.find('io.murano.Environment').require().reporter.report($this, format('{0} is ready', $server.name))
"""


def task(folder: Path) -> Task:
    network = {"?": {"type": "io.murano.resources.NeutronNetwork", "id": "net"}, "name": "lan"}
    model = {
        "Objects": {
            "?": {"type": "io.murano.Environment", "id": ENVIRONMENT},
            "name": "e",
            "defaultNetworks": {"environment": network, "flat": None},
            "applications": [{"?": {"type": "test.App", "id": "app"}, "numItems": 1}],
        },
        "ObjectsCopy": None,
        "Attributes": [],
    }
    path = package(folder / "package", METHODS, PROPERTIES, "std:Application")
    return Task("t1", "action", (path,), model, method="scaleOut", object_id="app", seed="s")


def host(folder: Path) -> EffectsHost:
    return build_host(
        {
            "cloud": {"kind": "record", "directory": str(folder / "cloud")},
            "owner": {"project": "p", "environment": ENVIRONMENT},
        }
    )


def same(model: dict[str, Any]) -> str:
    """The text of a model: it has to be the same byte for byte."""
    return json.dumps(model, sort_keys=True, indent=1)


def check(case: Case, said: dict[str, Any] | None, expected: dict[str, Any]) -> None:
    assert said is not None
    assert said["state"] == "done", said["error"]
    (app,) = said["model"]["Objects"]["applications"]
    names = [server["name"] for server in app["servers"]]
    assert app["numItems"] == 2
    assert len(set(names)) == 2
    ready = [report["text"] for report in said["reports"] if "ready" in report["text"]]
    assert sorted(ready) == sorted(f"{name} is ready" for name in names)
    driver = RecordDriver(case.folder / "cloud")
    try:
        plans = driver.plans(Owner("p", ENVIRONMENT))
    finally:
        driver.close()
    ids = [plan.id for plan in plans]
    assert len(ids) == len(set(ids)) == len(expected["plans"])
    found, wanted = same(said["model"]), same(expected["model"])
    assert found == wanted, "\n".join(difflib.unified_diff(wanted.split("\n"), found.split("\n"), lineterm="", n=1))


@pytest.fixture(scope="module")
def reference(launcher: Launcher, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("reference")
    case = Case(launcher, folder, task(folder), host)
    said = case.work()
    assert said is not None
    assert said["state"] == "done", said["error"]
    driver = RecordDriver(folder / "cloud")
    said["plans"] = [plan.id for plan in driver.plans()]
    driver.close()
    check(case, said, said)
    return said


WRITES = ("after intent", "after result", "after note", "before end", "after end", "after begin")


@pytest.mark.campaign
def test_killed_at_every_write_of_the_journal(reference: dict[str, Any], launcher: Launcher, tmp_path: Path) -> None:
    start = task(tmp_path)
    writes = [number for number, (step, _) in enumerate(reference["steps"]) if step in WRITES]
    assert len(writes) > 30
    for number in writes:
        case = Case(launcher, tmp_path / str(number), start, host)
        said = case.work("worker", lambda n, name, key, number=number: n == number)
        assert said is None, f"step {number} was never made"
        check(case, case.work(), reference)


@pytest.mark.campaign
@pytest.mark.parametrize("victim", ["host", "task"])
def test_host_and_task_process_killed_while_effects_are_under_way(
    victim: str, reference: dict[str, Any], launcher: Launcher, tmp_path: Path
) -> None:
    start = task(tmp_path)
    for number in [number for number, (step, _) in enumerate(reference["steps"]) if step == "after effect"]:
        case = Case(launcher, tmp_path / str(number), start, host)
        check(case, case.work(victim, lambda n, name, key, number=number: n == number), reference)
