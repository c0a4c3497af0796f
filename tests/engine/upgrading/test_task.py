"""Upgrades in task processes: behind walls, in time, and the same as anywhere else."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.upgrading.test_upgrade import ONE, STORED, TWO
from tests.engine.upgrading.world import HEAD, World, obj
from tests.support.installation import compiled
from vetro.engine.query.query import AskFailed, ask
from vetro.engine.task.launcher import Launcher
from vetro.engine.task.task import Budget, Task

TABLES = {"before": {"t": ["1.0.0"]}, "after": {"t": ["2.0.0"]}, "target": {"t": "2.0.0"}}
HOSTILE = """
Methods:
  m:
    Usage: Static
    Meta: {l:Migration: {to: 2.0.0}}
    Arguments: [old: {Contract: {}}]
    Body:
      %s
"""


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    with Launcher(cache=compiled()) as made:
        yield made


def written(folder: Path, package: Any) -> str:
    path = folder / f"{package.name}-{package.version}.zip"
    path.write_bytes(package.blob)
    return str(path)


def hostile(folder: Path, body: str) -> list[str]:
    made = []
    for version, text in (("1.0.0", ""), ("2.0.0", HOSTILE % body)):
        root = folder / version
        (root / "Classes").mkdir(parents=True)
        (root / "manifest.yaml").write_text(
            f"Format: '1.4'\nType: Library\nFullName: t\nVersion: {version}\nName: t\n"
            "Require: {io.vetro: 1}\nClasses: {t.Thing: Thing.yaml}\n"
        )
        (root / "Classes" / "Thing.yaml").write_text(f"{HEAD}Name: Thing\n{text}")
        made.append(str(root))
    return made


def task(packages: list[str], model: Any, budget: Budget | None = None, **args: Any) -> Task:
    given = {**TABLES, **args}
    return Task(
        id="q", kind="migrate", packages=packages, model={"Objects": model}, args=given, seed=str(time.time()),
        budget=budget or Budget(cpu_seconds=10, memory_mib=256),
    )  # fmt: skip


def test_the_draft_is_that_of_any_process(launcher: Launcher, tmp_path: Path) -> None:
    packages = [written(tmp_path, one) for one in (ONE, TWO)]
    given: dict[str, Any] = {"answers": {"d": {"mode": "fast"}}, "drops": [["d", "note"]]}
    expected = World(ONE, TWO).upgrade(STORED, "1.0.0", "2.0.0", **given)
    for _ in range(2):
        made = ask(task(packages, STORED, **given), launcher=launcher)
        assert {key: made[key] for key in ("objects", "base", "attributes", "packages")} == {
            key: expected[key] for key in ("objects", "base", "attributes", "packages")
        }
        assert made["report"]["ready"]


@pytest.mark.attack("effects", "M1")
@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("- While: 1 < 2\n        Do: [$x: 1]", ("LIM", "ENG317")),
        ("- $x: [1]\n      - While: 1 < 2\n        Do: [$x: $x + $x]", ("LIM", "ENG350")),
        ("- $s: new('io.murano.system.HeatStack', new(std:Object), name => s)\n      - $s.current()", ("ENG350",)),
        ("- $r: new('io.murano.system.Resources')\n      - $r.string('../manifest.yaml')", ("ENG350",)),
    ],
)
def test_a_hostile_migration_ends_and_reaches_nothing(
    launcher: Launcher, tmp_path: Path, body: str, code: tuple[str, ...]
) -> None:
    small = Budget(steps=1_000_000, cpu_seconds=3, memory_mib=256)
    with pytest.raises(AskFailed) as caught:
        ask(task(hostile(tmp_path, body), obj("Thing", "o"), small), launcher=launcher, timeout=20)
    assert caught.value.code.startswith(code), caught.value.error


def test_arguments_that_are_none_are_refused(launcher: Launcher, tmp_path: Path) -> None:
    with pytest.raises(AskFailed) as caught:
        ask(task([written(tmp_path, ONE)], STORED, other=1), launcher=launcher)
    assert caught.value.code == "ENG301"
