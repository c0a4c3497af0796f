"""What `python -m tests.hostile` counts: an attack that was not tried is none that was withstood."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile.areas import AREAS
from tests.hostile.counting import TESTS, files

RUN = """
import sys, pytest
from tests.hostile.__main__ import show_results
from tests.hostile.counting import Counting
counting = Counting(sys.argv[2:])
status = pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", sys.argv[1], sys.argv[1]], plugins=[counting])
sys.exit(9 if status == pytest.ExitCode.USAGE_ERROR else show_results(counting))
"""

ATTACKS = """
import pytest

@pytest.fixture
def broken():
    yield
    raise ValueError("left something behind")

@pytest.mark.attack("data", "held")
@pytest.mark.parametrize("n", [1, 2])
def test_held(n):
    pass

@pytest.mark.attack("data", "lost")
def test_lost():
    raise AssertionError

@pytest.mark.attack("data", "lost later")
def test_lost_later(broken):
    pass

@pytest.mark.attack("pages", "not tried")
def test_not_tried():
    pytest.skip("no browser")

def test_ordinary():
    raise AssertionError
"""


def run(folder: Path, text: str, *areas: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_some.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = attack\n")
    command = [sys.executable, "-c", RUN, str(folder), *areas]
    return subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True, timeout=100)


@pytest.mark.campaign
def test_it_counts_by_area(tmp_path: Path) -> None:
    done = run(tmp_path, ATTACKS)
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["data", "4", "2", "2", "0"] in rows, done.stdout + done.stderr
    assert ["pages", "1", "0", "0", "1"] in rows
    assert done.stdout.splitlines()[-1] == "2 passed, 2 failed"
    assert done.returncode == 1


@pytest.mark.campaign
def test_an_area_alone_of_which_nothing_could_be_tried_is_no_success(tmp_path: Path) -> None:
    done = run(tmp_path, ATTACKS, "pages")
    assert done.stdout.splitlines()[-1] == "0 passed, 0 failed"
    assert done.returncode == 2


@pytest.mark.campaign
def test_a_file_that_cannot_be_read_has_failed(tmp_path: Path) -> None:
    done = run(tmp_path, "import pytest\nraise ValueError\n")
    assert done.stdout.splitlines()[-1] == "0 passed, 1 failed"
    assert done.returncode == 1


@pytest.mark.campaign
def test_areas_have_to_exist(tmp_path: Path) -> None:
    done = run(tmp_path, ATTACKS.replace('"pages"', '"windows"'))
    assert done.returncode == 9
    assert "there is no area 'windows'" in done.stdout + done.stderr


def test_marks_name_areas_that_exist() -> None:
    """One that does not ends `python -m tests.hostile`, which few run."""
    found = {}
    for path in map(Path, files()):
        if path != Path(__file__):
            for area in re.findall(r'mark\.attack\(\s*"([^"]*)"', path.read_text()):
                found.setdefault(area, path.name)
    assert len(found) > 10
    assert not {area: path for area, path in found.items() if area not in AREAS}
