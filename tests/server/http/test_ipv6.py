"""The service where there is IPv6 and nothing else: a network namespace with local addresses of two lines."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.http.ipv6_program import INNER
from tests.support.needs import need

ROOT = Path(__file__).parents[3]


@pytest.mark.campaign
@pytest.mark.attack("pages", "IPv6")
@pytest.mark.timeout(600)
def test_a_service_on_ipv6(tmp_path: Path) -> None:
    lacking = [tool for tool in ("ip", "unshare") if shutil.which(tool) is None]
    need("a network namespace needs root" if os.geteuid() else ", ".join(lacking) or None)
    command = ["unshare", "--net", sys.executable, "-m", "tests.server.http.ipv6_program", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=550)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["url"] == "http://[::1]:PORT"
    assert found["client"][:3] == [0, 0, True], found["client"][3]
    assert found["elsewhere"] == "refused"  # it listens where it was told to
    assert found["imports"] == {host: [403, "SRV530"] for host in INNER}
    assert found["asked"] == []
    assert found["all"] == [200] * 4
    assert found["names"] == [200, 200, 421, 421]
    assert found["made"] == 201
    # Addresses of one line are one guesser; another line is another one.
    assert found["guessing"][0] == 401 and 429 in found["guessing"][1:], found
    assert (found["other"], found["right"]) == (401, 200), found
