"""Passwords made by the rules of a field."""

from __future__ import annotations

import re
import time
from itertools import islice

import pytest

from vetro.forms.model import Field
from vetro.forms.password_generator import can_be_made, candidates
from vetro.forms.validation import evaluate
from vetro.forms.vocabulary import checks_of, patterns_of


def secret(*patterns: str, **limits: int) -> Field:
    constraints = {**limits, **patterns_of((one, "") for one in patterns)}
    return Field("pin", "string", "Pin", secret=True, constraints=constraints)


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        (secret(), r"[A-Za-z][A-Za-z0-9\-_.+,:%@]{19}"),
        (secret(minLength=30), r".{30}"),
        (secret(maxLength=8), r".{8}"),
        (secret(r"^[a-z0-9]+$"), r"[a-z][a-z0-9]{19}"),
        (secret(r"^\d{4}$"), r"\d{4}"),
        (secret(r"^[0-9A-F]{32}$"), r"[0-9A-F]{32}"),
        (secret(r"[A-Z]", r"\d", r"^[^%@:]*$", minLength=12), r".{12,}"),
        (secret(r"^.*(?=.*\d)(?=.*[a-z])(?=.*[A-Z])(?=.*[!@#$%^&*()_+|\/.,~?><:{}-]).*$"), r".{20}"),
    ],
)
def test_they_meet_the_rules_and_are_never_the_same(field: Field, expected: str) -> None:
    made = [next(candidates(field)) for _ in range(20)]
    assert all(re.fullmatch(expected, text) and not list(evaluate(checks_of(field), text)) for text in made)
    assert len(set(made)) > 15
    strong = [next(candidates(secret())) for _ in range(20)]
    assert all(any(map(str.isdigit, t)) and any(map(str.isupper, t)) and any(map(str.islower, t)) for t in strong)


def test_rules_that_no_random_text_meets_end_soon() -> None:
    assert list(islice(candidates(secret("^only this$")), 1)) == []
    assert list(candidates(secret(minLength=3, maxLength=2))) == []


def test_a_pattern_that_takes_as_long_as_it_may_ends_soon() -> None:
    before = time.thread_time()
    assert list(candidates(secret(r"^(a*)*(b*)*(\w*)*\W{70}$"))) == []
    assert time.thread_time() - before < 10


def test_only_a_secret_text_can_be_made() -> None:
    assert can_be_made(secret())
    assert not can_be_made(Field("a", "string", "A")) and not can_be_made(Field("a", "map", "A", secret=True))
    assert not can_be_made(Field("a", "string", "A", secret=True, read_only=True))
