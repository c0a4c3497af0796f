"""Builds of images that nobody waits for: one at a time, what they say, how they end."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.support.image_tool import SMALL, becomes, image_tool
from vetro.clouds.drivers.errors import ImageBusy, ImageMissing
from vetro.clouds.images.building import LINES, Build, Builds
from vetro.clouds.images.store import ImageStore

PATIENCE = 60.0


def ended(builds: Builds) -> Build:
    end = time.monotonic() + PATIENCE
    while (found := builds.last_build()) is not None and found.state == "running":
        assert time.monotonic() < end, found
        time.sleep(0.05)
    assert found is not None
    return found


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What takes the place of mmdebstrap: processes of builds find it, as they find any program."""
    return image_tool(tmp_path / "bin", monkeypatch)


def test_it_says_what_it_does_and_why_it_failed(tmp_path: Path, tool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VETRO_DATABASE__URL", "postgresql://vetro:hunter2@db/vetro")
    becomes(
        tool,
        "#!/bin/sh\necho 'I: running apt-get update...'\nfor n in $(seq 300); do echo line $n; done\n"
        "env | grep -c VETRO\nprintf 'E: \\033[31mno mirror\\n'\nexit 7\n",
    )
    builds = Builds(ImageStore(tmp_path / "images"))
    assert builds.last_build() is None
    builds.begin_build("debian-12")
    found = ended(builds)
    assert found.state == "failed" and "ended with status 7" in found.error and "no mirror" in found.error
    assert found.hint is not None and "mirror" in found.hint and found.ended is not None
    assert found.step == "running apt-get update" and len(found.log) == LINES
    assert found.log[-2:] == ["0", "E: \\x1b[31mno mirror"], "no setting of the service, nothing that moves a cursor"
    assert ImageStore(tmp_path / "images").list() == []
    with pytest.raises(ImageMissing):
        builds.begin_build("../../etc")


def test_one_is_built_at_a_time_and_a_killed_one_is_told(tmp_path: Path, tool: Path) -> None:
    becomes(tool, f"#!/bin/sh\necho $PPID > {tmp_path}/pid.new; mv {tmp_path}/pid.new {tmp_path}/pid; sleep 4007\n")
    builds = Builds(ImageStore(tmp_path / "images"))
    builds.begin_build("debian-12")
    with pytest.raises(ImageBusy):
        Builds(ImageStore(tmp_path / "images")).begin_build("debian-12")
    end = time.monotonic() + PATIENCE
    while not (tmp_path / "pid").exists():
        assert time.monotonic() < end
        time.sleep(0.05)
    running = builds.last_build()
    assert running is not None and running.state == "running"
    (pid,) = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit() and _builds(path, tmp_path)]
    os.kill(pid, 9)
    found = ended(builds)
    assert found.state == "failed" and "before it was done" in found.error
    becomes(tool, SMALL)
    builds.begin_build("debian-12")
    assert ended(builds).state == "done"
    assert [image.name for image in ImageStore(tmp_path / "images").list()] == ["debian-12"]


def _builds(process: Path, folder: Path) -> bool:
    try:
        words = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"vetro.clouds.images.building" in words and str(folder / "images").encode() in words
