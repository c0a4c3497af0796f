"""Sets of texts: what is inside of what, against the engine's own regular expressions."""

from __future__ import annotations

import random
import re

import pytest

from vetro.packages.compat.languages import (
    Automaton,
    Lengths,
    Unsupported,
    beginning_with,
    found_by,
    samples,
    text_outside,
)


@pytest.mark.parametrize(
    ("known", "wanted"),
    [
        ("^[a-z]+$", "^[a-z]*$"),
        ("abc", "b"),
        ("^a$|^b$", "^[abc]$"),
        ("^(ab)+$", "^[ab]+$"),
        (r"^\d+$", r"^\w+$"),
        ("^a{2,4}$", "^a{1,5}$"),
        (r"^[a-z]\Z", "^[a-z]$"),
        (r"(?i)^abc$", "^[A-Ca-c]{3}$"),
    ],
)
def test_one_is_inside_of_the_other_and_not_the_reverse(known: str, wanted: str) -> None:
    assert text_outside([found_by(known)], Lengths(), found_by(wanted)) is None
    text = text_outside([found_by(wanted)], Lengths(), found_by(known))
    assert text is not None
    assert re.search(wanted, text) and not re.search(known, text)


def test_lengths_and_several_conditions_count_together() -> None:
    short = found_by(r"^[a-z]+\Z")
    assert text_outside([short], Lengths(1, 20), found_by("^[a-z]{1,20}$")) is None
    assert text_outside([short], Lengths(), found_by("^[a-z]{1,20}$")) == "a" * 21
    assert text_outside([short, found_by("x")], Lengths(0, 1), found_by("^x$")) is None
    assert text_outside([found_by("^[a-z]{1,19}$")], Lengths(), Lengths(1, 19)) == "a" * 19 + "\n"
    assert (
        text_outside([beginning_with("ab"), beginning_with("c", at_end=True)], Lengths(), found_by("^ab.*c$|\n"))
        is None
    )
    assert text_outside([], Lengths(2, 3), Lengths(0, 2)) is not None


@pytest.mark.parametrize("pattern", ["a(?=b)", r"(a)\1", "(?>a)b", "a++b", r"\bword\b", "(a{200}){200}", "a^b"])
def test_what_no_automaton_describes_is_said(pattern: str) -> None:
    with pytest.raises(Unsupported):
        found_by(pattern)


def test_what_takes_too_long_is_said() -> None:
    with pytest.raises(Unsupported):
        text_outside([found_by("(a|b)*a(a|b){14}")], Lengths(), found_by("(a|b)*b(a|b){14}c"))


@pytest.mark.parametrize("pattern", ["^[a-z]{2,5}-[0-9]+$", "(foo|ba+r)[^x]", r"^\d{1,3}(\.\d{1,3}){3}$"])
def test_samples_are_found(pattern: str) -> None:
    machine: Automaton = found_by(pattern)
    texts = samples(machine, 10, random.Random(1))
    assert len(texts) >= 5
    assert all(re.search(pattern, text) for text in texts)
