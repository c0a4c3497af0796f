"""`Launcher` starts task processes (`TaskProcess`) for the worker.

The sequence of frames (`vetro.engine.task.messages`) on the pipe of a task:

1. The worker sends ``{"t": "task", "task": task.as_json()}`` (the fields of the task may also stand beside ``t``).
   With ``"spans": true`` the process tells before its last frame when methods ran: ``{"t": "spans", "spans"}``.
2. The task process sends ``effect`` frames. For kinds whose `Answer` is NONE it goes on at once and no answer is
   expected (one that comes is ignored); for all others exactly one ``answer`` frame with the same ``key`` is. Branches
   of the run go on in the order in which the answers are sent, so a replay sends them in the recorded order. An answer
   with ``error: {kind, message, names, code?, hint?}`` is raised in the package, which can catch it under the
   ``names``; the kind ``cancelled`` stops the run.
3. ``checkpoint`` frames may be sent at any time. Each is answered by one ``{"t": "checkpoint", "model": …}`` as soon as
   all branches wait for answers of kinds with `Answer.WAITS` (so perhaps after many other frames, or never when the run
   ends before); ``model`` is null before the model is loaded, and ``error`` says why it could not be written.
4. ``cancel`` may be sent at any time: from then on the process refuses every effect itself, runs the `Finally` blocks,
   and ends with ``failed`` and an error of kind ``cancelled``. Answers to effects under way may still be sent.
5. The last frame is ``done`` (model, result) or ``failed`` (error as in `vetro.engine.failure`, the partial model or
   null). For tasks that leave no model (static, builder, schema, call) ``model`` is null. Then the process exits.

A process that ends without a last frame was killed or ran out of something: `TaskProcess.wait` says how.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from vetro.engine.task import sigint
from vetro.engine.task.messages import AHEAD, MOST_DIGITS
from vetro.engine.task.process import Exit, TaskProcess, TaskProcessEnded
from vetro.engine.version import code
from vetro.yaql.errors import VetroError

#: Seconds the zygote may take to load the engine (it takes one; a machine that does much else a hundred times that, and
#: one that has ended is noticed at once), and to fork.
START_SECONDS = 300.0
FORK_SECONDS = 30.0


class LauncherError(VetroError):
    """Task processes cannot be started."""

    kind = "error"
    code = "ENG302"


class Launcher:
    """Starts task processes through a zygote, which it starts (and starts again when it died).

    ``cache``: folder of the compile cache, read-only for tasks. ``natives``: ``module:function`` of functions that
    register native classes. ``path``: further folders of Python modules, for those. ``require``: names of the layers
    of the sandbox without which no task is started (`vetro.engine.sandbox`). ``answering``: ``name=module:function``
    of what answers tasks of kind ``questions`` (`vetro.engine.installation`). ``nice``: how far behind others its
    processes stand back. May be used from several threads.
    """

    def __init__(
        self,
        *,
        cache: str | os.PathLike[str] | None = None,
        natives: Sequence[str] = (),
        path: Sequence[str] = (),
        require: Sequence[str] = (),
        answering: Sequence[str] = (),
        nice: int = 0,
    ) -> None:
        self._cache = cache
        self._natives = natives
        self._path = path
        self._require = require
        self._answering = answering
        self._nice = nice
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._ready = False
        self._owner = 0

    def __enter__(self) -> Launcher:
        self.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """Process id of the zygote; None when there is none."""
        return None if self._process is None else self._process.pid

    def begin(self) -> None:
        """Starts the zygote where there is none: it gets ready beside the caller. Raises `LauncherError`."""
        with self._lock:
            if self._control is None:
                self._start_zygote()

    def start(self) -> TaskProcess:
        """A new task process, which waits for its task. Raises `LauncherError`."""
        with self._lock:
            for attempt in (1, 2):
                try:
                    return self._fork()
                except ConnectionError:  # the zygote died; the next one may live
                    self._end_zygote()
                    if attempt == 2:
                        raise LauncherError("the zygote died as soon as it was started") from None
        raise AssertionError

    def fork_ahead(self) -> None:
        """Has the process of the next `start` forked now, where none waits yet: it does what can be done before a task
        is known. For moments in which nobody waits for anything else; nothing where there is no zygote, or it is asked
        for a process already: whoever renews leases does not wait until one has begun anew."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            if self._control is not None and self._ready:
                self._control.send(AHEAD, socket.MSG_DONTWAIT)
        except OSError:  # it died, or has much to do
            pass
        finally:
            self._lock.release()

    def layers(self) -> list[dict[str, Any]]:
        """What the sandbox of a task process has on this machine: ``{name, active, detail, advice}`` for each layer."""
        with self.start() as process:
            process.send({"t": "probe"})
            message = process.receive(FORK_SECONDS)
        if message is None:
            raise LauncherError("the task process did not answer")
        layers: list[dict[str, Any]] = message["layers"]
        return layers

    def close(self) -> None:
        """Ends the zygote and with it all task processes."""
        with self._lock:
            self._end_zygote()

    # -- the zygote ----------------------------------------------------------------------------------------------------

    def _start_zygote(self) -> None:
        """Starts it; `_await_ready` waits until it can fork."""
        digits = sys.get_int_max_str_digits()
        if 0 < digits < MOST_DIGITS:  # answers and models hold such integers
            sys.set_int_max_str_digits(MOST_DIGITS)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            number = theirs.fileno()
            command = [sys.executable, "-P", "-s", "-m", "vetro.engine.task.zygote", "--control", str(number)]
            if self._nice:
                command += ["--nice", str(self._nice)]
            if self._cache is not None:
                command += ["--cache", str(Path(self._cache).absolute())]
            given = (("--natives", self._natives), ("--require", self._require), ("--answering", self._answering))
            for option, values in given:
                for value in values:
                    command += [option, value]
            try:
                with sigint.held_back():
                    self._process = subprocess.Popen(
                        command,
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,  # what goes wrong is said on standard error
                        env=self._environment(),
                        pass_fds=(number,),
                        cwd="/",
                    )
            except OSError as error:
                ours.close()
                raise LauncherError(f"Python cannot be started: {error}") from None
        self._control, self._ready, self._owner = ours, False, os.getpid()

    def _environment(self) -> dict[str, str]:
        """All that the zygote's environment holds: what makes each run the same, and where our own code is."""
        ours = str(Path(__file__).parents[3])
        given = [os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
        return {
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": os.pathsep.join([ours, *self._path, *given]),
            "PYTHONUTF8": "1",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
        }

    def _await_ready(self) -> None:
        assert self._control is not None
        self._control.settimeout(START_SECONDS)
        try:
            said = self._control.recv(4096)
            if not said:
                raise ConnectionResetError
        except TimeoutError:
            raise LauncherError(f"the zygote was not ready after {START_SECONDS:g} seconds") from None
        except ConnectionError:
            self._end_zygote()
            failed = LauncherError("the zygote could not start")
            failed.hint = "what went wrong stands on the standard error of this process"
            raise failed from None
        if json.loads(said)["code"] != code():  # a task would go on with other code than it, or others, began with
            self._end_zygote()
            changed = LauncherError("the program was changed on disk since this process began")
            changed.hint = "start the service, or the command, again"
            raise changed
        self._control.settimeout(None)
        self._ready = True

    def _fork(self) -> TaskProcess:
        if self._control is None:
            self._start_zygote()
        if not self._ready:
            self._await_ready()
        assert self._control is not None
        pipe, theirs = socket.socketpair()
        status, zygotes = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs, zygotes:
                socket.send_fds(self._control, [b"fork"], [theirs.fileno(), zygotes.fileno()])
            status.settimeout(FORK_SECONDS)
            data = status.recv(4096)
            status.settimeout(None)
            if not data:
                raise ConnectionResetError
            answer = json.loads(data)
            if "error" in answer:
                raise LauncherError(answer["error"])
            return TaskProcess(pipe, status, answer["pid"])
        except BaseException as error:
            pipe.close()
            status.close()
            if isinstance(error, TimeoutError):
                raise LauncherError("the zygote does not answer") from None
            raise

    def _end_zygote(self) -> None:
        process, control = self._process, self._control
        self._process = self._control = None
        self._ready = False
        if control is not None:
            control.close()
        if process is None:
            return
        if os.getpid() != self._owner:  # a copy in a forked process: the zygote is not its child
            process.returncode = 0
            return
        try:
            process.wait(FORK_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


__all__ = ["Exit", "Launcher", "LauncherError", "TaskProcess", "TaskProcessEnded"]
