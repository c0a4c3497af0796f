"""The action of a package survives being killed at every write of its journal."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.faults.harness import Case, model, package
from tests.support.fuzzing import every
from vetro.engine.task.launcher import Launcher
from vetro.engine.task.task import Task

PROPERTIES = """\
numItems:
  Contract: $.int()
  Usage: InOut
  Default: 0
names:
  Contract: [$.string()]
  Usage: InOut
  Default: []
"""
METHODS = """\
scaleOut:
  Usage: Action
  Body:
    - $.numItems: $.numItems + 1
    - $number: $.numItems
    - Parallel:
      - Do:
        - $.server(format('{0}-a-{1}', $number, randomName()))
      - Do:
        - $.server(format('{0}-b-{1}', $number, randomName()))
    - Return: $.names.len()
server:
  Arguments:
    - name:
        Contract: $.string().notNull()
  Body:
    - $.names: $.names + [$name]
    - push($name)
    - plan(format('{0} install', $name))
    - plan(format('{0} start', $name))
    - $now: effect(clock)
    - effect(report, dict(id => '1', text => $name))
"""


def task(folder: Path) -> Task:
    path = package(folder / "package", METHODS, PROPERTIES)
    return Task("t1", "action", (path,), model(numItems=1, names=["1-a"]), method="scaleOut", object_id="1", seed="s")


def check(case: Case, said: dict[str, Any] | None, expected: dict[str, Any]) -> None:
    """One increment, one server a name, each script once, one report each, and the same model."""
    assert said is not None
    assert said["state"] == "done", said["error"]
    assert json.dumps(said["model"]) == json.dumps(expected["model"])
    names = said["model"]["Objects"]["names"][1:]
    assert said["model"]["Objects"]["numItems"] == 2
    assert len(set(names)) == 2
    assert sorted(case.world.done("push")) == sorted(names)
    assert sorted(case.world.done("run")) == sorted(f"{name} {what}" for name in names for what in ("install", "start"))
    assert sorted(report["text"] for report in said["reports"]) == sorted(names)
    assert said["result"] == 3


@pytest.fixture(scope="module")
def reference(launcher: Launcher, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A run that nobody kills."""
    folder = tmp_path_factory.mktemp("reference")
    case = Case(launcher, folder, task(folder))
    said = case.work()
    assert said is not None
    check(case, said, said)
    assert case.world.waiting() == []
    return said


@pytest.mark.parametrize(
    "victim", ["worker", *(pytest.param(other, marks=pytest.mark.campaign) for other in ("host", "task"))]
)
def test_killed_once_at_every_step(victim: str, reference: dict[str, Any], launcher: Launcher, tmp_path: Path) -> None:
    start = task(tmp_path)
    for number in every(4, range(len(reference["steps"]))):
        case = Case(launcher, tmp_path / str(number), start)
        said = case.work(victim, lambda n, name, key, number=number: n == number)
        if victim == "worker":
            assert said is None, f"step {number} was never made"
            said = case.work()
        check(case, said, reference)


@pytest.mark.parametrize("seed", range(12))
def test_killed_twice_at_random(seed: int, reference: dict[str, Any], launcher: Launcher, tmp_path: Path) -> None:
    chance = random.Random(seed)
    case = Case(launcher, tmp_path, task(tmp_path))
    for _ in range(2):
        number = chance.randrange(len(reference["steps"]) // 2)
        case.work(chance.choice(["worker", "host", "task"]), lambda n, name, key, number=number: n == number)
    check(case, case.work(), reference)
