"""A script that writes a megabyte a second for ten minutes, on a real server: others wait no longer, and nothing grows.

Needs root and systemd-nspawn. It ends with no trace of its own on this machine.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import pytest

from tests.acceptance.test_health_real import TALKER, Place, place
from vetro.clouds.drivers.processes import Process, process

__all__ = ["place"]
pytestmark = pytest.mark.campaign

#: Seconds for which the script writes, and of quiet before and after that are compared with it.
FLOOD, QUIET = 600, 45
#: Seconds between two requests of somebody else.
PAUSE = 0.25
#: Times as long as in quiet that half of the requests may take. Measured is a share of the same minutes, not a speed.
SLOWER = 3.0
#: MiB that the processes of the service may have more at the end of the flood than after its first minute.
GROWN = 48

FLOODING = (
    TALKER
    + f"""\
  flood:
    Scope: Public
    Body:
      - $written: head -c 750000 /dev/urandom | base64 -w 99
      - $command: format('for i in $(seq {FLOOD}); do {{0}}; sleep 1; done', $written)
      - conf:Linux.runCommand($.instance.agent, $command, 'Flood', timeout => {FLOOD * 2})
"""
)


def memory(first: Process) -> int:
    """MiB that a process and all below it have for themselves, shared pages by parts."""
    kib, waiting = 0, [first]
    while waiting:
        one = waiting.pop()
        waiting += one.children()
        try:
            rows = Path(f"/proc/{one.pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        kib += next(int(row.split()[1]) for row in rows if row.startswith("Pss:"))
    return kib >> 10


def ask(place: Place, id: str, seconds: float) -> tuple[list[float], list[int]]:
    """Seconds that requests about another environment took, and how much memory the service had."""
    took, grown, end = [], [], time.monotonic() + seconds
    service = process(place.service.process.pid)
    assert service is not None
    for number in range(1_000_000):
        begun = time.monotonic()
        if begun > end:
            return took, grown
        place.ask("GET", ("/environments", f"/environments/{id}", f"/environments/{id}/health")[number % 3])
        took.append(time.monotonic() - begun)
        if number % 20 == 0:
            grown.append(memory(service))
        time.sleep(PAUSE)
    raise AssertionError


@pytest.mark.timeout(FLOOD + 600)
def test_a_megabyte_a_second_costs_others_nothing(place: Place) -> None:
    place.upload(FLOODING)
    id = place.deploy()
    other = place.ask("POST", "/environments", {"name": "other"})["id"]
    place.until(id, "running", 60)
    before, _ = ask(place, other, QUIET)
    actions = place.ask("GET", f"/environments/{id}/actions")["items"]
    (action,) = [row["id"] for row in actions if row["name"] == "flood"]
    task = place.ask("POST", f"/environments/{id}/actions/{action}", {"args": {}})
    during, used = ask(place, other, FLOOD)
    place.done(task)
    after, _ = ask(place, other, QUIET)

    def told(name: str, took: list[float]) -> tuple[float, float]:
        p50, p95 = statistics.median(took), statistics.quantiles(took, n=20)[-1]
        print(f"{name}: {len(took)} requests, p50 {p50 * 1000:.1f} ms, p95 {p95 * 1000:.1f} ms")
        return p50, p95

    quiet, loud = told("quiet", before + after), told("flood", during)
    first, last = max(used[: len(used) // 10 + 1]), max(used[-len(used) // 10 :])
    lines = place.ask("GET", f"/tasks/{task['id']}/log?kind=output&limit=1")["items"]
    print(
        f"p50 {loud[0] / quiet[0]:.2f} times, p95 {loud[1] / quiet[1]:.2f} times; memory {first} MiB, then {last} MiB"
    )
    assert lines, "it was kept, a part of it"
    assert loud[0] <= SLOWER * quiet[0]
    assert last - first <= GROWN
