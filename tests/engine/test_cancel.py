"""Cancelling a task: no effect is begun any more, Finally blocks run, the model is kept."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.worker.test_worker import Bench
from tests.faults.harness import Case
from tests.support.installation import compiled
from vetro.engine.task.launcher import Launcher
from vetro.engine.task.task import Budget, Task
from vetro.engine.worker.state import WorkerLimits

BODY = (
    "- $.items: [1]",
    "- push(a)",
    "- Try:",
    "    - plan(silent)",
    "  Finally:",
    "    - $.items: $.items + [2]",
    "    - push(never)",
    "- push(never2)",
)


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    root = str(Path(__file__).parents[2])
    with Launcher(cache=compiled(), natives=["tests.faults.natives:register"], path=[root]) as made:
        made.start().close()
        yield made


@pytest.fixture
def bench(launcher: Launcher, tmp_path: Path) -> Bench:
    return Bench(launcher, tmp_path)


def cancelled(bench: Bench, task: Task, step: str, key: str, **options: Any) -> Any:
    worker = bench.worker(task, **options)

    def on(name: str, at: str) -> None:
        if (name, at) == (step, key):
            worker.cancel("Ann pressed stop")

    worker.step = on
    outcome = worker.run()
    bench.journal.close()
    return outcome


def test_finally_blocks_run_and_their_effects_are_refused(bench: Bench) -> None:
    outcome = cancelled(bench, bench.task(*BODY), "after intent", "0/2")
    assert outcome.state == "cancelled"
    assert outcome.error["kind"] == "cancelled"
    assert "Ann pressed stop" in outcome.error["message"]
    assert outcome.model["Objects"]["items"] == [1, 2]
    assert bench.case.world.done("push") == ["a"]
    assert bench.case.world.done("run") == []


def test_cancelled_before_it_began(bench: Bench) -> None:
    worker = bench.worker(bench.task(*BODY))
    worker.cancel()
    outcome = worker.run()
    bench.journal.close()
    assert outcome.state == "cancelled"
    assert bench.case.world.done("push") == []


def test_its_deadline_cancels_it(bench: Bench) -> None:
    outcome = bench.run(bench.task(*BODY), limits=WorkerLimits(timeout=0.3))
    assert outcome.state == "cancelled"
    assert outcome.error is not None
    assert "did not end within 0.3 seconds" in outcome.error["message"]
    assert outcome.model is not None
    assert outcome.model["Objects"]["items"] == [1, 2]


@pytest.mark.attack("data", "clock jumps")
@pytest.mark.parametrize("years", [1, -1])
def test_a_clock_that_is_set_meanwhile_is_none_of_its_deadline(bench: Bench, years: int) -> None:
    asked: list[None] = []

    def jumping() -> float:
        asked.append(None)
        return time.time() + (years * 366 * 86_400 if len(asked) > 2 else 0)

    outcome = bench.run(bench.task("- push(a)", "- Return: 1"), clock=jumping, limits=WorkerLimits(timeout=60.0))
    assert (outcome.state, len(asked) > 4) == ("done", True), outcome.error


def test_one_that_does_not_end_is_killed_after_the_grace(bench: Bench) -> None:
    path = bench.task(
        "- push(a)", "- Try:", "    - plan(silent)", "  Finally:", "    - While: 1 < 2", "      Do:", "        - $x: 1"
    ).packages
    from tests.faults.harness import model

    task = Task(
        *("t", "action", path, model()),
        method="go",
        object_id="1",
        budget=Budget(steps=None, cpu_seconds=60, grace_seconds=0.3),
    )
    outcome = cancelled(bench, task, "after intent", "0/2")
    assert outcome.state == "killed", outcome.error
    assert "did not end within 0.3 seconds" in outcome.error["message"]
    assert "Ann pressed stop" in outcome.error["message"]


@pytest.mark.parametrize("step", ["after intent", "before effect"])
def test_a_cancelled_task_whose_worker_died_stays_cancelled(bench: Bench, step: str) -> None:
    """The next worker shows what was done, begins nothing, and ends it."""
    task = bench.task(*BODY)
    case = Case(bench.launcher._launcher, bench.folder, task)
    assert case.work("worker", lambda n, name, key: (name, key) == (step, "0/2")) is None
    with case.journal() as journal:
        journal.cancel("while nobody looked")
        journal.commit()
    outcome = bench.run(task)
    assert outcome.state == "cancelled"
    assert outcome.error is not None
    assert "while nobody looked" in outcome.error["message"]
    assert outcome.model is not None
    assert outcome.model["Objects"]["items"] == [1, 2]
    assert case.world.done("push") == ["a"]
    assert case.world.done("run") == []


def test_branches_are_all_ended(bench: Bench) -> None:
    branch = [
        "    - Do:",
        "      - Try:",
        "          - plan('silent')",
        "        Finally:",
        "          - $.items: $.items + [1]",
    ]
    again = [line.replace("plan('silent')", "effect(sleep, dict(seconds => 1000))") for line in branch]
    outcome = cancelled(bench, bench.task("- Parallel:", *branch, *again), "after intent", "0.1/1")
    assert outcome.state == "cancelled"
    assert outcome.model["Objects"]["items"] == [1, 1]
