"""Servers without root pass what every driver has to pass, as the user 'nobody' when the tests run as root."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.clouds.proot.test_servers import home
from tests.support.needs import need
from tests.support.nobody import NOBODY, as_nobody
from tests.support.servers import image_store
from vetro.clouds.drivers.conformance.core import Core
from vetro.clouds.drivers.tools import which
from vetro.clouds.images.build import import_archive
from vetro.clouds.images.store import ImageStore

__all__ = ["home"]
pytestmark = pytest.mark.campaign  # each test has a cloud of its own


@pytest.mark.timeout(1700)  # each server is a copy of the image, and so is each snapshot
def test_proot_passes_the_tests_of_drivers(home: Path) -> None:
    need("proot is not installed" if which("proot") is None else None)
    import_archive(ImageStore(home / "images"), image_store().get("debian-12").tar, "debian-12")
    (home / "tmp").mkdir()
    if os.geteuid() == 0:
        shutil.chown(home / "tmp", NOBODY, NOBODY)
        subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(home / "images")], check=True)
    places = {"HOME": str(home), "TMPDIR": str(home / "tmp"), "VETRO_IMAGES": str(home / "images")}
    done = as_nobody("unittest", ["-v", "tests.support.proot_conformance"], 1680, **places)
    assert done.returncode == 0, done.stderr[-5000:]
    ended = dict(re.findall(r"^(test_\w+) \(.*?\.\.\. (ok|skipped)", done.stderr, re.MULTILINE | re.DOTALL))
    assert {ended[name] for name in dir(Core) if name.startswith("test_")} == {"ok"}, done.stderr
    assert not list((home / "tmp").iterdir())
