"""A process that is forked ahead of its task: it becomes that task, behind the same walls, and nothing stays of it."""

from __future__ import annotations

import errno
import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.taskworld import TIMEOUT, counting, gone, model, run, start, write_package
from tests.support.installation import compiled
from tests.support.waiting import until
from vetro.engine.installation import Installation
from vetro.engine.sandbox import Confinement, Layer
from vetro.engine.task import zygote_service
from vetro.engine.task.launcher import Launcher, TaskProcess
from vetro.engine.task.messages import AHEAD
from vetro.engine.task.task import Task
from vetro.muranopl.code_cache import MemoryCache

#: What the kernel says of a process that is the same for all tasks.
WALLS = ("Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "SigIgn")


@pytest.fixture(scope="module")
def ahead() -> Iterator[Launcher]:
    with Launcher(cache=compiled()) as made:
        made.start().close()
        yield made


def children(launcher: Launcher) -> set[int]:
    return set(map(int, Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split()))


def spare(launcher: Launcher, *others: TaskProcess) -> int:
    """A process is made ahead; it, as soon as it waits."""
    launcher.fork_ahead()
    tasks = {process.pid for process in others}

    def waiting() -> int | None:
        found = children(launcher) - tasks
        return found.pop() if len(found) == 1 else None

    pid: int = until(waiting)
    until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S")
    return pid


def walls(pid: int) -> dict[str, str]:
    """What holds for a task, as the kernel has it."""
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    limits = Path(f"/proc/{pid}/limits").read_text().splitlines()
    kept = {line[:26].strip(): line[26:] for line in limits if "address space" not in line}
    return {**{name: status[name] for name in WALLS}, **kept}


def test_the_next_task_is_the_process_that_waits(ahead: Launcher, tmp_path: Path) -> None:
    path = write_package(tmp_path, counting())
    seen = set()
    for number in range(2):
        pid = spare(ahead)
        play = start(ahead, Task(id="x", kind="deploy", packages=[path], model=model(n=number)))
        assert play.process.pid == pid
        last = play.play()
        assert (last["t"], last["model"]["Objects"]["n"]) == ("done", number + 1)
        end = play.process.wait(TIMEOUT)
        play.process.close()
        assert end is not None and end.status == 0
        assert gone(pid)
        seen.add(pid)
    assert len(seen) == 2


def test_there_is_one_at_most_and_others_get_a_process_of_their_own(ahead: Launcher, tmp_path: Path) -> None:
    path = write_package(tmp_path, counting())
    pid = spare(ahead)
    assert spare(ahead) == pid
    with ahead.start() as first, ahead.start() as second:
        assert first.pid == pid != second.pid
        assert spare(ahead, first, second) not in (first.pid, second.pid)
        assert run(ahead, path)["t"] == "done"


def test_one_that_gets_its_task_while_it_is_made_goes_on_with_it(ahead: Launcher, tmp_path: Path) -> None:
    path = write_package(tmp_path, counting())
    run(ahead, path)  # nothing waits from before
    ahead.fork_ahead()
    assert run(ahead, path)["t"] == "done"


def test_it_says_what_any_process_says_behind_the_same_walls(ahead: Launcher, tmp_path: Path) -> None:
    """The same frames, rights, limits (but that of memory, which is counted from what it has) and descriptors."""
    path = write_package(tmp_path, counting(body="- $.n: $.n + 1\n- randomName()\n- sleep(1)\n- Return: $.n"))
    task = Task(id="x", kind="action", method="run", packages=[path], model=model(n=1), seed="s")
    found = []
    with Launcher(cache=compiled()) as other:
        spare(ahead)
        for launcher in (ahead, other):
            play = start(launcher, task)
            with play.process:
                while play.next().get("kind") != "sleep":
                    pass
                files = sorted(os.readlink(file)[:6] for file in Path(f"/proc/{play.process.pid}/fd").iterdir())
                held = walls(play.process.pid)
                play.answer(play.frames[-1])
                assert play.play()["t"] == "done"
            found.append((play.frames, held, files))
        spare(ahead)
        assert found[0] == found[1]
        assert ahead.layers() == other.layers()


def test_one_that_was_killed_is_missed_by_nobody(ahead: Launcher, tmp_path: Path) -> None:
    path = write_package(tmp_path, counting())
    pid = spare(ahead)
    os.kill(pid, signal.SIGKILL)
    assert gone(pid)
    assert run(ahead, path)["t"] == "done"
    assert spare(ahead) != pid


def test_one_that_is_killed_as_it_gets_its_task_is_a_task_that_was_killed(ahead: Launcher) -> None:
    pid = spare(ahead)
    os.kill(pid, signal.SIGSTOP)
    with ahead.start() as process:
        assert process.pid == pid
        process.kill()
        end = process.wait(TIMEOUT)
    assert end is not None and end.signal == signal.SIGKILL


@pytest.mark.parametrize("killed", [False, True])
def test_it_goes_with_its_zygote(killed: bool) -> None:
    with Launcher(cache=compiled()) as launcher:
        launcher.fork_ahead()  # there is no zygote yet
        launcher.start().close()
        pid, zygote = spare(launcher), launcher.pid
        assert zygote is not None
        if killed:
            os.kill(zygote, signal.SIGKILL)
            assert gone(pid)
    assert gone(pid)
    assert gone(zygote)


@pytest.mark.parametrize("short", [False, True])
def test_where_memory_is_short_there_is_none(monkeypatch: pytest.MonkeyPatch, short: bool) -> None:
    forks = iter((1 << 30,))
    monkeypatch.setattr(os, "fork", lambda: next(forks))
    if short:
        monkeypatch.setattr(zygote_service, "LEAST_AVAILABLE", 1 << 60)
    control, launcher = socket.socketpair()
    with control, launcher:
        zygote = zygote_service.Zygote(control)
        zygote._fork_ahead(Installation(None, MemoryCache()), Confinement(Layer("network", True, "")))
        zygote._fork_ahead(Installation(None, MemoryCache()), Confinement(Layer("network", True, "")))
        assert next(forks, None) == (1 << 30 if short else None)
        if zygote._spare is not None:
            zygote._spare.channel.close()


def test_who_asks_for_one_waits_for_nothing() -> None:
    """A worker asks beside the leases that it renews."""
    with Launcher(cache=compiled()) as launcher:
        launcher.start().close()
        assert launcher.pid is not None
        os.kill(launcher.pid, signal.SIGSTOP)
        waiting = threading.Thread(target=lambda: launcher.start().close())
        try:
            waiting.start()
            until(launcher._lock.locked)
            asking = threading.Thread(target=launcher.fork_ahead)
            asking.start()
            asking.join(5.0)
            assert waiting.is_alive() and not asking.is_alive()
        finally:
            os.kill(launcher.pid, signal.SIGCONT)
            waiting.join()


@pytest.mark.parametrize("lacks", ["memory", "descriptors", "processes"])
def test_where_none_can_be_made_the_zygote_goes_on(monkeypatch: pytest.MonkeyPatch, lacks: str) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOMEM, lacks)

    monkeypatch.setattr(zygote_service, "LEAST_AVAILABLE", 0)
    place: tuple[object, str] = {
        "memory": (zygote_service, "_available"),
        "descriptors": (socket, "socketpair"),
        "processes": (os, "fork"),
    }[lacks]
    control, launcher = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with control, launcher:
        monkeypatch.setattr(*place, refuse)
        launcher.send(AHEAD)
        zygote = zygote_service.Zygote(control)
        assert zygote._request(Installation(None, MemoryCache()), Confinement(Layer("network", True, "")))
        assert zygote._spare is None
