"""When methods of classes ran: names, callers, branches; and that nothing is told where nobody asked."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.taskworld import Play, main_class, model, write_package
from tests.support.installation import compiled
from vetro.engine.task.launcher import Launcher
from vetro.engine.task.task import Task

BODY = """
- Parallel:
  - $.pause(1)
  - $.pause(2)
- $.quick()
"""
REST = """
pause:
  Arguments: [{seconds: {Contract: $.int()}}]
  Body: [sleep($seconds)]
quick:
  Body: [{Return: 1}]
"""
#: Seconds that an answer takes here.
SLOW = 0.02


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    with Launcher(cache=compiled()) as made:
        yield made


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_package(tmp_path_factory.mktemp("spans"), main_class(BODY, REST))


def frames(launcher: Launcher, package: str, **more: Any) -> list[dict[str, Any]]:
    task = Task(id="x", kind="deploy", packages=[package], model=model())
    with launcher.start() as process:
        process.send({"t": "task", "task": task.as_json(), **more})
        play = Play(process)

        def slow(frame: dict[str, Any]) -> bool:
            time.sleep(SLOW)
            return False

        play.play(slow)
    assert play.frames[-1]["t"] == "done", play.frames[-1]
    return [frame for frame in play.frames if frame["t"] == "spans"]


def test_methods_have_names_times_and_callers(launcher: Launcher, package: str) -> None:
    before = time.time()
    (frame,) = frames(launcher, package, spans=True)
    spans = {number: (name, caller, end - begin) for number, caller, name, begin, end in frame["spans"]}
    assert all(before - 1 <= begin <= end <= time.time() + 1 for _, _, _, begin, end in frame["spans"])
    names = sorted(name for name, _, _ in spans.values())
    assert names == ["t.Main.deploy", "t.Main.pause", "t.Main.pause", "t.Main.run"]  # the quick one tells nothing
    run = next(number for number, (name, _, _) in spans.items() if name == "t.Main.run")
    assert spans[spans[run][1]][0] == "t.Main.deploy"
    callers = {spans[caller][0] for name, caller, _ in spans.values() if name == "t.Main.pause"}
    assert callers == {"t.Main.run"}  # also of those that ran in branches of their own
    assert all(seconds >= SLOW for _, _, seconds in spans.values())


def test_nothing_is_told_that_nobody_wants(launcher: Launcher, package: str, tmp_path: Path) -> None:
    assert frames(launcher, package) == []
