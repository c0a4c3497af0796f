"""Processes that outlive us, named so that a number used again is not taken for them."""

from __future__ import annotations

import os
import select
import signal

from vetro.data_classes import dataclass


@dataclass(frozen=True, slots=True)
class Process:
    """One process: its number, when it began (clock ticks since boot), and the boot, empty where it was not noted."""

    pid: int
    started: int
    boot: str = ""

    def alive(self) -> bool:
        """Whether this very process still runs. One that ended and was not yet collected does not."""
        return _started(self.pid) == self.started and self.boot in ("", this_boot())

    def signal(self, number: int) -> bool:
        """Sends a signal; False when the process is gone."""
        if not self.alive():
            return False
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            return False
        return True

    def kill(self) -> bool:
        """Ends it at once; False when it is gone."""
        return self.signal(signal.SIGKILL)

    def wait(self, timeout: float) -> bool:
        """Whether it ended within ``timeout`` seconds. It need not be our child."""
        try:
            handle = os.pidfd_open(self.pid)
        except OSError:
            return True
        try:
            if not self.alive():
                return True
            poller = select.poll()
            poller.register(handle, select.POLLIN)
            return bool(poller.poll(timeout * 1000))
        finally:
            os.close(handle)

    def children(self) -> list[Process]:
        """Its children, oldest first."""
        try:
            with open(f"/proc/{self.pid}/task/{self.pid}/children", encoding="ascii") as file:
                pids = [int(word) for word in file.read().split()]
        except OSError:
            return []
        return [found for found in map(process, pids) if found is not None]


def used_below(first: Process) -> tuple[float, int]:
    """Seconds of processors and bytes of memory of a process and all below it; its tree is walked once."""
    ticks, pages = 0, 0
    waiting = [first]
    while waiting:
        one = waiting.pop()
        waiting += one.children()
        fields = _fields(one.pid)
        if len(fields) > 21 and int(fields[19]) == one.started:
            # Its own, and those of children that it has collected.
            ticks += sum(int(word) for word in fields[11:15])
            pages += int(fields[21])
    return ticks / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE")


def process(pid: int) -> Process | None:
    """The process that has this number now."""
    started = _started(pid)
    return None if started is None else Process(pid, started)


def this_boot() -> str:
    """Which start of the machine this is: after another one, numbers and times of processes come again."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def _started(pid: int) -> int | None:
    fields = _fields(pid)
    if not fields or fields[0] in "ZX":
        return None
    return int(fields[19])


def _fields(pid: int) -> list[str]:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            # The name, in parentheses, may hold anything; the fields we want follow the last one.
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []
