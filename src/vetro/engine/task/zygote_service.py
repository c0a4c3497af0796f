"""The zygote's work: forks tasks, kills them when nobody waits any more, and tells how they ended."""

from __future__ import annotations

import gc
import json
import os
import selectors
import signal
import socket
import sys
import threading
from collections.abc import Iterable
from typing import Any, NamedTuple

from vetro.engine.installation import Installation, prepare
from vetro.engine.sandbox import Confinement, leave_network
from vetro.engine.task import child, messages
from vetro.engine.task.messages import AHEAD
from vetro.engine.task.warm_up import warm_up
from vetro.engine.version import code

#: Bytes of a request; it is just a word.
REQUEST = 64
#: Bytes of memory that have to be available for a process to be forked ahead of its task.
LEAST_AVAILABLE = 512 << 20


class Spare(NamedTuple):
    """A process that was forked ahead of its task, and where it waits for the task's pipe."""

    pid: int
    channel: socket.socket


def serve(
    control: int, cache: str | None, natives: Iterable[str], require: Iterable[str], answering: Iterable[str] = ()
) -> int:
    """Prepares the installation, says ``ready`` on ``control``, and forks until it closes."""
    service = Zygote(socket.socket(fileno=control))
    gc.disable()  # what is loaded stays: looking through it for garbage would take a tenth of the start
    installation = prepare(natives, cache, answering)
    warm_up(installation)
    confinement = Confinement(network=leave_network(), required=frozenset(require))
    if cache is not None:
        confinement.readable += (cache,)
    return service.run(installation, confinement)


class Zygote:
    """The loop.

    Asked to, it forks a process ahead of the next task (`child`). There is one of these at most, each becomes one task,
    and where there is none, or it was killed, the task gets one that is forked then.
    """

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._spare: Spare | None = None
        self._selector = selectors.DefaultSelector()
        #: Tasks that have not ended: the launcher's socket of each.
        self._tasks: dict[int, socket.socket] = {}
        self._pid = os.getpid()

    def run(self, installation: Installation, confinement: Confinement) -> int:
        """Serves until the launcher is gone."""
        os.environ.clear()
        os.chdir("/")
        wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector.register(self._control, selectors.EVENT_READ, None)
        self._selector.register(wake_read, selectors.EVENT_READ, wake_read)
        gc.collect()
        gc.freeze()  # a collection would write to pages that all tasks share; the tasks enable it for themselves
        threads = threading.active_count()
        if threads != 1:
            raise RuntimeError(f"the zygote has {threads} threads; it must not have any besides its own")
        try:
            self._control.send(json.dumps({"ready": True, "pid": self._pid, "code": code()}).encode())
        except BrokenPipeError:  # the launcher ended meanwhile
            return 0
        try:
            return self._loop(wake_read, installation, confinement)
        finally:
            if os.getpid() == self._pid:
                for pid in (*self._tasks, *([self._spare.pid] if self._spare else [])):
                    os.kill(pid, signal.SIGKILL)

    def _loop(self, wake: int, installation: Installation, confinement: Confinement) -> int:
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    if not self._request(installation, confinement):
                        return 0
                elif key.data == wake:
                    self._drain(wake)
                    self._reap()
                else:
                    self._kill(key.data)

    def _request(self, installation: Installation, confinement: Confinement) -> bool:
        """Forks a task; False when the launcher is gone."""
        try:
            data, fds, _, _ = socket.recv_fds(self._control, REQUEST, 2)
        except ConnectionError:
            return False
        if not data:
            return False
        if len(fds) != 2:
            for fd in fds:
                os.close(fd)
            if data == AHEAD:
                try:
                    self._fork_ahead(installation, confinement)
                except OSError:  # no memory, no descriptors: whoever needs a process is told, and tasks go on
                    pass
            return True
        pipe, own = fds
        status = socket.socket(fileno=own)
        try:
            pid = self._hand_over(pipe) or os.fork()
        except OSError as error:
            os.close(pipe)
            _say(status, {"error": f"no process can be made: {error.strerror}"})
            status.close()
            return True
        if pid == 0:
            _become_task(pipe, self._pid, installation, confinement)
        os.close(pipe)
        self._tasks[pid] = status
        self._selector.register(status, selectors.EVENT_READ, pid + (1 << 32))
        _say(status, {"pid": pid})
        return True

    def _fork_ahead(self, installation: Installation, confinement: Confinement) -> None:
        if self._spare is not None or _available() < LEAST_AVAILABLE:
            return
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                pid = os.fork()
            except OSError:
                ours.close()
                raise
            if pid == 0:
                _become_task(theirs.fileno(), self._pid, installation, confinement, ahead=True)
        self._spare = Spare(pid, ours)

    def _hand_over(self, pipe: int) -> int | None:
        """Gives the pipe to the process that was forked ahead; its number. None where there is none."""
        spare, self._spare = self._spare, None
        if spare is None:
            return None
        with spare.channel:
            try:
                socket.send_fds(spare.channel, [b"pipe"], [pipe])
            except OSError:  # it was killed
                return None
        return spare.pid

    def _kill(self, mark: int) -> None:
        pid = mark - (1 << 32)
        status = self._tasks.get(pid)
        if status is not None:
            self._selector.unregister(status)
            try:
                status.recv(REQUEST)  # what is not read would be told to the other side as a broken connection
            except OSError:
                pass
            os.kill(pid, signal.SIGKILL)  # not reaped yet, so the number is still its own

    def _reap(self) -> None:
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            channel = self._tasks.pop(pid, None)
            if channel is None:  # it had no task yet
                if self._spare is not None and self._spare.pid == pid:
                    self._spare.channel.close()
                    self._spare = None
                continue
            try:
                self._selector.unregister(channel)
            except KeyError:
                pass
            signalled = os.WIFSIGNALED(status)
            _say(
                channel,
                {
                    "exit": None if signalled else os.WEXITSTATUS(status),
                    "signal": os.WTERMSIG(status) if signalled else None,
                    "cpu": usage.ru_utime + usage.ru_stime,
                    "memory": usage.ru_maxrss,
                },
            )
            channel.close()

    @staticmethod
    def _drain(wake: int) -> None:
        try:
            while os.read(wake, 4096):
                pass
        except BlockingIOError:
            pass


def _say(channel: socket.socket, message: dict[str, Any]) -> None:
    """Tells the launcher, if it still listens; never waits for it."""
    try:
        channel.send(json.dumps(message).encode(), socket.MSG_DONTWAIT)
    except OSError:
        pass


def _available() -> int:
    """Bytes of memory that programs can have without swapping."""
    with open("/proc/meminfo", encoding="ascii") as file:
        return next((int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable:")), 0)


def _become_task(
    fd: int, zygote: int, installation: Installation, confinement: Confinement, *, ahead: bool = False
) -> None:
    """The life of the child; never returns."""
    status = messages.DEFECT
    try:
        confinement.parent = zygote
        status = child.main(fd, installation, confinement, ahead=ahead)
    except BaseException:
        if sys.stderr is not None:
            sys.excepthook(*sys.exc_info())
    finally:
        os._exit(status)
