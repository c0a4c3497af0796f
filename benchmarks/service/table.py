"""The `service` group of `run.py`: its lines."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.service.scenarios import FACTOR

ROOT = Path(__file__).resolve().parents[2]
HEADER = "| request | clients | requests/s | p50 ms | p99 ms | Murano | goal |\n|---|---|---|---|---|---|---|"


def measure(*, small: bool = False) -> dict[str, Any]:
    """Figures from a process of its own, which sends the requests."""
    command = [sys.executable, "-m", "benchmarks.service.scenarios", *(["--small"] if small else [])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines()
        return {"wrong": said[-1] if said else f"the process ended with status {done.returncode}"}
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def lines(found: dict[str, Any]) -> Iterator[str]:
    """Rows of the table, and the memory."""
    for name, rows in found["scenarios"].items():
        for clients, row in rows.items():
            goal = "-"
            if row["murano"]:
                wanted = row["murano"] * FACTOR
                goal = f"{wanted:.0f} {'met' if row['rate'] >= wanted else 'MISSED'}"
            murano = f"{row['murano']:.0f}" if row["murano"] else "-"
            yield f"| {name} | {clients} | {row['rate']} | {row['p50_ms']} | {row['p99_ms']} | {murano} | {goal} |"
    yield f"load made by {found['generator']}"
    yield f"memory of the HTTP processes: {found['memory_before_mib']} MiB before, {found['memory_after_mib']} after"


def failures(found: dict[str, Any]) -> list[str]:
    """What went wrong; a missed goal is none."""
    if "wrong" in found:
        return [f"service: {found['wrong']}"]
    return [
        f"service {name}, {clients} clients: {row['wrong']}"
        for name, rows in found["scenarios"].items()
        for clients, row in rows.items()
        if "wrong" in row
    ]
