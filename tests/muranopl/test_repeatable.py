"""The same program with the same answers gives the same trace, ids and order, whatever the hash seed (DESIGN)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.fuzzing import EVERYTHING

ROOT = Path(__file__).parents[2]
#: A hundred runs with --all.
PROCESSES = 10 if EVERYTHING else 3
RUNS = 10


@pytest.mark.campaign
def test_many_runs_give_one_digest() -> None:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONHASHSEED"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.support.repeatable", str(RUNS)],
            env={**environment, "PYTHONHASHSEED": str(seed * 7919)},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for seed in range(PROCESSES)
    ]
    digests = set()
    for process in running:
        digest, complaint = process.communicate(timeout=100)
        assert process.returncode == 0, complaint
        digests.add(digest.strip())
    assert len(digests) == 1, digests
