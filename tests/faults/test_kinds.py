"""Each kind of effect, killed before and after each of its steps: it happens once, or a person is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.faults.harness import Case, model, package
from tests.support.fuzzing import EVERYTHING, every
from vetro.engine.effect_kinds import KINDS, Answer, answer_of
from vetro.engine.task.launcher import Launcher
from vetro.engine.task.task import Task
from vetro.engine.worker.decisions import resolve

#: kind -> (MuranoPL expression that performs it, what it does in the world: (sort, name) or None)
TABLE: Mapping[str, tuple[str, tuple[str, str] | None]] = {
    "report": ("effect(report, dict(id => '1', text => 'one'))", None),
    "log": ("effect(log, dict(logger => x, level => info, text => y))", None),
    "track": ("effect(track, dict(event => x))", None),
    "execution": ("effect(execution, dict(event => start))", None),
    "agent.listen": ("effect('agent.listen', dict(queue => '-execution-results-x', on => true))", None),
    "identity": ("effect(identity, dict(what => user, of => caller))", None),
    "clock": ("effect(clock)", None),
    "entropy": ("effect(entropy, dict(bytes => 4))", None),
    "secret": ("effect(secret, dict(data => nothing))", None),
    "agent.key": ("effect('agent.key')", None),
    "sleep": ("effect(sleep, dict(seconds => 0.01))", None),
    "stack.read": ("effect('stack.read', dict(name => s, region => null))", None),
    "stack.push": ("push(s)", ("push", "s")),
    "stack.delete": ("effect('stack.delete', dict(name => old, region => null))", ("delete", "old")),
    "server.power": ("effect('server.power', dict(action => stop, servers => list(s)))", ("power", "stop s")),
    "snapshot.make": ("effect('snapshot.make', dict(name => k))", ("snapshot", "make k")),
    "snapshot.restore": ("effect('snapshot.restore', dict(name => k))", ("snapshot", "restore k")),
    "snapshot.drop": ("effect('snapshot.drop', dict(name => k))", ("snapshot", "drop k")),
    "network": ("effect(network, dict(query => router))", ("network", "router")),
    "metadef": ("effect(metadef, dict(query => namespaces, resource_type => x))", None),
    "agent.send": ("plan(p, 'agent.send')", ("run", "p")),
    "agent.call": ("plan(p)", ("run", "p")),
    "workflow": ("effect(workflow, dict(query => run, name => w))", None),
    "test.unsafe": ("effect('test.unsafe', dict(name => u))", ("test.unsafe", "u")),
}
#: The first effect of the action; the one after it is the report.
KEY = "0/1"
STEPS = [f"{side} {step}" for step in ("intent", "effect", "result", "answer") for side in ("before", "after")]
NOTES = ["before note", "after note"]


def new_case(launcher: Launcher, folder: Path, kind: str, start: str) -> Case:
    case = Case(launcher, folder, Task("t", "action", (start,), model(), method="go", object_id="1", seed="s"))
    if kind == "stack.delete":
        case.world._db.execute("INSERT INTO stacks VALUES ('old', '[]', 'x')")
    return case


def write_package(folder: Path, kind: str) -> str:
    body = f"""\
go:
  Usage: Action
  Body:
    - Try:
      - $x: {TABLE[kind][0]}
      Catch:
        As: e
        Do:
          - $x: $e.message
    - effect(report, dict(id => '1', text => last))
    - Return: $x
