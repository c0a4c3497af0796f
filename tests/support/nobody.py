"""Programs of tests that run as an ordinary user when the tests run as root."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.needs import need

NOBODY = 65534
ROOT = Path(__file__).parents[2]


def as_nobody(module: str, words: Sequence[str], timeout: float, **environ: str) -> subprocess.CompletedProcess[str]:
    """A module that was run as an ordinary user, in the root of this repository. Skips where nothing can run it so."""
    environment = {**os.environ, **environ, "PYTHONDONTWRITEBYTECODE": "1"}
    become: list[str] = []
    python = sys.executable
    if os.geteuid() == 0:
        become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        # It has to start others of its kind, too.
        again = "import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', '']))"
        if subprocess.run([*become, python, "-c", again], capture_output=True).returncode:
            python, more = _elsewhere(become)
            environment |= more
    command = [*become, python, "-m", module, *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout, env=environment)


def _elsewhere(become: Sequence[str]) -> tuple[str, Mapping[str, str]]:
    """The machine's own Python, of the same version, with the packages of this one: ours may be in a folder of root."""
    found = shutil.which("python3", path="/usr/bin:/bin")
    show = "import sys; print(*sys.version_info[:2])"
    same = found and subprocess.run([*become, found, "-c", show], capture_output=True, text=True).stdout.split()
    if not found or same != [str(part) for part in sys.version_info[:2]]:
        need("a Python that an ordinary user may run")
    paths = [str(ROOT / "src"), str(ROOT), sysconfig.get_path("purelib")]
    return str(found), {"PYTHONPATH": os.pathsep.join(paths)}
