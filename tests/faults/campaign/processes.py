"""Processes below this one: what they are, whether they live, and those that must be there (`Kept`)."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

#: Seconds after which systemd would start a service again (``RestartSec=``).
AGAIN = 0.5
_PR_SET_CHILD_SUBREAPER = 36

#: What a process is, by its command line; the first that fits.
_KINDS = (
    ("http", "vetro.server.http.server"),
    ("zygote", "vetro.engine.task.zygote"),
    ("forker", "vetro.engine.host"),
    ("worker", "vetro.cli.main worker"),
    ("serve", "vetro.cli.main serve"),
)
#: What the children of such processes are that have the same command line: they were forked.
_FORKED = {"zygote": "task", "forker": "host"}


def adopt_orphans() -> None:
    """From now on processes below us whose parents died are our children: none escapes."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def children_of(pid: int) -> list[int]:
    """Process ids."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found += map(int, (task / "children").read_text().split())
    return found


def state_of(pid: int) -> str:
    """One letter, as in ``ps``; '' for none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def command_of(pid: int) -> str:
    """The command line."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return ""


def walled(pid: int) -> bool:
    """Whether a process has a filter of system calls, as each task has."""
    try:
        return "\nSeccomp:\t2\n" in Path(f"/proc/{pid}/status").read_text("utf-8", "replace")
    except OSError:
        return False


def below(pid: int) -> Iterator[tuple[int, str]]:
    """Each living process at and below one, with its kind: http, worker, serve, zygote, task, spare (it waits for a
    task, without walls), forker, host or other."""
    todo = [(pid, "")]
    while todo:
        one, parent = todo.pop()
        if state_of(one) in ("", "Z", "X"):
            continue
        command = command_of(one)
        kind = next((name for name, text in _KINDS if text in command), "other")
        if kind in _FORKED and parent in (kind, _FORKED[kind]):
            kind = _FORKED[kind]
        yield one, "spare" if kind == "task" and not walled(one) else kind
        todo += [(child, kind) for child in children_of(one)]


def kill(pid: int) -> bool:
    """SIGKILL; whether there was one."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


class Kept:
    """A process that is started again when it ends, as systemd does. Used by one thread, which outlives it."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self.name = name
        self.starts = 0
        self._command = list(command)
        if shutil.which("setpriv"):  # nothing is left when this program is killed
            self._command = ["setpriv", "--pdeathsig", "KILL", "--", *self._command]
        self._environment = dict(environment)
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._again = 0.0

    @property
    def pid(self) -> int | None:
        """Its process id; None while it is not there."""
        return None if self._process is None or self._process.poll() is not None else self._process.pid

    def start(self) -> None:
        """Starts it."""
        self.starts += 1
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(
                self._command, env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def look(self) -> None:
        """Starts it again when it has ended a while ago."""
        if self._process is None or self._process.poll() is None:
            return
        if not self._again:
            self._again = time.monotonic() + AGAIN
        elif time.monotonic() >= self._again:
            self._again = 0.0
            self.start()

    def ask_to_stop(self) -> None:
        """SIGTERM."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    def wait(self, seconds: float) -> int | None:
        """Its exit status; None when it did not end in time and was killed."""
        if self._process is None:
            return 0
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return None


def reap(known: set[int]) -> None:
    """Buries orphans that were given to us."""
    for pid in children_of(os.getpid()):
        if pid not in known and state_of(pid) == "Z":
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
