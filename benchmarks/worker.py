"""Runs one workload at one size, on one side, as often as its parent asks: one JSON line for each line of input.

    python -m benchmarks.worker vetro|native KEY N [--cache FOLDER --folder FOLDER] [--lazy]

Both sides of a comparison are such processes, so that neither works in the other's memory. Input: a number of seconds;
the workload is repeated, with a fresh state each time, until they are used up, and the best run counts.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import tempfile
import time
from typing import Any, Protocol

from benchmarks.checksum import checksum
from benchmarks.workloads.definitions import REGISTRY

#: A method call of a package is a Python call; 500 levels need more than Python's default.
RECURSION_LIMIT = 20_000
MAX_REPEATS = 200


def peak_mib() -> float:
    """Peak resident memory of this process (`ru_maxrss` would include its parent's)."""
    with open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0


class Side(Protocol):
    """How a run is made; a new one for each run."""

    def prepare(self, tmp: str) -> None:
        """What is not timed."""

    def run(self) -> Any:
        """What is."""

    def finish(self, result: Any) -> Any:
        """The result in the form that is compared; not timed either."""


class NativeSide:
    """The hand-written version."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        from benchmarks.native import NATIVE

        self._n = arguments.n
        self._native = NATIVE[arguments.key]
        self._state: Any = None
        sys.setrecursionlimit(RECURSION_LIMIT)

    def prepare(self, tmp: str) -> None:
        self._state = self._native.prepare(self._n, tmp)

    def run(self) -> Any:
        return self._native.run(self._n, self._state)

    def finish(self, result: Any) -> Any:
        return result


class VetroSide:
    """The engine, through its adapter."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        from benchmarks.adapter_vetro import Adapter

        self._n = arguments.n
        self._workload = REGISTRY[arguments.key]
        self._adapter = Adapter(arguments.cache, lazy=arguments.lazy)
        self._state: Any = None

    def prepare(self, tmp: str) -> None:
        self._state = self._workload.prepare(self._adapter, self._n, tmp)

    def run(self) -> Any:
        return self._workload.run(self._adapter, self._n, self._state)

    def finish(self, result: Any) -> Any:
        found = self._adapter.comparable(result)
        self._adapter.close_model()
        return found


def once(arguments: argparse.Namespace) -> tuple[float, str]:
    """CPU seconds and checksum of one run with a fresh state."""
    side: Side = NativeSide(arguments) if arguments.side == "native" else VetroSide(arguments)
    with tempfile.TemporaryDirectory() as tmp:
        side.prepare(arguments.folder or tmp)
        gc.collect()
        before = time.process_time()
        result = side.run()
        seconds = time.process_time() - before
        return seconds, checksum(side.finish(result))


def main() -> None:
    """Serves requests until the input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("side", choices=("vetro", "native"))
    parser.add_argument("key", choices=sorted(REGISTRY))
    parser.add_argument("n", type=int)
    parser.add_argument("--cache")
    parser.add_argument("--lazy", action="store_true")
    parser.add_argument("--folder", help="where generated packages go; a cache knows them by path and content")
    arguments = parser.parse_args()
    for line in sys.stdin:
        seconds = float(line)
        answer: dict[str, Any] = {}
        began = time.perf_counter()
        try:
            runs = [once(arguments)]
            while time.perf_counter() - began < seconds and len(runs) < MAX_REPEATS:
                runs.append(once(arguments))
            answer = {"cpu_s": min(cpu for cpu, _ in runs), "checksum": runs[0][1], "runs": len(runs)}
            if len({found for _, found in runs}) > 1:
                answer = {"error": "results differ between runs"}
        except Exception as error:
            if os.environ.get("BENCH_TRACE"):
                raise
            answer = {"error": f"{type(error).__name__}: {error}"[:300]}
        answer["rss_mib"] = round(peak_mib(), 1)
        print(json.dumps(answer), flush=True)
    os._exit(0)  # taking down a model of 50,000 objects is of no interest


if __name__ == "__main__":
    main()
