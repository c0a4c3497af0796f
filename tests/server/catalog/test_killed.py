"""A process that is killed while it imports leaves all of an import or nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.campaign
def test_an_import_that_is_killed_is_there_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("VETRO_")}
    done = subprocess.run(
        [sys.executable, "-m", "tests.server.catalog.killing"],
        cwd=Path(__file__).parents[3],
        env={**kept, "VETRO_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = {item["place"]: item for item in json.loads(done.stdout)}
    for place, item in found.items():
        whole = place == "importing.import"
        assert item["counts"] == ([2] * 4 if whole else [0] * 4), item
        assert item["sound"] and item["again"] == (0 if whole else 2), item
        assert whole == (item["stray"] == 0), item  # blobs that nothing names are found and removed
    assert len(found) == 5
