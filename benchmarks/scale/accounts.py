"""CPU time of groups of processes, dead ones included: control groups of the kernel. Needs root.

Figures of `/proc` do not do: children that nobody waits for, such as effects hosts, take their CPU time with them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

_VERSION_1 = Path("/sys/fs/cgroup/cpuacct")
_VERSION_2 = Path("/sys/fs/cgroup")


class Account:
    """A control group. Processes join by `join`, with the children that they have from then on, or by `command`."""

    def __init__(self, name: str) -> None:
        first = _VERSION_1.is_dir()
        self._folder = (_VERSION_1 if first else _VERSION_2) / f"vetro-scale-{os.getpid()}-{name}"
        self._file = self._folder / ("cpuacct.usage" if first else "cpu.stat")
        try:
            self._folder.mkdir()
        except OSError as error:
            raise SystemExit(f"no control group can be made ({error}): CPU time is measured as root only") from None

    def command(self, command: Sequence[str]) -> list[str]:
        """The command so that it runs in the group from its beginning."""
        return ["sh", "-c", f'echo $$ > {self._folder}/cgroup.procs; exec "$@"', "sh", *command]

    def join(self, pid: int) -> None:
        """Moves one process; nothing where it has ended: databases have children that come and go."""
        try:
            (self._folder / "cgroup.procs").write_text(str(pid))
        except ProcessLookupError:
            pass

    def seconds(self) -> float:
        """CPU seconds so far."""
        text = self._file.read_text()
        if self._file.name == "cpuacct.usage":
            return int(text) / 1e9
        return int(text.split("usage_usec ")[1].split()[0]) / 1e6

    def close(self) -> None:
        """Removes the group; its processes have ended or are sent back."""
        until = time.monotonic() + 20
        while True:
            for pid in (self._folder / "cgroup.procs").read_text().split():
                try:
                    (self._folder.parent / "cgroup.procs").write_text(pid)
                except OSError:  # it has just ended
                    continue
            try:
                self._folder.rmdir()
                return
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)

    def __enter__(self) -> Account:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def children(pid: int) -> list[int]:
    """Process ids of the children of a process; none where it has ended."""
    found: list[int] = []
    for file in Path("/proc").glob(f"{pid}/task/*/children"):
        try:
            found += [int(child) for child in file.read_text("ascii").split()]
        except (FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            continue
    return found


def command_of(pid: int) -> str:
    """The command line of a process; '' of one that has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""
