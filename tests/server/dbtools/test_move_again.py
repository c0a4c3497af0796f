"""A copy in which a task went on is not replaced, though nobody did anything that the audit notes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.server.dbtools.kit import ROOT, Installation, once

WORK = """
from vetro.server.setup import setup; setup()
from vetro.server.dispatch.worker import run_queued; run_queued()
"""


@once
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_copy_whose_worker_ended_a_task_is_kept(installation: Installation, postgresql: Callable[[], str]) -> None:
    target = postgresql()
    installation.run("db", "move", "--to", target)
    environment = {**installation.environment, "VETRO_DATABASE__URL": target}
    subprocess.run([sys.executable, "-c", WORK], env=environment, cwd=ROOT, check=True, timeout=100)
    after = installation.dump(target)
    assert not any('"queued"' in row for row in after["dispatch_task"])
    refused = installation.run("db", "move", "--to", target, "--again", status=1)
    assert "work went on in the target" in refused.stderr and "SRV583" in refused.stderr
    assert installation.dump(target) == after
