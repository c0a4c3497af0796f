"""`HostForker`: effects hosts in milliseconds. One process loads the code of all hosts once and forks each of them.

It has one thread, opens no cloud, and ends with the worker: then the kernel ends its children, too.
"""

from __future__ import annotations

import ctypes
import errno
import gc
import importlib
import os
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import entry_points
from pathlib import Path

from vetro.clouds import kinds
from vetro.engine.task import sigint
from vetro.engine.worker.ports import HostUnavailable
from vetro.packages.extensions import ENTRY_POINT_GROUP

#: Seconds that loading the code, and a fork, may take where the machine does much else; an end is noticed at once.
START_SECONDS = 300.0
#: What hosts load when they open a cloud.
_LOADED = (
    "vetro.engine.host.config",
    "vetro.engine.host.heartbeat",
    "vetro.engine.host.frame_server",
    "vetro.engine.host.encryption",
    "vetro.agent.sockets",
    "vetro.agent.signing",
    "concurrent.futures.thread",
)
#: What they need for effects of extensions, where any are installed.
_OF_EXTENSIONS = "vetro.packages.extensions.plugins"
_ORDER = b"fork"
#: Bytes of an answer: the process id, or why there is none.
_ANSWER = 256


def environment() -> dict[str, str]:
    """Variables for a process of ours: it finds the code that this one runs."""
    ours = str(Path(__file__).parents[3])
    path = os.pathsep.join(filter(None, [ours, os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path}


_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def die_with(parent: int) -> None:
    """The kernel ends this process when its parent ends: no effect is begun for a worker that is gone."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


class HostForker:
    """Makes processes that wait for their settings. Safe for several threads; a context manager that ends them all.

    The process is started by the first call of `begin`, `start` or `fork`, and again when it died. ``cloud`` is the
    kind that most hosts are for, as settings name it; '': the one that is chosen here.
    """

    def __init__(self, cloud: str = "") -> None:
        self._cloud = cloud
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._ready = False
        #: Has one thread. The kernel ends the process with the thread that started it, and whoever calls may end.
        self._lasting: ThreadPoolExecutor | None = None

    def begin(self) -> None:
        """Starts it: it gets ready beside the caller. Raises `HostUnavailable`."""
        with self._lock:
            if self._control is None:
                self._begin()

    def start(self) -> None:
        """Starts it and waits until it can fork. Raises `HostUnavailable`."""
        with self._lock:
            self._start()

    def fork(self) -> tuple[socket.socket, int, int]:
        """A new host: our end of its socket pair, its process id, and a descriptor of the process (pidfd).

        Raises `HostUnavailable`.
        """
        with self._lock:
            for attempt in (1, 2):
                self._start()
                try:
                    return self._fork()
                except OSError as error:
                    self._end()
                    if attempt == 2:
                        raise HostUnavailable(f"no effects host can be started: {error}") from error
        raise AssertionError

    def close(self) -> None:
        """Ends it, and all hosts."""
        with self._lock:
            self._end()
            if self._lasting is not None:
                self._lasting.shutdown()
                self._lasting = None

    def __enter__(self) -> HostForker:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _begin(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            number = theirs.fileno()
            command = [sys.executable, "-P", "-m", "vetro.engine.host", "--control", str(number)]
            command += ["--parent", str(os.getpid()), "--cloud", self._cloud]
            self._lasting = self._lasting or ThreadPoolExecutor(1, thread_name_prefix="vetro forker")
            try:
                self._process = self._lasting.submit(_spawn, command, number).result()
            except OSError as error:
                ours.close()
                raise HostUnavailable(f"the effects host cannot be started: {error}") from error
        self._control = ours
        ours.settimeout(START_SECONDS)

    def _start(self) -> None:
        if self._control is None:
            self._begin()
        assert self._control is not None
        if self._ready:
            return
        try:
            self._ready = bool(self._control.recv(64))
        except OSError:
            pass
        if not self._ready:
            self._end()
            raise HostUnavailable("effects hosts cannot be started: their code does not load, or not in time")

    def _fork(self) -> tuple[socket.socket, int, int]:
        """Raises `OSError` when the process has gone; `HostUnavailable` when only this host cannot be made."""
        assert self._control is not None
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            raise HostUnavailable(f"no effects host can be started: {error}") from error
        try:
            with theirs:
                socket.send_fds(self._control, [_ORDER], [theirs.fileno()])
            data, fds, _, _ = socket.recv_fds(self._control, _ANSWER, 1)
            if not data:
                raise ConnectionResetError("the process that forks them has gone")
            if not fds:  # of this end, where it is a number: the child ends when nobody holds its socket
                reason = os.strerror(errno.EMFILE) if data.isdigit() else data.decode("utf-8", "replace")
                raise HostUnavailable(f"no effects host can be started: {reason}")
        except BaseException:
            ours.close()
            raise
        return ours, int(data), fds[0]

    def _end(self) -> None:
        process, control = self._process, self._control
        self._process = self._control = None
        self._ready = False
        if control is not None:
            control.close()
        if process is not None:
            try:
                process.wait(5.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _spawn(command: list[str], control: int) -> subprocess.Popen[bytes]:
    with sigint.held_back():
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=(control,), env=environment())


def serve(control_fd: int, cloud: str = "") -> int | None:
    """Forks hosts until the worker has gone: then None. In each child: the socket that it is to serve.

    Runs in a process of its own (``python -m vetro.engine.host --control``).
    """
    gc.disable()  # what is loaded stays
    for name in _LOADED:
        importlib.import_module(name)
    if entry_points(group=ENTRY_POINT_GROUP):
        importlib.import_module(_OF_EXTENSIONS)
    try:
        for name in kinds.modules(cloud):
            importlib.import_module(name)
    except ImportError:
        pass  # an extra is missing: the host that opens the cloud says so
    control = socket.socket(fileno=control_fd)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are reaped by the kernel
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a signal to the group: the worker says when it is over
    gc.collect()
    gc.freeze()
    gc.enable()
    try:
        control.send(b"ready")
        return _forked(control)
    except (BrokenPipeError, ConnectionResetError):
        return None  # the worker has gone meanwhile: a command that refused what it was given, or one that was killed


def _forked(control: socket.socket) -> int | None:
    """Forks a host at each request, until there are no more: then None. In each child: the socket of its request."""
    while True:
        data, fds, _, _ = socket.recv_fds(control, 64, 1)
        if not data:
            return None
        parent = os.getpid()
        try:
            if not fds:
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            pid = os.fork()
        except OSError as error:  # the hosts that there are go on
            control.send(str(error.strerror).encode()[:_ANSWER])
            for fd in fds:
                os.close(fd)
            continue
        if pid == 0:
            control.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            die_with(parent)
            return fds[0]
        try:
            descriptor = os.pidfd_open(pid)
        except OSError as error:
            control.send(str(error.strerror).encode()[:_ANSWER])  # the child ends: nobody will speak to it
        else:
            socket.send_fds(control, [str(pid).encode()], [descriptor])
            os.close(descriptor)
        os.close(fds[0])
