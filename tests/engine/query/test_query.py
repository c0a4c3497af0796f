"""Questions to packages: results, errors with their place, effects that are answered or refused, time, threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.engine.taskworld import write_package
from tests.support.installation import compiled
from vetro.engine.query.query import AskFailed, AskTimeout, ask
from vetro.engine.task.launcher import Launcher
from vetro.engine.task.perform import BadTask
from vetro.engine.task.task import Budget, Task

STATIC = """
Methods:
  double:
    Usage: Static
    Scope: Public
    Arguments: [{n: {Contract: $.int().notNull()}}]
    Body: [{Return: $n * 2}]
  loop:
    Usage: Static
    Scope: Public
    Body:
    - While: 1 < 2
      Do: [{$x: 1}]
  nap:
    Usage: Static
    Scope: Public
    Arguments: [{seconds: {Contract: $}}]
    Body: [sleep($seconds), {Return: rested}]
  chance:
    Usage: Static
    Scope: Public
    Body: [{Return: [randomName(), now().year]}]
  say:
    Usage: Static
    Scope: Public
    Body: [{Return: logger(mine).info(hello)}]
  outside:
    Usage: Static
    Scope: Public
    Body:
    - $stack: new(sys:HeatStack, new(std:Object), name => s)
    - Return: $stack.current()
