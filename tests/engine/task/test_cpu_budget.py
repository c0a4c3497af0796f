"""Budgets of tasks: who uses up time, memory or steps ends cleanly, with the model so far."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.engine.taskworld import TIMEOUT, main_class, run, start, write_package
from vetro.engine.task.launcher import Launcher, TaskProcessEnded
from vetro.engine.task.task import Budget, Task

LITTLE = Budget(cpu_seconds=0.3, memory_mib=96, grace_seconds=0.5)


SMALL = Budget(cpu_seconds=30, memory_mib=96)


MEMORY, TIME = (SMALL, "ENG304"), (LITTLE, "LIM202")


@pytest.mark.attack("processes", "bombs in tasks")
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("- $l: []\n- While: $ != null\n  Do:\n  - $l: $l + ['x' * 1000000 + str(len($l))]", MEMORY),
        ("- $l: range(20000000).orderBy(-$).toList()", MEMORY),
        ("- $l: []\n- While: $ != null\n  Do:\n  - $l: $l + [new(Main), range(1000).toList()]", MEMORY),
        ("- While: $ != null\n  Do: [$x]", TIME),
        ("- Try:\n  - While: $ != null\n    Do: [$x]\n  Finally:\n  - While: $ != null\n    Do: [$x]", TIME),
        ("- $l: range(2000000000).select($ mod 2).where($ > 5).toList()", TIME),
    ],
)
def test_bombs_end_in_a_clean_failure_with_the_model(
    launcher: Launcher, tmp_path: Path, body: str, expected: tuple[Budget, str]
) -> None:
    path = write_package(tmp_path, main_class(body))
    budget, code = expected
    last = run(launcher, path, budget=budget)
    assert last["t"] == "failed"
    assert last["error"]["code"] == code
    assert last["error"]["position"]["file"].endswith("Main.yaml")
    assert last["model"]["Objects"]["?"]["id"] == "root"


@pytest.mark.attack("processes", "bombs in tasks")
def test_steps_are_a_budget_too(launcher: Launcher, tmp_path: Path) -> None:
    path = write_package(tmp_path, main_class("- While: $ != null\n  Do: [$x]"))
    last = run(launcher, path, budget=Budget(steps=10_000))
    assert (last["error"]["code"], last["model"]["Objects"]["?"]["id"]) == ("LIM201", "root")


@pytest.mark.attack("processes", "bombs in tasks")
def test_code_that_does_not_stop_is_ended_by_the_kernel(launcher: Launcher, tmp_path: Path) -> None:
    path = write_package(tmp_path, {"Attacker": "Methods: {}\n"})
    task = Task(id="x", kind="call", method="stubborn", on_class={"name": "t.Attacker"}, packages=[path], budget=LITTLE)
    play = start(launcher, task)
    with play.process:
        with pytest.raises(TaskProcessEnded):
            play.play()
        end = play.process.wait(TIMEOUT)
    assert end is not None
    assert end.signal == signal.SIGXCPU
    assert "processor time" in end.reason
