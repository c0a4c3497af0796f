from __future__ import annotations

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vetro.packages.paths import inner_path


@pytest.mark.parametrize(("path", "clean"), [("a/./b//c", "a/b/c"), ("a b/ü.txt", "a b/ü.txt"), ("..a/b..", "..a/b..")])
def test_paths_are_cleaned(path: str, clean: str) -> None:
    assert inner_path(path) == clean


@pytest.mark.attack("uploads", "paths")
@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", "empty"),
        (".", "empty"),
        ("/etc/passwd", "absolute"),
        ("C:/x", "absolute"),
        ("..", "leads out"),
        ("a/../../b", "leads out"),
        ("a\\..\\b", "backslash"),
        ("a\x00b", "control"),
        ("a\nb", "control"),
        ("a" * 2000, "longer"),
    ],
)
def test_paths_that_leave_are_refused(path: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        inner_path(path)


@pytest.mark.attack("uploads", "paths")
@given(st.text(alphabet="ab./\\:", max_size=12))
def test_clean_paths_stay_inside(path: str) -> None:
    try:
        clean = inner_path(path)
    except ValueError:
        return
    assert posixpath.normpath(posixpath.join("/root", clean)) == f"/root/{clean}"
    assert inner_path(clean) == clean
