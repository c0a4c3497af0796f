"""Runs one workload at one size, on one side, as often as its parent asks: one JSON line for each line of input.

    python -m benchmarks.worker vetro|native KEY N [--cache FOLDER] [--lazy]

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
from collections.abc import Callable
from typing import Any

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


def once(start: Callable[[str], tuple[Callable[[], Any], Callable[[], None]]]) -> tuple[float, str]:
    """CPU seconds and checksum of one run with a fresh state."""
    with tempfile.TemporaryDirectory() as tmp:
        run, close = start(tmp)
        gc.collect()
        before = time.process_time()
        result = run()
        seconds = time.process_time() - before
        found = checksum(result)
        close()
    return seconds, found


def side(arguments: argparse.Namespace) -> Callable[[str], tuple[Callable[[], Any], Callable[[], None]]]:
    """How a run is prepared."""
    n = arguments.n
    if arguments.side == "native":
        from benchmarks.native import NATIVE

        native = NATIVE[arguments.key]
        sys.setrecursionlimit(RECURSION_LIMIT)

        def start_native(tmp: str) -> tuple[Callable[[], Any], Callable[[], None]]:
            state = native.prepare(n, tmp)
            return lambda: native.run(n, state), lambda: None

        return start_native

    from benchmarks.adapter_vetro import Adapter

    workload = REGISTRY[arguments.key]

    def start_vetro(tmp: str) -> tuple[Callable[[], Any], Callable[[], None]]:
        adapter = Adapter(arguments.cache, lazy=arguments.lazy)
        state = workload.prepare(adapter, n, tmp)
        return lambda: workload.run(adapter, n, state), adapter.close_model

    return start_vetro


def main() -> None:
    """Serves requests until the input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("side", choices=("vetro", "native"))
    parser.add_argument("key", choices=sorted(REGISTRY))
    parser.add_argument("n", type=int)
    parser.add_argument("--cache")
    parser.add_argument("--lazy", action="store_true")
    arguments = parser.parse_args()
    start = side(arguments)
    for line in sys.stdin:
        seconds = float(line)
        answer: dict[str, Any] = {}
        began = time.perf_counter()
        try:
            runs = [once(start)]
            while time.perf_counter() - began < seconds and len(runs) < MAX_REPEATS:
                runs.append(once(start))
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
