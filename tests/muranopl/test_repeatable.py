"""The same program with the same answers gives the same trace, ids and order, whatever the hash seed (DESIGN)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROCESSES = 10
RUNS = 10


def test_a_hundred_runs_give_one_digest() -> None:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONHASHSEED"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    digests = set()
    for seed in range(PROCESSES):
        done = subprocess.run(
            [sys.executable, "-m", "tests.support.repeatable", str(RUNS)],
            env={**environment, "PYTHONHASHSEED": str(seed * 7919)},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        digests.add(done.stdout.strip())
    assert len(digests) == 1, digests
