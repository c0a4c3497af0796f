"""Updates with a way back on servers without root: what fails is taken back, to the file; services start again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.clouds.proot.test_servers import home
from tests.support.needs import need
from tests.support.nobody import NOBODY, as_nobody
from tests.support.servers import image_store
from vetro.clouds.drivers.tools import which
from vetro.clouds.images.build import import_archive
from vetro.clouds.images.store import ImageStore

__all__ = ["home"]
pytestmark = pytest.mark.campaign


@pytest.mark.timeout(1700)  # each server is a copy of the image, and so is each snapshot
def test_an_update_that_fails_is_taken_back(home: Path) -> None:
    """By the command, in a workspace. A copy stops the server: the agent, a service of it, has to come up again."""
    need("proot is not installed" if which("proot") is None else None)
    import_archive(ImageStore(home / "images"), image_store().get("debian-12").tar, "debian-12")
    (home / "tmp").mkdir()
    if os.geteuid() == 0:
        shutil.chown(home / "tmp", NOBODY, NOBODY)
        subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(home / "images")], check=True)
    places = {"HOME": str(home), "TMPDIR": str(home / "tmp"), "VETRO_IMAGES": str(home / "images")}
    done = as_nobody("tests.support.proot_update", [str(home)], 1680, **places)
    assert done.returncode == 0, done.stderr[-5000:]
    seen = json.loads(done.stdout)
    assert seen["deployed"][0] == 0, seen["deployed"][1]
    status, said = seen["bad"]
    assert status == 1 and "the shop does not open" in said and "state 3 is state 1 again" in said, said
    assert seen["same"] == {"servers": True, "files": True, "model": True, "lock": True}
    assert seen["history"] == ["deploy", "deploy", "undo"] and seen["update"] is None
    assert seen["good"][0] == 0 and seen["visitors"] == ["small", "large"], seen
    assert seen["destroyed"][0] == 0, seen["destroyed"][1]
    assert str(home) not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
