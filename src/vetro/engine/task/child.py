"""The task process after its fork: shuts itself in, performs one task, says how it ended, and is gone.

It has one thread, one pipe and three descriptors that lead nowhere (standard input, output and error). It ends at once
when the other end of the pipe closes, when the zygote dies, or when its memory or processor time is used up. Nothing of
a package is read before the sandbox is closed (`vetro.engine.sandbox`).
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import socket
import sys
from typing import Any, Final

from vetro.engine.failure import describe
from vetro.engine.installation import Installation
from vetro.engine.sandbox import Confinement, Layer, enter, kernel
from vetro.engine.task.cpu_budget import CpuBudget
from vetro.engine.task.messages import DEFECT, DISCONNECTED, FINE, MOST_DIGITS, OUT_OF_MEMORY
from vetro.engine.task.method_spans import MethodSpans
from vetro.engine.task.perform import Performance
from vetro.engine.task.pipe_effects import Disconnected, PipeEffects
from vetro.engine.task.task import Task
from vetro.engine.task.warm_up import warm_up
from vetro.frames import FrameError
from vetro.muranopl.runtime.stacks import RECURSION_LIMIT

#: Memory beyond the budget that a task may use to say how it ended, as a part of the budget, and at least.
ROOM_SHARE, LEAST_ROOM = 4, 64 << 20
#: Larger than any number of a descriptor: `os.closerange` asks the kernel once, however large the range is.
MOST_DESCRIPTORS = (1 << 31) - 1


class Memory:
    """The limit of the address space, counted from what the process has now."""

    def __init__(self, budget_mib: int | None) -> None:
        self._hard: int | None = None
        if budget_mib is None:
            return
        # Read before the walls are up: then there is no /proc any more.
        budget = budget_mib << 20
        with open("/proc/self/statm", "rb") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
        self._hard = now + budget + max(budget // ROOM_SHARE, LEAST_ROOM)
        resource.setrlimit(resource.RLIMIT_AS, (now + budget, self._hard))

    def make_room(self) -> None:
        """The task has ended: what is left may be used to serialise its model."""
        if self._hard is not None:
            resource.setrlimit(resource.RLIMIT_AS, (self._hard, self._hard))


def main(fd: int, installation: Installation, confinement: Confinement, *, ahead: bool = False) -> int:
    """Serves the pipe ``fd`` in a freshly forked process; the exit status.

    ``ahead``: ``fd`` is a socket on which the pipe will come. Until then the process does what can be done before its
    task is known: it warms up, so that the memory that tasks write to is its own already.
    """
    try:
        _own_signals()
        _end_with(confinement.parent)
        _own_descriptors(fd)
        sys.setrecursionlimit(RECURSION_LIMIT)
        sys.set_int_max_str_digits(
            MOST_DIGITS
        )  # the language bounds its integers itself, a little beyond Python's limit
        if ahead:
            warm_up(installation)
            gc.freeze()  # what that made is none of what the task makes
            fd = _pipe_of(fd)
        effects = PipeEffects(fd)
    except Disconnected:
        return DISCONNECTED
    except OSError:
        return DEFECT
    try:
        message = effects.first()
        if message["t"] == "probe":
            effects.send({"t": "layers", "layers": [layer.as_json() for layer in enter(confinement, fd, ())]})
            return FINE
        if message["t"] == "walled":
            return _answer(effects, fd, message, installation, confinement)
        return _perform(effects, fd, message, installation, confinement)
    except Disconnected:
        return DISCONNECTED
    except MemoryError:
        return OUT_OF_MEMORY
    except BaseException as error:  # a defect, or a task that makes no sense
        try:
            effects.send({"t": "failed", "error": describe(error), "model": None})
        except BaseException:
            return DEFECT
        return FINE


#: What strangers had examined runs at a lower priority than whoever waits for nothing of the kind.
QUESTIONS_NICE: Final = 10


def _answer(
    effects: PipeEffects, fd: int, message: dict[str, Any], installation: Installation, confinement: Confinement
) -> int:
    """Hands the pipe to a function of the installation (`vetro.engine.query.sandboxed_worker`)."""
    answer = installation.answering[message["name"]](installation)
    readable = tuple(message["readable"])
    present = [path for path in readable if os.path.exists(path)]
    CpuBudget(message["cpu_seconds"], 0.0).limit()
    Memory(message["memory_mib"])
    os.nice(QUESTIONS_NICE)
    os.set_blocking(fd, True)
    layers = enter(confinement, fd, readable)
    refusal = _refusal(layers, present)
    if refusal is not None:
        effects.send({"t": "failed", "error": refusal})
        return FINE
    effects.send({"t": "inside", "layers": [layer.name for layer in layers if layer.active]})
    gc.enable()
    try:
        answer(fd)
    except MemoryError:
        return OUT_OF_MEMORY
    except BaseException:  # the pipe speaks no frames any more: whoever asked sees its end
        return DEFECT
    return FINE


def _perform(
    effects: PipeEffects, fd: int, message: dict[str, Any], installation: Installation, confinement: Confinement
) -> int:
    data = message["task"] if "task" in message else {k: v for k, v in message.items() if k != "t"}
    task = Task.from_json(data)
    spans = MethodSpans() if message.get("spans") else None
    del message, data
    cpu = None if task.budget.cpu_seconds is None else CpuBudget(task.budget.cpu_seconds, task.budget.grace_seconds)
    if cpu is not None:
        cpu.limit()
    memory = Memory(task.budget.memory_mib)
    present = [path for path in task.packages if os.path.exists(path)]
    layers = enter(confinement, fd, tuple(task.packages))
    refusal = _refusal(layers, present)
    if refusal is not None:
        effects.send({"t": "failed", "error": refusal, "model": None})
        return FINE
    performance = Performance(task, effects, installation)
    gc.enable()

    def failed(error: BaseException) -> None:
        if cpu is not None:
            cpu.stop()
        memory.make_room()

    def begun(session: Any) -> None:
        if spans is not None:
            spans.watch(session.scheduler)
        if cpu is not None:
            cpu.watch(session.rt)

    if cpu is not None:
        cpu.start()
    if spans is not None:
        spans.start()
    frame = performance.run(begun, failed)
    if spans is not None:
        effects.send({"t": "spans", "spans": spans.stop()})
    if cpu is not None:
        cpu.stop()
    memory.make_room()
    _end(effects, frame)
    return FINE


def _end(effects: PipeEffects, frame: dict[str, Any]) -> None:
    """Sends the last frame; one that cannot be sent becomes a failure without model."""
    try:
        effects.send(frame)
    except (FrameError, ValueError, RecursionError, MemoryError) as error:
        told = frame["error"] if frame["t"] == "failed" else describe(error)
        frame.clear()
        effects.send({"t": "failed", "error": told, "model": None})


def _refusal(layers: list[Layer], packages: list[str]) -> dict[str, Any] | None:
    """Why the task cannot be performed in these walls, told like a failure; None when it can."""
    missing = [layer.name for layer in layers if layer.required and not layer.active]
    if missing:
        message = f"this machine lacks the protection that its settings ask for: {', '.join(missing)}"
        hint = "'vetro doctor' says what to do about each of them"
    else:
        # Without Landlock the tasks' user has no right to read what not everybody may read.
        closed = [path for path in packages if not os.access(path, os.R_OK, effective_ids=True)]
        if not closed:
            return None
        message = f"the user of tasks, {os.geteuid()}, may not read the package {closed[0]}"
        hint = (
            "run Vetro as a user of its own, not as root; or make the package and the folders above it readable for"
            " everybody, or see what 'vetro doctor' says about 'files'"
        )
    return {
        "kind": "error",
        "code": "ENG305",
        "message": f"the task was not started: {message}",
        "hint": hint,
        "names": [],
        "position": None,
        "frames": [],
    }


def _own_descriptors(fd: int) -> None:
    """Closes everything but the pipe; standard input, output and error lead nowhere."""
    nowhere = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    os.closerange(3, fd)
    os.closerange(fd + 1, MOST_DESCRIPTORS)


def _pipe_of(channel: int) -> int:
    """The pipe of the task, as soon as there is one. Raises `Disconnected`."""
    with socket.socket(fileno=channel) as waiting:
        fds = socket.recv_fds(waiting, 16, 1)[1]
    if not fds:
        raise Disconnected
    return fds[0]


def _end_with(parent: int) -> None:
    """The kernel kills this process when the zygote dies. (A change of user undoes it: the sandbox does it again.)"""
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(DISCONNECTED)


def _own_signals() -> None:
    """The zygote's handlers are not ours."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    os.setsid()
    os.umask(0o077)
    os.chdir("/")
