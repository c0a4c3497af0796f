"""The recording driver below packages: what its table says changes how deployments end, and what it keeps is golden."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from vetro.clouds.interface import StackFailed
from vetro.engine.recorded import RecordedCloud
from vetro.model.environment import Environment
from vetro.muranopl import Engine
from vetro.packages import load_path, memory_package

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "examples" / "golden"

TWO = """
Namespaces: {=: t, std: io.murano, res: io.murano.resources, conf: io.murano.configuration}
Name: Two
Extends: std:Application
Properties:
  front: {Contract: $.class(res:LinuxMuranoInstance).notNull()}
  back: {Contract: $.class(res:LinuxMuranoInstance).notNull()}
  said: {Contract: $, Usage: Out}
Methods:
  deploy:
    Body:
      - $.front.deploy()
      - $.back.deploy()
      - Try:
          - $a: conf:Linux.runCommand($.front.agent, 'echo front')
          - $b: conf:Linux.runCommand($.back.agent, 'echo back')
          - $.said: [$a.stdout, $b.stdout]
        Catch:
          - As: e
            Do:
              - $.said: $e.message
"""


def server(name: str) -> dict[str, Any]:
    made: dict[str, Any] = {"?": {"type": "io.murano.resources.LinuxMuranoInstance", "id": f"id-{name}"}}
    return {**made, "name": name, "flavor": "m1.small", "image": "debian-12-murano"}


def deployed(tmp_path: Path, table: dict[str, Any]) -> Any:
    """What the application of two servers says at the end."""
    made = memory_package({"name": "t", "format": "1.4", "type": "Application", "classes": {"t.Two": TWO}})
    script = tmp_path / "table.json"
    script.write_text(json.dumps(table))
    cloud = RecordedCloud(settings={"script": str(script)})
    try:
        environment = Environment.new("two", cloud.owner.environment)
        environment.add({"?": {"type": "t.Two", "id": "two"}, "front": server("front"), "back": server("back")})
        session = Engine([made], effects=cloud.effects, seed=1).session()
        try:
            session.load(environment.model)
            session.call("deploy", public_only=False)
            model = session.finalize()
        finally:
            session.close()
    finally:
        cloud.close()
    return model["Objects"]["applications"][0]["said"]


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ([], ["", ""]),
        ([{"stdout": "all"}], ["all", "all"]),
        ([{"server": "back", "stdout": "b"}, {"server": "front", "stdout": "f"}], ["f", "b"]),
        ([{"script": "*echo back*", "stdout": "by script"}], ["", "by script"]),
        ([{"times": 1, "stdout": "once"}, {"stdout": "then"}], ["once", "then"]),
        ([{"server": "back", "failure": "disk full"}], "disk full"),
        ([{"server": "front", "exitCode": 3}], "returned error code"),
    ],
    ids=["nothing", "all", "by server", "by script", "times", "failure", "exit code"],
)
def test_the_table_changes_outcomes(tmp_path: Path, rules: list[dict[str, Any]], said: Any) -> None:
    found = deployed(tmp_path, {"plans": rules})
    assert said in found if isinstance(said, str) else found == said


def test_a_server_that_does_not_come_up_fails_the_deployment(tmp_path: Path) -> None:
    with pytest.raises(StackFailed, match="no host has room"):
        deployed(tmp_path, {"servers": [{"server": "back", "failure": "no host has room"}]})


def test_delays_are_waited_for(tmp_path: Path) -> None:
    start = time.monotonic()
    assert deployed(tmp_path, {"plans": [{"server": "back", "delay": 0.4, "stdout": "late"}]}) == ["", "late"]
    assert time.monotonic() - start >= 0.4


def plans(model: str, seed: int) -> list[Any]:
    """All plans of a deployment of an example, by server, in order."""
    import yaml

    cloud = RecordedCloud()
    try:
        data = yaml.safe_load((ROOT / "examples" / "deploy" / "models" / f"{model}.yaml").read_text(encoding="utf-8"))
        data["Objects"]["?"]["id"] = cloud.owner.environment
        packages = load_path(ROOT / "examples" / "deploy")
        session = Engine(packages, effects=cloud.effects, seed=seed).session()
        try:
            session.load(data)
            session.call("deploy", public_only=False)
            session.finalize()
        finally:
            session.close()
        rows = cloud.cloud.driver.store.rows(
            "SELECT s.name, p.body FROM plans p JOIN servers s ON s.id = p.server ORDER BY s.name, p.place"
        )
    finally:
        cloud.close()
    return [{"server": name, "plan": _plain(json.loads(body))} for name, body in rows]


def _plain(plan: dict[str, Any]) -> dict[str, Any]:
    """Without what time gives a plan."""
    return {key: value for key, value in plan.items() if key not in ("Stamp", "Time")}


@pytest.mark.parametrize("model", ["webshop", "banner"])
def test_plans_are_golden_and_the_same_with_the_same_seed(model: str) -> None:
    found = plans(model, 1)
    assert found and found == plans(model, 1)
    text = json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    golden = GOLDEN / f"{model}.json"
    if os.environ.get("VETRO_UPDATE_GOLDEN") == "1":
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert golden.is_file(), f"run once with VETRO_UPDATE_GOLDEN=1 to write {golden}"
    assert text == golden.read_text(encoding="utf-8")


def test_another_seed_changes_the_plans_ids() -> None:
    one, other = plans("banner", 1), plans("banner", 2)
    assert [p["server"] for p in one] == [p["server"] for p in other] != []
    assert {p["plan"]["ID"] for p in one}.isdisjoint(p["plan"]["ID"] for p in other)