"""
    return package(folder, body)


def finish(case: Case, said: dict[str, Any] | None, kind: str) -> None:
    """Goes on until the task is done, as a person would, and looks at what happened."""
    if said is None:
        said = case.work()
    assert said is not None
    if said["state"] == "needs_person":
        assert kind in ("test.unsafe", "workflow")
        assert said["open"] == [[KEY, kind]]
        with case.journal() as journal:
            if case.world.done(kind):
                resolve(journal, KEY, answer="made")
            else:
                resolve(journal, KEY, redo=True)
        said = case.work()
        assert said is not None
    assert said["state"] == "done", said["error"]
    did = TABLE[kind][1]
    if did is not None:
        assert case.world.done(did[0]) == [did[1]]
    with case.journal() as journal:
        entries = {entry.key: entry for entry in journal.entries()}
        texts = [note.args["text"] for note in journal.notes("report")]
        assert texts == (["one", "last"] if kind == "report" else ["last"])
        if answer_of(kind) is Answer.NONE:
            assert len(journal.notes(kind)) == (2 if kind == "report" else 1)
            assert said["result"] is None
        else:
            entry = entries[KEY]
            assert said["result"] == (entry.answer if entry.error is None else entry.error["message"])
        if kind == "stack.push":
            assert entries[KEY].answer["outputs"] == {"v": 1}
        if kind == "agent.call":
            assert entries[KEY].answer["result"]["Body"] == "ran p"


def kills(kind: str) -> list[str]:
    return NOTES if answer_of(kind) is Answer.NONE else STEPS


def at(step: str) -> Callable[[int, str, str], bool]:
    return lambda number, name, key: (name, key) == (step, KEY)


def test_the_table_is_complete() -> None:
    assert set(KINDS) <= set(TABLE)


def each_kill() -> list[object]:
    """Every kind and every victim; without campaigns the tasks of all kinds, and all victims of one kind."""
    always = ("agent.call",)
    return [
        pytest.param(kind, victim, marks=() if victim == "task" or kind in always else pytest.mark.campaign)
        for kind in TABLE
        for victim in ("worker", "host", "task")
    ]


@pytest.mark.parametrize(("kind", "victim"), each_kill())
def test_killed_at_each_step(kind: str, victim: str, launcher: Launcher, tmp_path: Path) -> None:
    """By default at each step of one kind, and at two of eight of all others."""
    start = write_package(tmp_path / "package", kind)
    for step in kills(kind) if kind == "agent.call" else every(4, kills(kind)):
        case = new_case(launcher, tmp_path / step.replace(" ", "-"), kind, start)
        said = case.work(victim, at(step))
        assert (said is None) == (victim == "worker"), step
        finish(case, said, kind)


@pytest.mark.parametrize("kind", [kind for kind, row in TABLE.items() if row[1] is not None])
def test_host_ends_between_deed_and_word(kind: str, launcher: Launcher, tmp_path: Path) -> None:
    case = new_case(launcher, tmp_path, kind, write_package(tmp_path / "package", kind))
    (tmp_path / "crash").touch()
    said = case.work()
    assert not (tmp_path / "crash").exists()
    finish(case, said, kind)


def test_a_convergent_kind_of_a_plug_in_is_done_again(launcher: Launcher, tmp_path: Path) -> None:
    body = "go:\n  Usage: Action\n  Body:\n    - Return: effect('test.convergent', dict(name => c))"
    start = package(tmp_path / "package", body)
    case = new_case(launcher, tmp_path, "test.convergent", start)
    (tmp_path / "crash").touch()
    said = case.work()
    assert said is not None
    assert (said["state"], said["result"]) == ("done", "made")
    assert case.world.done("test.convergent") == ["c", "c"]


@pytest.mark.parametrize("do", ["make", "restore", "drop"])
def test_tasks_for_snapshots_run_no_package(do: str, launcher: Launcher, tmp_path: Path) -> None:
    """Also killed at each step they do it once, and leave the model alone; what they cannot do is named."""
    task = Task("t", "snapshot", (str(tmp_path / "no such package"),), model(), args={"do": do, "name": "k"})
    for number, step in enumerate(STEPS if do == "restore" or EVERYTHING else STEPS[3:4]):
        case = Case(launcher, tmp_path / str(number), task)
        said = case.work("worker", lambda at, name, key, step=step: name == step)  # type: ignore[misc]
        said = said or case.work()
        assert said is not None and said["state"] == "done", (step, said)
        assert case.world.done("snapshot") == [f"{do} k"], step
        assert said["model"] is None and (said["result"] is None) == (do != "make")
    bad = Case(launcher, tmp_path / "bad", replace(task, args={"do": "undo", "name": "k"}))
    said = bad.work()
    assert said is not None and said["state"] == "failed" and "make, restore or drop" in said["error"]["message"]
