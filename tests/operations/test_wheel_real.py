"""The wheel in an empty Debian, from `pip install` to the first application that answers: `script/try-wheel`.

How long it takes is printed, and said for people in docs/measurements.md: no time is asserted, for the machine of tests
does other things beside.
"""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from tests.plugins.conftest import ROOT
from tests.support.needs import need
from tests.support.servers import real_servers

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(3600)]


@pytest.mark.parametrize("who", ["person", "root", "servers"])
def test_a_wheel_in_an_empty_debian_comes_to_a_first_application(who: str) -> None:
    need(None if os.geteuid() == 0 else "root, which makes containers")
    for program, package in (("mmdebstrap", "mmdebstrap"), ("systemd-nspawn", "systemd-container")):
        need(None if shutil.which(program) else f"{program} (Debian's package {package})")
    environment = dict(os.environ)
    if who == "servers":
        environment["VETRO_IMAGES"] = str(real_servers().folder)
    done = subprocess.run(
        ["sh", str(ROOT / "script/try-wheel"), who],
        env=environment, capture_output=True, text=True, timeout=3500, check=False,
    )  # fmt: skip
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    if who == "servers":
        assert "first application answers at http://" in done.stdout
    else:
        assert "first application is deployed (simulated)" in done.stdout
    assert "ENG305" not in done.stdout + done.stderr and "PermissionError" not in done.stdout + done.stderr
