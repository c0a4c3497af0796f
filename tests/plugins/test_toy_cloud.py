"""A kind of clouds of a stranger: its wheel is installed beside Vetro, and it passes what every driver has to pass."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.plugins.conftest import ROOT, Run


def test_the_toy_passes_the_tests_of_drivers(own: Callable[[str], Path], run: Run, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "plugins/vetro-toy/tests", tmp_path / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "made"), "tests")
    done = run(*words, see=[own("vetro-toy")])
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None and int(passed[1]) == 13 and "skipped" not in done.stdout, done.stdout


def test_its_name_is_known_only_where_it_is_installed(own: Callable[[str], Path], run: Run) -> None:
    ask = ("-c", "from vetro.clouds import kinds; print('toy' in kinds.names(), kinds.names())")
    assert run(*ask, see=[own("vetro-toy")]).stdout.startswith("True")
    assert run(*ask).stdout.startswith("False")
