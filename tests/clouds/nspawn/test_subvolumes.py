"""Which subvolumes a disk has follows from ``launch.json`` alone, whatever was broken off before."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.needs import need
from vetro.clouds.nspawn import disks, subvolumes, supervisor
from vetro.clouds.nspawn.kind import KIND


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """A folder of a server with a disk."""
    need(KIND.missing() or disks.no_btrfs())
    with open(tmp_path / "disk.img", "wb") as file:
        file.truncate(200 << 20)
    subprocess.run([*supervisor.MAKE["btrfs"], str(tmp_path / "disk.img")], check=True)
    (tmp_path / "disk").mkdir()
    return tmp_path


def arranged(folder: Path, then: str = "", **launch: Any) -> list[str]:
    """What lies on the disk after the program has run for this ``launch.json``; ``then``: shell code at the disk."""
    (folder / "launch.json").write_text(json.dumps({"groups": [], **launch}))
    program = f"{sys.executable} -I -S {subvolumes.__file__} {folder}"
    at = f"{folder}/disk"
    script = f"mount -o loop {folder}/disk.img {at} && {program} >/dev/null && cd {at} && {{ {then or ':'}; }} && ls"
    words = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", script]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_copies_are_made_in_their_order_and_the_rest_goes(disk: Path) -> None:
    assert arranged(disk, "echo one > live.1/file") == ["live.1"]
    kept = {"first": ["kept.2"]}
    # A snapshot and a way back to it, both of a server that did not run meanwhile.
    sources = {"kept.2": "live.1", "live.3": "kept.2"}
    assert arranged(disk, "cat live.3/file", live="live.3", snapshots=kept, sources=sources) == [
        "one",
        "kept.2",
        "live.3",
    ]
    assert arranged(disk, live="live.3", snapshots=kept, sources=sources) == ["kept.2", "live.3"]
    changed = arranged(disk, "echo two > live.3/file; ! touch kept.2/new 2>/dev/null", live="live.3", snapshots=kept)
    assert changed == ["kept.2", "live.3"], "what is kept cannot be written to"
    back = {"live.4": "kept.2"}
    assert arranged(disk, "cat live.4/file", live="live.4", snapshots=kept, sources=back) == ["one", "kept.2", "live.4"]
    assert arranged(disk, live="live.4") == ["live.4"]


def test_the_supervisor_knows_the_names(disk: Path) -> None:
    """It imports nothing of ours, so they stand there again."""
    assert f'"{subvolumes.FIRST}"' in Path(supervisor.__file__).read_text()
    assert subvolumes.FIRST.startswith(subvolumes.LIVE) and supervisor._work("live.1/upper") == "live.1/work"
