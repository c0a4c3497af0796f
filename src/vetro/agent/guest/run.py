"""Runs one stored plan in a process of its own, so that nothing it does can hurt the agent."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from . import result
from .body import run_body
from .errors import PlanError
from .plan import format_version, read_plan
from .windows import failure, run_commands

log = logging.getLogger("muranoagent")


def answer_plan(id: str, body: bytes, folder: str) -> str:
    """The answer to a plan: whatever goes wrong becomes an error's answer."""
    first_format = False
    try:
        data = json.loads(body)
        if not isinstance(data, dict):
            raise PlanError(2, "a plan must be a JSON object")
        first_format = format_version(data) < (2, 0, 0) and not isinstance(data.get("Scripts"), dict)
        if first_format and ("Commands" in data or isinstance(data.get("Scripts"), list)):
            return result.plain(run_commands(data))
        return result.success(id, run_body(read_plan(id, data), folder))
    except BaseException as error:
        # SystemExit and KeyboardInterrupt, too: bodies may raise what they want.
        log.info("plan %s failed: %s: %s", id, type(error).__name__, error)
        if first_format and not isinstance(error, PlanError):
            return result.plain(failure(type(error).__name__, str(error)))
        return result.failure(id, error)


class Running:
    """A plan that runs. ``fileno`` becomes readable when its process ends."""

    def __init__(self, pid: int, fd: int, timeout: float) -> None:
        self.pid = pid
        self._fd = fd
        self._timeout = timeout
        self._deadline = time.monotonic() + timeout if timeout else None
        self.timed_out = False
        self.status: int | None = None

    def fileno(self) -> int:
        return self._fd

    def remaining(self) -> float | None:
        """Seconds until `check` has to be called."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def check(self) -> bool:
        """Whether the plan has ended. One that took too long is killed with everything in its process group."""
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self.timed_out, self._deadline = True, None
            self.kill()
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
                os.close(self._fd)
        return self.status is not None

    def kill(self) -> None:
        """Kills the plan's process group."""
        for kill in (os.killpg, os.kill):  # the second for a process that does not lead its group yet
            try:
                kill(self.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass

    def stop(self) -> None:
        """Kills the plan unless it has ended, and waits for its end."""
        if self.status is None:
            self.kill()
            _, self.status = os.waitpid(self.pid, 0)
            os.close(self._fd)

    def describe(self) -> str:
        """Why there is no answer."""
        if self.timed_out:
            return f"the plan did not end within {self._timeout:g} seconds and was stopped"
        status = self.status or 0
        if os.WIFSIGNALED(status):
            return f"the process of the plan was killed by signal {os.WTERMSIG(status)} and left no answer"
        return f"the process of the plan ended with code {os.WEXITSTATUS(status)} and left no answer"


def start(work: Callable[[], Any], timeout: float, closing: Callable[[], None]) -> Running:
    """Forks a process that does ``work`` as the leader of its own session; ``closing`` lets go of connections there."""
    sys.stdout.flush()
    sys.stderr.flush()
    readable, writable = os.pipe()  # not inherited by programs: it ends when our process does
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            os.setsid()
            os.close(readable)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            signal.set_wakeup_fd(-1)
            closing()
            work()
            code = 0
        except BaseException:
            log.exception("the process of the plan failed")
        finally:
            os._exit(code)
    os.close(writable)
    return Running(pid, readable, timeout)
