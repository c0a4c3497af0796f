"""The process that answers large requests: ``python -m vetro.server.http.large_process`` (`vetro serve` starts it).

Each of them is answered by a copy of this process that is made for it: at a low priority, with limits of memory and
processor time, so that it takes nothing away from the requests of others, and leaves nothing behind. A project has one
such copy at a time. The application is loaded with the first large request: most installations never have one.
"""

from __future__ import annotations

import contextlib
import gc
import io
import logging
import os
import resource
import select
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from vetro.data_classes import dataclass
from vetro.server import large_requests
from vetro.server.config.address import RUN
from vetro.server.http.large_transfer import SentResponse, address, request_of, send
from vetro.server.http.processes import GRACE, die_with, die_with_parent

#: Copies at once; what each may use beyond what it begins with.
COPIES: Final = 2
MEMORY, CPU_SECONDS = 1 << 30, 60
#: Lower than everything else of the service.
NICE: Final = 10
_log = logging.getLogger("vetro.serve")


@dataclass(slots=True)
class _Waiting:
    whose: str
    environ: dict[str, Any]
    body: int | None
    connection: socket.socket


class Server:
    """Answers what comes at a listening socket, with what ``load`` gives: a function of a request's environ."""

    def __init__(self, listening: socket.socket, load: Callable[[], Callable[[dict[str, Any]], SentResponse]]) -> None:
        self._listening = listening
        self._load = load
        self._answer: Callable[[dict[str, Any]], SentResponse] | None = None
        self._waiting: deque[_Waiting] = deque()
        self._copies: dict[int, str] = {}
        self._woken, self._wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._stopping = False

    def run(self) -> None:
        """Answers until SIGTERM, and then for as long as copies may take to end."""
        signal.set_wakeup_fd(self._wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        while not self._stopping:
            ready, _, _ = select.select([self._listening.fileno(), self._woken], [], [])
            if self._woken in ready:
                os.read(self._woken, 4096)
            if self._listening.fileno() in ready:
                self._accept()
            self._reap()
            self._begin()
        until = time.monotonic() + GRACE
        while self._copies and time.monotonic() < until:
            time.sleep(0.05)
            self._reap()

    def _stop(self, *_: object) -> None:
        self._stopping = True

    def _accept(self) -> None:
        connection, _ = self._listening.accept()
        connection.settimeout(5)
        try:
            self._waiting.append(_Waiting(*request_of(connection), connection))
        except (OSError, EOFError, ValueError, KeyError):
            connection.close()

    def _reap(self) -> None:
        while self._copies:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            whose = self._copies.pop(pid, "")
            if status:
                _log.warning("a large request of %s could not be answered (%s)", whose, _how(status))

    def _begin(self) -> None:
        for one in list(self._waiting):
            if len(self._copies) >= COPIES:
                return
            if one.whose in self._copies.values():
                continue
            self._waiting.remove(one)
            if self._answer is None:
                self._answer = self._load()
            self._copies[self._fork(one, self._answer)] = one.whose
            one.connection.close()
            if one.body is not None:
                os.close(one.body)

    def _fork(self, one: _Waiting, answer: Callable[[dict[str, Any]], SentResponse]) -> int:
        parent = os.getpid()
        pid = os.fork()
        if pid:
            return pid
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            die_with(parent)
            self._listening.close()
            for other in self._waiting:
                other.connection.close()
            _lower()
            one.connection.settimeout(None)
            send(one.connection, answer(_environ(one)))
            status = 0
        except OSError:  # nobody waits any more
            status = 0
        except BaseException as error:
            sys.stderr.write(f"a large request could not be answered: {type(error).__name__}\n")
        finally:
            os._exit(status)


def _lower() -> None:
    """Low priority, and limits."""
    os.nice(NICE)
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    gc.disable()  # it ends before there is much to collect
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    for what, most in ((resource.RLIMIT_AS, now + MEMORY), (resource.RLIMIT_CPU, CPU_SECONDS)):
        _, hard = resource.getrlimit(what)
        resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _environ(one: _Waiting) -> dict[str, Any]:
    """The request as the application takes it."""
    file: Any = io.BytesIO()
    if one.body is not None:
        file = os.fdopen(one.body, "rb")
        file.seek(0)
    return {
        **one.environ,
        "wsgi.version": (1, 0),
        "wsgi.input": file,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": False,
        "wsgi.multiprocess": True,
        "wsgi.run_once": True,
    }


def _how(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"


def _load() -> Callable[[dict[str, Any]], SentResponse]:
    """The application, which answers in copies of this process."""
    from django.db import connections

    from vetro.server.observe import logs
    from vetro.server.setup import setup

    large_requests.collects = True
    settings = setup()
    from vetro.server.http.application import Application

    logs.configure(settings)
    application = Application(settings)
    connections.close_all()
    gc.collect()
    gc.freeze()
    return application.answer


def listen(folder: Path) -> socket.socket:
    """A listening socket in the folder of a run, under the name where clients look for it. Raises `OSError`."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with address(folder) as path:
            new = Path(path + ".new")
            new.unlink(missing_ok=True)  # of one that was killed
            listening.bind(str(new))
            new.chmod(0o600)
            listening.listen(64)
            new.rename(path)  # who finds the name reaches it
    except BaseException:
        listening.close()
        raise
    return listening


def main() -> None:
    """Answers until SIGTERM."""
    die_with_parent()
    os.environ.pop("PROMETHEUS_MULTIPROC_DIR", None)  # requests are counted where they arrive
    with contextlib.closing(listen(Path(os.environ[RUN]))) as listening:
        Server(listening, _load).run()


if __name__ == "__main__":
    main()
