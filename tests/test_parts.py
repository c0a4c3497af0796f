"""Parts of all tests: together they are all, and no file is in two."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import of_other_parts

ITEMS: list[Any] = [SimpleNamespace(path=Path(f"test_{file}.py"), n=n) for n in range(3) for file in "cabdg"]


def part(number: int, parts: int, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setenv("VETRO_TEST_PART", f"{number}/{parts}")
    others = of_other_parts(ITEMS)
    return [item for item in ITEMS if item not in others]


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_together_they_are_all(parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [part(number, parts, monkeypatch) for number in range(1, parts + 1)]
    assert sorted((item.path, item.n) for one in made for item in one) == sorted((item.path, item.n) for item in ITEMS)
    for file in {item.path for item in ITEMS}:
        assert sum(any(item.path == file for item in one) for one in made) == 1


@pytest.mark.parametrize("named", ["", "2", "0/3", "4/3", "a/b", "1/2/3", "-1/3"])
def test_what_is_no_part_is_refused(named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VETRO_TEST_PART", named)
    with pytest.raises(pytest.UsageError, match="2/6"):
        of_other_parts(ITEMS)


def test_a_run_takes_its_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VETRO_TEST_PART", "1/1000")
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests/test_visible.py", "tests/test_parts.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    assert done.returncode == 0 and "tests/test_parts.py" in done.stdout and "test_visible" not in done.stdout, done
