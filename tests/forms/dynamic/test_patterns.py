from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vetro.forms.dynamic.patterns import TooMuchToCheck, pattern_context, read_pattern


@pytest.mark.parametrize(
    ("written", "text", "holds"),
    [
        ("[0-9]", "abc1", True),
        ("^[a-z]+$", "abc1", False),
        ("/^abc$/i", "ABC", True),
        ("/^abc$/", "ABC", False),
        ("/^abc$/iqz", "ABC", True),
        ("/a.c/s", "a\nc", True),
        ("/^b$/m", "a\nb", True),
        ("/a c/x", "ac", True),
        ("/etc", "/etc/x", True),
        ("^(?=.*\\d)", "x1", True),
        ("(a)(b)?\\1", "aa", True),
    ],
)
def test_searched(written: str, text: str, holds: bool) -> None:
    assert read_pattern(written).found_in(text, pattern_context()) is holds


def test_begins() -> None:
    pattern = read_pattern("a|ph")
    assert pattern.begins("alpha", pattern_context())
    assert pattern.begins("phone", pattern_context())
    assert not pattern.begins("xalpha", pattern_context())


@pytest.mark.parametrize("written", ["(a", "[", "*", "(?P<1>x)", "a{2,1}"])
def test_no_pattern(written: str) -> None:
    with pytest.raises(ValueError):
        read_pattern(written)


def test_flags_are_part_of_the_text() -> None:
    assert read_pattern("/a/mi").text == "(?im)a"
    assert read_pattern("a").text == "a"


@pytest.mark.parametrize("text", ["a" * 60 + "b", "a" * 800_000 + "b"])
def test_bombs_do_not_hang(text: str) -> None:
    began = time.process_time()
    assert read_pattern("^(a+)+$").found_in(text, pattern_context()) is False
    with pytest.raises(TooMuchToCheck):
        read_pattern("^(?=(a+)+$)b").found_in(text, pattern_context())
    assert time.process_time() - began < 20


@given(st.text("ab1. -", max_size=12))
def test_as_python_finds(text: str) -> None:
    for written in (r"^[-\w]+$", r"\d", r"a.b", r"(?:ab)+", r"^\s|b$"):
        assert read_pattern(written).found_in(text, pattern_context()) == (re.search(written, text) is not None)