"""


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    with Launcher(cache=compiled()) as made:
        yield made


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_package(tmp_path_factory.mktemp("asking"), {"Main": STATIC})


def static(package: str, method: str, budget: Budget | None = None, **args: Any) -> Task:
    return Task(
        id="q", kind="static", packages=[package], method=method, args=args, on_class={"name": "t.Main"},
        budget=budget or Budget(),
    )  # fmt: skip


def test_the_result_is_that_of_the_task(launcher: Launcher, package: str) -> None:
    assert ask(static(package, "double", n=21), launcher=launcher) == 42
    schema = ask(Task(id="q", kind="schema", packages=[package], on_class={"name": "t.Main"}), launcher=launcher)
    assert schema[""]["type"] == "object"


def test_an_error_has_kind_code_and_place(launcher: Launcher, package: str) -> None:
    with pytest.raises(AskFailed, match="expected an integer") as caught:
        ask(static(package, "double", n="many"), launcher=launcher)
    error = caught.value
    assert (error.kind, error.code) == ("contract-violation", "MPL200")
    assert error.error["kind"] == error.kind and error.error["message"] == error.message
    assert error.position is not None and error.position.file.endswith("Classes/Main.yaml")
    with pytest.raises(AskFailed) as caught:
        ask(static(package, "nothing"), launcher=launcher)
    assert caught.value.code == "MPL310"
    assert AskFailed.code == "ENG340"  # the codes of one error are not those of all


def test_a_loop_ends_with_its_place(launcher: Launcher, package: str) -> None:
    # Loading the packages is part of it: the loop has to be reached also where that takes long.
    with pytest.raises(AskFailed, match="1 seconds of processor time") as caught:
        ask(static(package, "loop", Budget(cpu_seconds=1.0)), launcher=launcher, timeout=100.0)
    assert (caught.value.kind, caught.value.code) == ("limit-exceeded", "LIM202")
    assert caught.value.position is not None and caught.value.position.line in (14, 15)


def test_a_loop_ends_in_time_whatever_its_budget_says(launcher: Launcher, package: str) -> None:
    began = time.monotonic()
    with pytest.raises(AskTimeout, match="no result came within 1 seconds") as caught:
        ask(static(package, "loop"), launcher=launcher, timeout=1.0)
    assert (caught.value.kind, caught.value.code) == ("limit-exceeded", "ENG341")
    assert time.monotonic() - began < 20


def test_a_loop_that_is_out_of_time_tells_its_place(
    launcher: Launcher, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vetro.engine.query.query.LAST_SECONDS", 60.0)
    monkeypatch.setattr("vetro.engine.query.query.LAST_SHARE", 60.0)
    with pytest.raises(AskTimeout) as caught:
        ask(static(package, "loop"), launcher=launcher, timeout=1.5)
    assert caught.value.position is not None and caught.value.position.line in (14, 15)


def test_what_does_not_stop_is_killed(launcher: Launcher, tmp_path: Path) -> None:
    body = "Methods:\n  run:\n    Usage: Static\n    Scope: Public\n    Body:\n    - Try:\n      - sleep(1000)\n"
    body += "      Finally:\n      - While: 1 < 2\n        Do: [{$x: 1}]\n"
    with pytest.raises(AskTimeout) as caught:
        ask(static(write_package(tmp_path, {"Main": body}), "run"), launcher=launcher, timeout=0.5)
    assert caught.value.position is None


def test_a_task_that_waits_too_long_is_killed(launcher: Launcher, package: str) -> None:
    assert ask(static(package, "nap", seconds=0.05), launcher=launcher) == "rested"
    with pytest.raises(AskTimeout, match=r"no result came within 0\.3 seconds") as caught:
        ask(static(package, "nap", seconds=1000), launcher=launcher, timeout=0.3)
    assert (caught.value.kind, caught.value.code) == ("limit-exceeded", "ENG341")


def test_chance_time_and_notes(launcher: Launcher, package: str) -> None:
    said: list[tuple[str, Any]] = []
    name, year = ask(static(package, "chance"), launcher=launcher)
    assert name and year == time.gmtime().tm_year
    ask(static(package, "say"), launcher=launcher, on_note=lambda kind, args: said.append((kind, args["text"])))
    assert said == [("log", "hello")]


def test_nothing_outside_is_touched(launcher: Launcher, package: str) -> None:
    with pytest.raises(AskFailed, match=r"nothing outside is touched here: effect 'stack\.read'") as caught:
        ask(static(package, "outside"), launcher=launcher)
    assert caught.value.code == "CLD104"


@pytest.mark.parametrize("kind", ["deploy", "action"])
def test_what_lasts_cannot_be_asked(kind: Any) -> None:
    with pytest.raises(BadTask, match=f"kind '{kind}' cannot be asked"):
        ask(Task(id="q", kind=kind), launcher=Launcher())  # nothing is started


def test_arguments_that_are_no_json_are_refused(launcher: Launcher, package: str) -> None:
    with pytest.raises(AskFailed, match="no JSON") as caught:
        ask(static(package, "double", n=float("inf")), launcher=launcher)
    assert caught.value.kind == "bad-argument"


def test_memory_is_limited(launcher: Launcher, tmp_path: Path) -> None:
    body = "Methods:\n  run:\n    Usage: Static\n    Scope: Public\n    Body:\n    - $l: []\n    - While: $l != null\n"
    body += "      Do:\n      - $l: $l + ['x' * 1000000 + str(len($l))]\n"
    task = static(write_package(tmp_path, {"Main": body}), "run", Budget(memory_mib=48))
    with pytest.raises(AskFailed) as caught:
        ask(task, launcher=launcher)
    assert caught.value.kind == "limit-exceeded"


def test_many_threads_ask_one_launcher(launcher: Launcher, package: str) -> None:
    gate = threading.Barrier(6)

    def question(number: int) -> Any:
        gate.wait(20)
        if number == 3:  # one that fails disturbs no other
            with pytest.raises(AskTimeout):
                ask(static(package, "nap", seconds=1000), launcher=launcher, timeout=0.5)
            return None
        return [ask(static(package, "double", n=number * 10 + i), launcher=launcher) for i in range(3)]

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(question, range(6)))
    assert answers == [None if n == 3 else [2 * (n * 10 + i) for i in range(3)] for n in range(6)]


def test_a_zygote_that_dies_is_started_again(package: str) -> None:
    import os
    import signal

    with Launcher(cache=compiled()) as launcher:
        ask(static(package, "double", n=1), launcher=launcher)
        sleeping: list[Any] = []

        def slow() -> None:
            sleeping.append(ask(static(package, "nap", seconds=0.6), launcher=launcher))

        thread = threading.Thread(target=slow)
        begun = threading.Event()
        real = launcher.start

        def start() -> Any:
            process = real()
            begun.set()
            return process

        launcher.start = start  # type: ignore[method-assign]
        thread.start()
        assert begun.wait(20)
        assert launcher.pid is not None
        os.kill(launcher.pid, signal.SIGKILL)
        thread.join(60)
        assert sleeping == ["rested"]


def test_warnings_of_a_package_come_as_notes(launcher: Launcher, tmp_path: Path) -> None:
    path = write_package(tmp_path, {"Main": STATIC})
    with open(f"{path}/manifest.yaml", "a", encoding="utf-8") as file:
        file.write("Colour: red\n")
    said: list[Any] = []
    ask(static(path, "double", n=1), launcher=launcher, on_note=lambda kind, args: said.append((kind, args)))
    assert said == [
        (
            "log",
            {
                "logger": "packages",
                "level": "warning",
                "text": "t 0.0.0: manifest.yaml:7: unknown key 'Colour' is ignored",
                "package": "t 0.0.0",
                "file": "manifest.yaml",
                "line": 7,
            },
        )
    ]
