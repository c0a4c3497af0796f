"""What `tests.support.compile_tests` writes is what pytest reads."""

from __future__ import annotations

import os
from pathlib import Path

from _pytest.assertion.rewrite import _read_pyc

from tests.support.compile_tests import compile_file, compiled_by_pytest


def test_pytest_takes_what_was_compiled_while_the_file_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "test_one.py"
    path.write_text("def test_one() -> None:\n    assert 1 + 1 == 2\n")
    compile_file(path)
    code = _read_pyc(path, compiled_by_pytest(path))
    assert code is not None and "@pytest_ar" in code.co_names, "assertions are pytest's"
    path.write_text("def test_two() -> None:\n    assert 2 + 2 == 4\n")
    os.utime(path, (1, 1))
    assert _read_pyc(path, compiled_by_pytest(path)) is None
    compile_file(path)
    code = _read_pyc(path, compiled_by_pytest(path))
    assert code is not None and "test_two" in code.co_names
    assert [each.name for each in (tmp_path / "__pycache__").iterdir()] == [compiled_by_pytest(path).name]


def test_what_is_no_python_is_left_to_pytest(tmp_path: Path) -> None:
    path = tmp_path / "conftest.py"
    path.write_text("def (\n")
    compile_file(path)
    assert not compiled_by_pytest(path).exists()


def test_modules_that_are_imported_are_compiled_as_python_does(tmp_path: Path) -> None:
    path = tmp_path / "kit.py"
    path.write_text("one = 1\n")
    compile_file(path)
    assert [each.name.partition(".")[0] for each in (tmp_path / "__pycache__").iterdir()] == ["kit"]
