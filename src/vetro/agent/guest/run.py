"""Runs one stored plan in a process of its own, so that nothing it does can hurt the agent."""

from __future__ import annotations

import json
import logging
import os
import select
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
    """A plan that runs. ``fileno`` becomes readable when its process ends.

    ``pid`` is its guard's, which leads the process group. The group ends with the agent: ``life`` is the end of a pipe
    whose other end the guard watches.
    """

    def __init__(self, pid: int, fd: int, life: int, timeout: float, patience: float | None) -> None:
        self.pid = pid
        self._fd = fd
        self._life = life
        self._timeout = timeout
        #: Somebody waits for less time than the settings give.
        self._awaited = patience is not None and (not timeout or patience < timeout)
        limit = patience if self._awaited else timeout or None
        self._deadline = None if limit is None else time.monotonic() + limit
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
                self._ended(status)
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
            self._ended(os.waitpid(self.pid, 0)[1])

    def _ended(self, status: int) -> None:
        self.status = status
        if os.WIFSIGNALED(status):
            self.kill()  # a guard that was killed alone has left the others
        os.close(self._fd)
        os.close(self._life)

    def describe(self) -> str:
        """Why there is no answer."""
        if self.timed_out and self._awaited:
            return "the plan did not end in the time for which its sender waits and was stopped with all its processes"
        if self.timed_out:
            return f"the plan did not end within {self._timeout:g} seconds and was stopped"
        status = self.status or 0
        if os.WIFSIGNALED(status):
            return f"the process of the plan was killed by signal {os.WTERMSIG(status)} and left no answer"
        return f"the process of the plan ended with code {os.WEXITSTATUS(status)} and left no answer"


def start(
    work: Callable[[], Any], timeout: float, closing: Callable[[], None], patience: float | None = None
) -> Running:
    """Forks a process that does ``work``, in a session with a guard; ``closing`` lets go of connections there.

    ``timeout`` is that of the settings, 0 for none; ``patience`` the seconds for which the sender waits.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    readable, writable = os.pipe()  # not inherited by programs: it ends when the guard does
    watched, life = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            os.setsid()
            os.close(readable)
            os.close(life)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            signal.set_wakeup_fd(-1)
            closing()
            code = _guarded(work, watched, writable)
        except BaseException:
            log.exception("the process of the plan failed")
        finally:
            os._exit(code)
    os.close(writable)
    os.close(watched)
    return Running(pid, readable, life, timeout, patience)


def _guarded(work: Callable[[], Any], watched: int, writable: int) -> int:
    """Does ``work`` in a further process; its exit code. Kills the whole process group when the agent has gone."""
    ending, held = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            for fd in (ending, watched, writable):
                os.close(fd)
            work()
            code = 0
        except BaseException:
            log.exception("the process of the plan failed")
        finally:
            os._exit(code)
    os.close(held)
    waiting = [watched, ending]
    while True:
        # What the work leaves may hold its pipe, and the work may close it: its end is looked for as well.
        ready = select.select(waiting, [], [], 1.0 if ending in waiting else 0.02)[0]
        if watched in ready:
            os.killpg(0, signal.SIGKILL)
        if ending in ready:
            waiting.remove(ending)
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            break
    if os.WIFSIGNALED(status):  # the agent shall see the same end
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    return os.WEXITSTATUS(status)
