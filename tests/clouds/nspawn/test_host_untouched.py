"""Hostile templates on the driver nspawn: nothing of them reaches a tool or a file name, and the host is as it was."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.clouds.nspawn.host_untouched import SCRIPT
from tests.clouds.stacks.hostile_templates import CORPUS
from tests.support.fuzzing import EVERYTHING
from tests.support.needs import need
from vetro.clouds.nspawn.kind import KIND as NSPAWN

pytestmark = pytest.mark.attack("templates", "C1")


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "kinds", [("nft",), pytest.param(tuple(CORPUS), marks=pytest.mark.campaign)], ids=["one", "all"]
)
def test_the_host_is_as_it_was_after_hostile_templates(tmp_path: Path, kinds: tuple[str, ...]) -> None:
    need(NSPAWN.missing())
    program = [sys.executable, "-m", "tests.clouds.nspawn.host_untouched", str(tmp_path), *kinds]
    # In namespaces of its own, where nobody else changes anything.
    done = subprocess.run(
        ["unshare", "--net", "--mount", "sh", "-c", SCRIPT, "sh", *program],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    seen: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert seen["reached"] == [] and seen["differs"] == [] and seen["left"] == {}
    # It was really tried: servers were prepared, and tools were run.
    part = 1 if EVERYTHING else 3
    assert seen["tried"] * part >= 150 * len(kinds) and seen["refused"] * part > 90 * len(kinds), seen
    assert seen["servers"] * part > 10 and seen["tools"] * part > 100, seen
