"""Task processes from the worker's side: how they are started, that they end, and that nothing stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.engine.taskworld import NATIVES, TIMEOUT, counting, gone, main_class, model, run, start, write_package
from tests.support.installation import compiled
from vetro.engine.task.launcher import Launcher, LauncherError, TaskProcessEnded
from vetro.engine.task.task import Task

ROOT = Path(__file__).parents[3]


def test_ctrl_c_is_not_for_the_zygote(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """From its first moment: while Python starts, the engine loads, and later."""
    with Launcher(cache=compiled()) as made:
        assert made.pid is not None
        os.kill(made.pid, signal.SIGINT)
        last = run(made, write_package(tmp_path, counting()), model=model(n=1))
        os.kill(made.pid, signal.SIGINT)
        assert (last["t"], made.start().close()) == ("done", None)
    assert capfd.readouterr().err == ""


def test_the_zygote_has_one_thread_and_a_large_stack(launcher: Launcher) -> None:
    with launcher.start() as process:
        for pid in (launcher.pid, process.pid):
            assert len(os.listdir(f"/proc/{pid}/task")) == 1
            limits = Path(f"/proc/{pid}/limits").read_text().splitlines()
            stack = next(line for line in limits if line.startswith("Max stack size")).split()[3]
            assert stack == "unlimited" or int(stack) >= 64 << 20


def test_a_task_ends_when_nobody_holds_its_pipe(launcher: Launcher, tmp_path: Path) -> None:
    path = write_package(tmp_path, main_class("- sleep(1)"))
    play = start(launcher, Task(id="x", kind="deploy", packages=[path], model=model()))
    play.next()
    play.process._pipe.close()
    end = play.process.wait(TIMEOUT)
    play.process.close()
    assert end is not None and (end.status, end.reason) == (3, "its pipe was closed")


def test_closing_kills_a_task_that_computes(launcher: Launcher, tmp_path: Path) -> None:
    path = write_package(tmp_path, {"Attacker": "Methods: {}\n"})
    task = Task(id="x", kind="call", method="stubborn", on_class={"name": "t.Attacker"}, packages=[path])
    play = start(launcher, task)
    play.process.close()
    end = play.process.wait(TIMEOUT)
    assert end is not None and end.signal == signal.SIGKILL
    assert gone(play.process.pid)


def test_a_killed_task_says_so(launcher: Launcher) -> None:
    with launcher.start() as process:
        assert process.wait(0) is None
        assert process.receive(0) is None
        process.kill()
        end = process.wait(TIMEOUT)
        assert end is not None and end.signal == signal.SIGKILL
        assert "killed by signal 9" in end.reason
        with pytest.raises(TaskProcessEnded, match=str(process.pid)):
            process.receive(TIMEOUT)
        with pytest.raises(TaskProcessEnded):
            process.send({"t": "task"})
        process.kill()


def test_when_the_zygote_dies_its_tasks_die_and_the_next_start_works(tmp_path: Path) -> None:
    path = write_package(tmp_path, counting())
    with Launcher(cache=compiled()) as launcher:
        play = start(launcher, Task(id="x", kind="deploy", packages=[path], model=model()))
        waiting = launcher.start()
        assert play.play()["t"] == "done"
        zygote = launcher.pid
        assert zygote is not None
        os.kill(zygote, signal.SIGKILL)
        end = waiting.wait(TIMEOUT)
        assert end is not None and (end.status, end.signal) == (None, None)
        assert "process that started it died" in end.reason
        assert gone(waiting.pid)
        assert run(launcher, path)["t"] == "done"
        assert launcher.pid != zygote
        play.process.close()
        waiting.close()


def test_when_the_launchers_process_dies_everything_dies(tmp_path: Path) -> None:
    """Also a task that computes and never looks at its pipe."""
    path = write_package(tmp_path, {"Attacker": "Methods: {}\n"})
    program = f"""
import sys, time
sys.path.insert(0, {str(ROOT)!r})
from tests.engine.taskworld import NATIVES, start
from vetro.engine.task.launcher import Launcher
from vetro.engine.task.task import Task
launcher = Launcher(natives=["hostile_natives:register"], path=[str(NATIVES)])
on_class = {{"name": "t.Attacker"}}
play = start(launcher, Task(id="x", kind="call", method="stubborn", on_class=on_class, packages=[{path!r}]))
idle = launcher.start()
print(launcher.pid, play.process.pid, idle.pid, flush=True)
time.sleep(100)
"""
    worker = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    with worker:
        assert worker.stdout is not None
        pids = [int(word) for word in worker.stdout.readline().split()]
        assert len(pids) == 3
        worker.kill()
    assert all(gone(pid) for pid in pids)


def test_a_launcher_that_cannot_start_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    with (
        Launcher(natives=["no_such_module:register"]) as launcher,
        pytest.raises(LauncherError, match="could not start"),
    ):
        launcher.start()
    assert "no_such_module" in capfd.readouterr().err


@pytest.mark.campaign
def test_a_launcher_leaves_nothing(tmp_path: Path) -> None:
    before = set(os.listdir("/proc/self/fd"))
    with Launcher(cache=compiled()) as launcher, launcher.start() as process:
        pids = [launcher.pid, process.pid]
    assert all(pid is not None and gone(pid) for pid in pids)
    import gc

    gc.collect()
    assert set(os.listdir("/proc/self/fd")) - before == set()


def test_without_a_layer_that_is_required_no_task_is_started(tmp_path: Path) -> None:
    path = write_package(tmp_path, counting())
    settings: dict[str, Any] = {"natives": ["no_network_natives:register"], "path": [str(NATIVES)]}
    with Launcher(cache=compiled(), **settings) as launcher:
        assert run(launcher, path)["t"] == "done"
    with Launcher(cache=compiled(), **settings, require=["network", "calls"]) as launcher:
        error = run(launcher, path)["error"]
    assert error["code"] == "ENG305"
    assert error["message"].endswith("network")
    assert "vetro doctor" in error["hint"]


def test_an_unknown_layer_cannot_be_required(capfd: pytest.CaptureFixture[str]) -> None:
    with Launcher(require=["magic"]) as launcher, pytest.raises(LauncherError):
        launcher.start()
    assert "there is no layer 'magic'" in capfd.readouterr().err
