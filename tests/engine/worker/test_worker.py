"""A worker takes a task to its end: answers in order, checkpoints, divergence, decisions, deaths."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.harness import UNSAFE, Case, Watched, make_host, model, package
from tests.support.host_thread import HostThread
from tests.support.installation import compiled
from vetro.engine.outcome import Outcome
from vetro.engine.task.launcher import Launcher
from vetro.engine.task.task import Task
from vetro.engine.worker.decisions import resolve
from vetro.engine.worker.journal import OtherEngine, OtherTask
from vetro.engine.worker.ports import HostUnavailable, LeaseLost, Policies
from vetro.engine.worker.state import WorkerLimits
from vetro.engine.worker.worker import Worker

ITEMS = "items:\n  Contract: [$]\n  Usage: InOut\n  Default: []"


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    root = str(Path(__file__).parents[3])
    with Launcher(cache=compiled(), natives=["tests.faults.natives:register"], path=[root]) as made:
        made.start().close()
        yield made


class Bench:
    """Runs tasks of one package in this process: worker here, host on threads, task process real."""

    def __init__(self, launcher: Launcher, folder: Path) -> None:
        self.folder = folder
        self.launcher = Watched(launcher)
        self.events: list[dict[str, Any]] = []

    def task(self, *body: str, id: str = "t") -> Task:
        text = "go:\n  Usage: Action\n  Body:\n" + "".join(f"    {line}\n" for line in body)
        path = package(self.folder / "package", text, ITEMS)
        return Task(id, "action", (path,), model(), method="go", object_id="1", seed="s")

    def worker(self, task: Task, **options: Any) -> Worker:
        self.case = Case(self.launcher._launcher, self.folder, task)
        self.journal = self.case.journal()
        host = HostThread(lambda: make_host(self.folder))
        options.setdefault("policies", Policies(UNSAFE))
        return Worker(task, self.journal, self.launcher, host, self.note, **options)

    def note(self, event: Any) -> None:
        self.events.append(dict(event))

    def run(self, task: Task, **options: Any) -> Outcome:
        worker = self.worker(task, **options)
        try:
            return worker.run()
        finally:
            self.journal.close()


@pytest.fixture
def bench(launcher: Launcher, tmp_path: Path) -> Bench:
    return Bench(launcher, tmp_path)


def test_a_task_and_what_is_counted(bench: Bench) -> None:
    task = bench.task("- push(s)", "- effect(report, dict(id => '1', text => hello))", "- Return: plan(p).result.Body")
    outcome = bench.run(task)
    assert (outcome.state, outcome.result, outcome.error) == ("done", "ran p", None)
    (report,) = outcome.reports
    assert {**report, "timestamp": None} == {"id": "1", "text": "hello", "timestamp": None}
    assert outcome.model is not None
    assert outcome.model["Objects"]["?"]["id"] == "1"
    assert outcome.cpu_seconds > 0
    assert outcome.pipe_bytes > 500
    assert outcome.journal_bytes > 500
    assert outcome.runs == 1
    whats = [(e["event"], e.get("kind")) for e in bench.events]
    assert whats == [
        ("begun", "stack.push"),
        ("ended", "stack.push"),
        ("note", "report"),
        ("begun", "agent.call"),
        ("ended", "agent.call"),
    ]


def test_what_has_ended_is_only_told_again(bench: Bench) -> None:
    task = bench.task("- push(s)", "- Return: 7")
    first = bench.run(task)
    again = bench.run(task)
    assert again.runs == 0
    assert (again.state, again.result, again.model) == (first.state, 7, first.model)
    assert bench.case.world.done("push") == ["s"]


def test_errors_of_effects_can_be_caught_by_name_also_in_a_replay(bench: Bench) -> None:
    task = bench.task(
        "- Try:",
        "    - push(broken)",
        "  Catch:",
        "    As: e",
        "    Do:",
        "      - $.items: $.items + [$e.message]",
        "- effect('test.convergent', dict(name => x))",
        "- Return: $.items",
    )
    case = Case(bench.launcher._launcher, bench.folder, task)
    # The key of the second effect: killed when the first one is in the journal.
    said = case.work("worker", lambda n, name, key: (name, key) == ("before effect", "0/2"))
    assert said is None
    outcome = bench.run(task)
    assert outcome.result == ["stack broken is in state CREATE_FAILED: no valid host"]
    with bench.worker(task).journal as journal:
        error = journal.entries()[0].error
    assert error is not None
    assert {"StackFailed", "CloudError", "Exception"} <= set(error["names"])


def test_a_failure_of_the_package(bench: Bench) -> None:
    outcome = bench.run(bench.task("- $.items: [1]", "- Throw: Sad", "  Message: no luck"))
    assert outcome.state == "failed"
    assert outcome.error is not None
    assert "no luck" in outcome.error["message"]
    assert outcome.model is not None
    assert outcome.model["Objects"]["items"] == [1]


PARALLEL = (
    "- Parallel:",
    "    - Do:",
    "      - plan(slow)",
    "      - $.items: $.items + [1]",
    "      - push(a)",
    "      - $.items: $.items + [2]",
    "    - Do:",
    "      - effect(sleep, dict(seconds => 0.01))",
    "      - $.items: $.items + [3]",
    "      - plan(b)",
    "      - $.items: $.items + [4]",
    "    - Do:",
    "      - effect(sleep, dict(seconds => 0))",
    "      - $.items: $.items + [effect(clock) > 0]",
    "- push(last)",
)


def test_branches_are_replayed_in_the_recorded_order(bench: Bench, tmp_path: Path) -> None:
    """Whatever the order was: a run that is killed at its very end repeats it."""
    task = bench.task(*PARALLEL)
    for number in range(4):
        case = Case(bench.launcher._launcher, tmp_path / str(number), task)
        assert case.work("worker", lambda n, name, key: name == "before end") is None
        with case.journal() as journal:
            done = [entry for entry in journal.entries() if entry.place is not None]
            before = [entry.key for entry in sorted(done, key=lambda entry: entry.place or 0)]
        said = case.work()
        assert said is not None
        assert said["state"] == "done"
        with case.journal() as journal:
            after = [e.key for e in sorted(journal.entries(), key=lambda e: e.place or 0)]
        order = [step[1] for step in said["steps"] if step[0] == "after answer"]
        assert order == after
        assert after[: len(before)] == before
        assert len(after) - len(before) <= 1  # the last result is committed with the end
        assert sorted(case.world.done("push")) == ["a", "last"]


def checkpoints(bench: Bench) -> int:
    return len([e for e in bench.events if e["event"] == "checkpoint"])


def test_checkpoints_while_it_runs(bench: Bench) -> None:
    sleeping = "- effect(sleep, dict(seconds => 0.2))"
    task = bench.task("- $.items: [1]", sleeping, "- $.items: [2]", sleeping, "- $.items: [3]", "- plan(silent)")
    limits = WorkerLimits(checkpoint_seconds=0.01, checkpoint_share=1e9)
    worker = bench.worker(task, limits=limits)
    seen = []

    def note(event: Any) -> None:
        if event["event"] == "checkpoint":
            found = bench.journal.model()
            assert found is not None
            seen.append(found["Objects"]["items"])
            if seen[-1] == [3]:
                worker.cancel()

    worker.events = note
    outcome = worker.run()
    bench.journal.close()
    assert outcome.state == "cancelled"
    assert seen[-1] == [3]
    assert [2] in seen


def test_no_checkpoints_without_need(bench: Bench) -> None:
    sleeping = "- effect(sleep, dict(seconds => 0.02))"
    bench.run(bench.task(*[sleeping] * 10), limits=WorkerLimits(checkpoint_seconds=60))
    assert checkpoints(bench) == 0


def killed_after(bench: Bench, task: Task, step: str, key: str) -> None:
    case = Case(bench.launcher._launcher, bench.folder, task)
    assert case.work("worker", lambda n, name, at: (name, at) == (step, key)) is None


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (["- push(other)", "- push(b)"], "asked for effect 0/1, a 'stack.push', with other arguments"),
        (["- plan(a)", "- push(b)"], "asked for effect 0/1 as 'agent.call', which was 'stack.push'"),
        (["- effect(log, dict(x => 1))", "- push(b)"], "asked for effect 0/1 as 'log', which was 'stack.push'"),
        (["- Return: 1"], "did not ask for effect 0/1, a 'stack.push'"),
    ],
)
def test_code_that_differs_on_the_second_run_diverges(bench: Bench, changed: list[str], message: str) -> None:
    task = bench.task("- push(a)", "- push(b)")
    killed_after(bench, task, "before effect", "0/2")
    with bench.worker(task).journal as journal:
        journal.checkpoint({"Objects": "as it was"}, 1.0)
        journal.commit()
    bench.task(*changed)  # the same folder: another version of the package without another name
    outcome = bench.run(task)
    assert outcome.state == "diverged"
    assert outcome.error is not None
    assert message in outcome.error["message"]
    assert outcome.error["divergence"]["key"] == "0/1"
    assert outcome.error["divergence"]["recorded"]["kind"] == "stack.push"
    assert outcome.model == {"Objects": "as it was"}
    # It stays so: nobody runs it on by mistake.
    assert bench.run(task).state == "diverged"
    assert "push" not in str([e for e in bench.events if e["event"] == "begun"])


def test_a_replay_that_waits_for_something_else_is_noticed(bench: Bench) -> None:
    task = bench.task(
        "- Parallel:", "    - Do:", "      - plan(silent)", "    - Do:", "      - push(a)", "      - push(b)"
    )
    killed_after(bench, task, "before effect", "0.1/2")
    bench.task("- plan(silent)", "- push(a)")
    with bench.worker(task).journal as journal:
        assert [e.key for e in journal.entries()] == ["0.0/1", "0.1/1", "0.1/2"]
    bench.task("- Parallel:", "    - Do:", "      - plan(silent)", "    - Do:", "      - Return: 1")
    outcome = bench.run(task, limits=WorkerLimits(stall_seconds=0.05))
    assert outcome.state == "diverged"
    assert outcome.error is not None
    assert "did not ask for effect 0.1/1" in outcome.error["message"]


def test_only_the_same_engine_continues(bench: Bench) -> None:
    task = bench.task("- push(a)", "- push(b)")
    killed_after(bench, task, "before effect", "0/2")
    with pytest.raises(OtherEngine) as caught:
        bench.run(task, engine="99.0")
    assert "retry" in str(caught.value.hint)
    assert bench.run(task).state == "done"


def test_an_id_stands_for_one_task(bench: Bench) -> None:
    bench.run(bench.task("- push(a)"))
    other = Task("t", "action", (), model(items=[1]), method="go", object_id="1")
    with pytest.raises(OtherTask):
        bench.run(other)


def test_a_worker_that_lost_its_lease_writes_nothing(bench: Bench) -> None:
    task = bench.task("- push(a)", "- push(b)")
    worker = bench.worker(task)
    mine = [True]

    def step(name: str, key: str) -> None:
        if (name, key) == ("after effect", "0/1"):
            mine[0] = False

    worker.step, worker.still_mine = step, lambda: mine[0]
    with pytest.raises(LeaseLost):
        worker.run()
    bench.journal.close()
    assert bench.launcher.process.wait(10) is not None
    with bench.worker(task).journal as journal:
        assert [e.open for e in journal.entries()] == [True]
    assert bench.run(task).state == "done"
    assert bench.case.world.done("push") == ["a", "b"]


def test_one_that_only_waits_ends_too_when_its_lease_is_lost(bench: Bench) -> None:
    """Until then its host would have taken answers away from the host of the one who has the task."""
    worker = bench.worker(bench.task("- plan(silent)"))
    mine = [True]

    def step(name: str, key: str) -> None:
        if (name, key) == ("before effect", "0/1"):
            mine[0] = False
            worker.wake.set()

    worker.step, worker.still_mine = step, lambda: mine[0]
    with pytest.raises(LeaseLost):
        worker.run()
    bench.journal.close()
    assert bench.launcher.process.wait(10) is not None


@pytest.mark.parametrize("redo", [False, True])
def test_a_person_decides(bench: Bench, redo: bool) -> None:
    task = bench.task("- Return: effect('test.unsafe', dict(name => u))")
    killed_after(bench, task, "after effect", "0/1")
    for _ in range(2):
        outcome = bench.run(task)
        assert outcome.state == "needs_person"
        (effect,) = outcome.open
        assert (effect.key, effect.kind, effect.args) == ("0/1", "test.unsafe", {"name": "u"})
    with bench.worker(task).journal as journal:
        resolve(journal, "0/1", answer="I saw it", redo=redo)
    outcome = bench.run(task)
    assert (outcome.state, outcome.result) == ("done", "made" if redo else "I saw it")
    assert bench.case.world.done("test.unsafe") == (["u", "u"] if redo else ["u"])


def decided(bench: Bench) -> Task:
    """A task that a person has decided about."""
    task = bench.task("- effect('test.unsafe', dict(name => u))", "- push(a)", "- Return: 1")
    killed_after(bench, task, "after effect", "0/1")
    assert bench.run(task).state == "needs_person"
    with bench.worker(task).journal as journal:
        resolve(journal, "0/1", answer=None)
    return task


def test_the_time_in_which_a_person_decides_is_not_the_tasks(bench: Bench) -> None:
    task = decided(bench)
    days: dict[str, Any] = {"clock": lambda: time.time() + 3 * 86400.0, "limits": WorkerLimits(timeout=60.0)}

    def die(name: str, key: str) -> None:
        if (name, key) == ("before effect", "0/2"):
            raise EOFError

    with pytest.raises(EOFError):
        bench.run(task, step=die, **days)
    outcome = bench.run(task, **days)  # that it was so lasts
    assert (outcome.state, outcome.result) == ("done", 1), outcome.error
    assert bench.case.world.done("push") == ["a"]


def test_another_engine_does_not_go_on_after_a_decision(bench: Bench) -> None:
    task = decided(bench)
    with pytest.raises(OtherEngine):
        bench.run(task, engine="99.0")
    assert bench.run(task).state == "done"


def test_a_process_that_always_dies_fails_the_task(bench: Bench) -> None:
    task = bench.task("- push(a)", "- push(b)")
    worker = bench.worker(task, limits=WorkerLimits(deaths=3))

    def step(name: str, key: str) -> None:
        if (name, key) == ("after answer", "0/1"):
            os.kill(bench.launcher.process.pid, signal.SIGKILL)

    worker.step = step
    outcome = worker.run()
    bench.journal.close()
    assert outcome.state == "failed"
    assert outcome.runs == 3
    assert outcome.error is not None
    assert "signal 9" in outcome.error["message"]
    assert len([e for e in bench.events if e["event"] == "restarted"]) == 2
    assert bench.case.world.done("push").count("a") == 1


def test_a_host_that_always_dies_leaves_the_task_to_be_continued(bench: Bench) -> None:
    task = bench.task("- push(a)", "- push(b)")
    case = Case(bench.launcher._launcher, bench.folder, task)
    worker = bench.worker(task, limits=WorkerLimits(host_deaths=2))
    host: Any = worker.host

    def step(name: str, key: str) -> None:
        if key == "0/2" and name in ("after effect", "before effect"):
            die(None)

    def die(event: Any) -> None:
        if event is None or event["event"] == "restarted":
            host._ours.shutdown(2)

    worker.step, worker.events = step, die
    with pytest.raises(HostUnavailable, match="died 3 times"):
        worker.run()
    bench.journal.close()
    said = case.work()
    assert said is not None
    assert said["state"] == "done"
    assert case.world.done("push") == ["a", "b"]


def test_after_a_dead_host_everything_goes_on_as_before(bench: Bench) -> None:
    task = bench.task("- push(a)", "- push(a, 2)", "- Return: effect('test.unsafe', dict(name => u))")
    worker = bench.worker(task)
    host: Any = worker.host

    def step(name: str, key: str) -> None:
        # Its answer has arrived, and it dies before it hears that the answer is stored.
        if (name, key) == ("after effect", "0/1"):
            host._ours.shutdown(2)

    worker.step = step
    outcome = worker.run()
    bench.journal.close()
    assert (outcome.state, outcome.result) == ("done", "made")
    assert [e["what"] for e in bench.events if e["event"] == "restarted"] == ["host"]
    assert bench.case.world.done("push") == ["a", "a"]


def test_frames_that_are_none_end_the_process(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task process that was taken over may send anything."""
    task = bench.task("- push(a)")
    from vetro.engine.worker import run as worker_run

    real = worker_run.Stream.receive

    def receive(self: Any) -> list[dict[str, Any]]:
        found = real(self)
        return [{**m, "key": ["no text"]} if m["t"] == "effect" else m for m in found]

    monkeypatch.setattr(worker_run.Stream, "receive", receive)
    outcome = bench.run(task, limits=WorkerLimits(deaths=1))
    assert outcome.state == "failed"
    assert outcome.error is not None
    assert "an effect that is none" in outcome.error["message"]


def test_cost_of_the_journal_follows_the_number_of_effects(bench: Bench, tmp_path: Path) -> None:
    sizes = {}
    for count in (20, 40, 80):
        bench.folder = tmp_path / str(count)
        bench.folder.mkdir()
        loop = [f"- For: i\n      In: range({count})\n      Do:"]
        loop += ["    - push(format('s{0}', $i))", "    - plan(str($i))"]
        outcome = bench.run(bench.task(*loop))
        assert outcome.state == "done", outcome.error
        sizes[count] = (outcome.pipe_bytes, outcome.journal_bytes)
    for which in (0, 1):
        steps = sizes[40][which] - sizes[20][which], sizes[80][which] - sizes[40][which]
        assert 1.8 < steps[1] / steps[0] < 2.2
