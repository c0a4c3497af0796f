"""A control group of its own for every server: PID 1 of the guest writes there, limits hold there, and deleting a
server ends whatever is in it. Serves version 1, hybrid and version 2 of the kernel's interface.
"""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from vetro.clouds.drivers.errors import HostFailed

ROOT = Path("/sys/fs/cgroup")
#: Version 2: what servers are limited in.
CONTROLLERS = ("cpu", "memory", "pids", "io")
#: Microseconds over which the share of processors is counted.
PERIOD = 100_000
#: Ends a fork bomb before it costs the host its process table.
MOST_PROCESSES = 2048


class Cgroups:
    """The control groups of this machine. ``root`` is where they are mounted."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.unified = (root / "cgroup.controllers").exists()

    def hierarchies(self) -> list[Path]:
        """Top folders: one in version 2, one a controller in version 1. Links to another one are left out."""
        if self.unified:
            return [self.root]
        found = sorted(path for path in self.root.iterdir() if not path.is_symlink()) if self.root.is_dir() else []
        return [path for path in found if (path / "cgroup.procs").exists()]

    def group(self, *names: str) -> Cgroup:
        """The group below each top folder by these names; it need not exist."""
        return Cgroup(self, names)


class Cgroup:
    """One group, in all hierarchies at once."""

    def __init__(self, cgroups: Cgroups, names: tuple[str, ...]) -> None:
        self._cgroups = cgroups
        self._names = names

    def folders(self) -> list[Path]:
        """Its folder in every hierarchy."""
        return [top.joinpath(*self._names) for top in self._cgroups.hierarchies()]

    def exists(self) -> bool:
        """Whether it exists in any hierarchy."""
        return any(folder.is_dir() for folder in self.folders())

    def names(self) -> list[str]:
        """Names of the groups right below."""
        below = (path for folder in self.folders() if folder.is_dir() for path in folder.iterdir() if path.is_dir())
        return sorted({path.name for path in below})

    def create(self) -> list[str]:
        """Makes it and gives the files into which a process writes its number to enter.

        Controllers that refuse are left out (limits then do not hold); raises `HostFailed` when none takes it.
        """
        entered: list[str] = []
        reason = "none is mounted"
        for top, folder in zip(self._cgroups.hierarchies(), self.folders(), strict=True):
            try:
                at = top
                for name in self._names:
                    if self._cgroups.unified:
                        _enable(at)
                    at = at / name
                    at.mkdir(exist_ok=True)
                    _share_cpuset(at)
                entered.append(str(folder / "cgroup.procs"))
            except OSError as error:
                reason = str(error)
        if not entered:
            raise HostFailed(f"this machine lets us make no control group under {self._cgroups.root}: {reason}")
        return entered

    def limit(self, *, memory_mib: int, cpus: float) -> list[str]:
        """Sets limits where the kernel takes them; 0 is no limit. Gives the names of the limits that hold."""
        quota = int(cpus * PERIOD)
        wanted = {
            "pids.max": MOST_PROCESSES,
            "memory.max" if self._cgroups.unified else "memory.limit_in_bytes": memory_mib << 20,
        }
        if self._cgroups.unified:
            wanted["cpu.max"] = quota
        else:
            wanted["cpu.cfs_quota_us"] = quota
        held: list[str] = []
        for name, value in wanted.items():
            text = f"{value} {PERIOD}" if name == "cpu.max" else str(value)
            for folder in self.folders() if value else ():
                if (folder / name).exists() and _write(folder / name, text):
                    held.append(name.partition(".")[0])
                    break
        return held

    def usage(self) -> tuple[float | None, int | None]:
        """Seconds of processors that it has taken, and bytes of memory that it has now; None: nobody counts."""
        folders = self.folders()
        if self._cgroups.unified:
            text = _read(folders[0] / "cpu.stat")
            fields = dict(line.split(" ", 1) for line in text.splitlines() if " " in line)
            return _number(fields.get("usage_usec", ""), 1e6), _whole(_read(folders[0] / "memory.current"))
        taken = next((text for folder in folders if (text := _read(folder / "cpuacct.usage"))), "")
        memory = next((text for folder in folders if (text := _read(folder / "memory.usage_in_bytes"))), "")
        return _number(taken, 1e9), _whole(memory)

    def service(self, unit: str) -> bool | None:
        """Whether the systemd of a guest in it has processes in a unit; None while there is no such systemd."""
        found: bool | None = None
        for folder in self.folders():
            for slices in (folder / "system.slice", folder / "payload" / "system.slice"):
                if (slices / "cgroup.procs").exists():
                    # Other hierarchies have the groups of systemd, too, and no processes in them. Groups below are
                    # as many as the guest likes.
                    found = bool(found or _read(slices / unit / "cgroup.procs").strip())
        return found

    def pids(self) -> set[int]:
        """Processes in it and below."""
        return {pid for folder in self.folders() for pid in _pids(folder)}

    def kill(self, timeout: float = 60) -> None:
        """Ends everything in it. Raises `HostFailed` when something stays (a process stuck in the kernel)."""
        for folder in self.folders():
            # No process forks any more: whoever forks faster than we kill would win.
            _write(folder / "pids.max", "0")
            _write(folder / "cgroup.kill", "1")
            # What stands still for a snapshot (`subvolumes`), or made itself do so, would not end.
            _write(folder / "freezer.state", "THAWED")
            _write(folder / "cgroup.freeze", "0")
        end = time.monotonic() + timeout
        pause = 0.001
        while pids := self.pids():
            for pid in pids:
                try:
                    if pid:  # 0: a process that is not seen from here; to a signal it would be our own group
                        os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            if time.monotonic() > end:
                raise HostFailed(f"processes {sorted(pids)[:5]} of a deleted server do not end")
            time.sleep(pause)  # groups of version 1 announce nothing
            pause = min(pause * 2, 0.05)

    def remove(self, timeout: float = 30) -> None:
        """Removes it with all groups below; nothing when it is gone. Raises `HostFailed` when it is still in use."""
        end = time.monotonic() + timeout
        for folder in self.folders():
            while folder.is_dir():
                for at, _, _ in os.walk(folder, topdown=False):
                    try:
                        os.rmdir(at)
                    except OSError as error:
                        if error.errno not in (errno.EBUSY, errno.ENOENT, errno.ENOTEMPTY):
                            raise HostFailed(f"the control group {at} stays: {error.strerror}") from None
                if folder.is_dir():
                    if time.monotonic() > end:
                        raise HostFailed(f"the control group {folder} is still in use")
                    time.sleep(0.005)


def _pids(folder: Path) -> Iterator[int]:
    for at, _, files in os.walk(folder):
        if "cgroup.procs" in files:
            try:
                text = Path(at, "cgroup.procs").read_text("ascii")
            except OSError:
                continue
            yield from (int(word) for word in text.split())


def _enable(folder: Path) -> None:
    for name in CONTROLLERS:
        _write(folder / "cgroup.subtree_control", f"+{name}")


def _share_cpuset(folder: Path) -> None:
    """A new cpuset of version 1 is empty and takes no process before it has processors and memory nodes."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        if (folder / name).exists() and not (folder / name).read_text("ascii").strip():
            _write(folder / name, (folder.parent / name).read_text("ascii").strip())


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii").strip()
    except OSError:
        return ""


def _whole(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def _number(text: str, unit: float) -> float | None:
    return int(text) / unit if text.strip().isdigit() else None


def _write(path: Path, text: str) -> bool:
    try:
        path.write_text(text, "ascii")
    except OSError:
        return False
    return True
