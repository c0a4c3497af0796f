"""Tasks that are cancelled."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.taskworld import TIMEOUT, main_class, model, start, write_package
from vetro.engine.task.launcher import Launcher
from vetro.engine.task.task import Task


def test_cancelling_runs_finally_blocks_and_refuses_their_effects(launcher: Launcher, tmp_path: Path) -> None:
    body = """
- Try:
  - sleep(5)
  - $.log: $.log + [never]
  Finally:
  - $.note(first)
  - Try: [sleep(1)]
    Finally: $.note(second)
  - $.note(never)
"""
    rest = "  note:\n    Arguments: [{x: {Contract: $}}]\n    Body:\n    - $.log: $.log + [$x]\n"
    path = write_package(tmp_path, main_class(body, rest, "  log: {Contract: [], Usage: Out, Default: []}"))
    play = start(launcher, Task(id="x", kind="deploy", packages=[path], model=model()))
    with play.process:
        assert play.next()["kind"] == "sleep"
        play.process.send({"t": "cancel", "reason": "no longer wanted"})
        last = play.next()
        assert play.process.wait(TIMEOUT) is not None
    assert (last["t"], last["error"]["kind"], last["error"]["message"]) == ("failed", "cancelled", "no longer wanted")
    assert last["model"]["Objects"]["log"] == ["first", "second"]


@pytest.mark.parametrize("body", ["- While: $ != null\n  Do: [$x]", "- While: $ != null\n  Do: $.nothing()"])
@pytest.mark.parametrize("branches", [1, 2])
def test_cancelling_ends_a_task_that_computes(launcher: Launcher, tmp_path: Path, body: str, branches: int) -> None:
    if branches == 2:
        indented = "\n".join("    " + line for line in body.split("\n"))
        body = f"- Parallel:\n  - sleep(1)\n  - Do:\n{indented}"
    text = "- new(sys:Logger, $this, name => x).info(begun)\n" + body
    path = write_package(tmp_path, main_class(text, "  nothing: {Body: $}\n"))
    play = start(launcher, Task(id="x", kind="deploy", packages=[path], model=model()))
    with play.process:
        assert play.next()["kind"] == "log"
        play.process.send({"t": "cancel", "reason": "stop"})
        while (last := play.next())["t"] == "effect":
            pass
    assert (last["error"]["kind"], last["error"]["message"]) == ("cancelled", "stop")


def test_a_task_cancelled_before_it_begins_does_nothing(launcher: Launcher, tmp_path: Path) -> None:
    path = write_package(tmp_path, main_class("- sleep(1)"))
    with launcher.start() as process:
        process.send({"t": "cancel", "reason": "never mind"})
        process.send({"t": "task", "task": Task(id="x", kind="deploy", packages=[path], model=model()).as_json()})
        last = process.receive(TIMEOUT)
    assert last is not None and last["error"]["message"] == "never mind"
