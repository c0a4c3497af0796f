r"""Python's regular expressions in ECMAScript's words, run by the engine that JSON Schema validation uses."""

from __future__ import annotations

import re

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.fuzzing import examples
from vetro.forms.regexes import found, to_ecmascript

PATTERNS = [
    "", "a", "^a$", "^$", r"\Aa\Z", "a.c", "(?s)a.c", "[a-c]+", "[^a-c]", r"[\d_]", r"\D", r"[^\d]", r"\w+-\w", r"^\W$",
    r"\s", r"^\S+$", r"[^\s,]", r"\bend\b", r"\Bn", "(?m)^b$", "(?i)straße|É", "(a|b)c", "(?:a|)c", "a{2}", "a{2,}b",
    "a{0,2}$", "a??b", "(?=a)\\w", "(?!a)\\w", "(?<=a)b", "(?<!a)b", r"\.\*\-/", "[-/\\]^]", "\\x41|\\u00e9", "😀",
    "(?P<name>x)y", "(?a:\\w)é", "}{", "(?x) a  b # c", r"^(\d{1,3}\.){3}\d{1,3}$", "(a+)+$", "é{2}",
    r"^[a-z]+\Z", r"^(?![a-z_]*_(a|b)\Z)[a-z][a-z_]{0,4}\Z", r"a\s*\Z",
    r"[\Wa]", r"^[^\W_]+$", r"[^\W\d]{2}", r"[\W\d]*x",
]  # fmt: skip
TEXTS = st.one_of(
    st.text(alphabet="abcxyzAn -_.,/\n\tdeé\u0661²😀Éß0123&~][", max_size=6),
    st.sampled_from(["the end", "a\n", "\n", "10.0.0.1", "aaab", "STRASSE", "A1", "", "x\ny", "ab\n\n"]),
)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_known_patterns_have_a_translation(pattern: str) -> None:
    assert to_ecmascript(pattern) is not None


@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from(PATTERNS), TEXTS)
def test_the_translation_finds_what_python_finds(pattern: str, text: str) -> None:
    translated = to_ecmascript(pattern)
    expected = re.search(pattern, text) is not None
    assert found(pattern, text) == expected
    assert jsonschema_rs.Draft202012Validator({"pattern": translated}).is_valid(text) == expected, translated


@pytest.mark.parametrize("pattern", [r"(a)\1", "(?>a)b", "a++", "(a)?(?(1)b|c)", "[", "(", "a{2", "x" * 30_000])
def test_what_has_no_translation_is_for_the_server(pattern: str) -> None:
    if pattern == "a{2":
        assert to_ecmascript(pattern) == r"a\{2"  # Python takes it for text
    else:
        assert to_ecmascript(pattern) is None


def test_patterns_that_are_none_are_not_found() -> None:
    assert not found("[", "[")


def test_a_pattern_that_never_ends_is_not_found() -> None:
    assert not found(r"(?=(a+)+$)x?(a|aa)+\1$(?<!b)c", "a" * 4000)
