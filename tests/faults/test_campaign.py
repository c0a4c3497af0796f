"""The kill campaign with few deployments and a fixed seed; ``python -m tests.faults --full`` is the whole of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SECONDS = 400

pytestmark = [pytest.mark.slow, pytest.mark.timeout(SECONDS + 60)]


def campaign(folder: Path, *words: str) -> dict[str, Any]:
    """Runs it as a person would; what it found."""
    command = [sys.executable, "-m", "tests.faults", "--json", str(folder / "found.json"), *words]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        text, _ = process.communicate(timeout=SECONDS)
    except BaseException:
        process.send_signal(signal.SIGTERM)  # it ends what it started
        process.communicate(timeout=60)
        raise
    if process.returncode == 2 and os.environ.get("CI") != "true":
        pytest.skip(text.strip())
    assert process.returncode == 0, text
    (found,) = json.loads((folder / "found.json").read_text())
    assert found["failed"] == 0 and text.splitlines()[-1].endswith("0 failed")
    return dict(found)


@pytest.mark.campaign
def test_thirty_deployments_on_postgresql(tmp_path: Path) -> None:
    """4 workers and 2 servers; ten kills, the database restarted twice, RabbitMQ killed, a worker frozen."""
    found = campaign(tmp_path, "--deployments", "30", "--seed", "1")
    assert sum(found["ends"].values()) == 30
    larger = ("database restarted", "database killed", "RabbitMQ killed", "worker frozen")
    assert [found["kills"].pop(name) for name in larger] == [1, 1, 1, 1]
    assert sum(found["kills"].values()) == 10
    assert sum(count for times, count in found["claims"].items() if int(times) > 1) > 0, "nobody was hit"


@pytest.mark.campaign
def test_twelve_deployments_on_sqlite_with_one_worker(tmp_path: Path) -> None:
    """All blows at once; by default each of them has a test of its own: `test_scale_out`, `test_scale_out_library`,
    `test_server_worker`, `test_server_serve`, `test_lost_network`, `tests/server/tasks/test_lost_leases.py`."""
    words = ("--deployments", "12", "--environments", "4", "--clients", "2", "--kills", "5", "--no-rabbitmq")
    found = campaign(tmp_path, "--database", "sqlite", "--seed", "2", *words)
    assert sum(found["ends"].values()) == 12
    assert found["kills"].pop("worker frozen") == 1
    assert sum(found["kills"].values()) == 5
