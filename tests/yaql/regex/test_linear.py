"""Patterns that run on Python's ``re``: the proof accepts only what takes linear time."""

from __future__ import annotations

import random
import re
import time

import pytest

from tests.support.fuzzing import examples
from tests.yaql.library.agreement import value
from vetro.yaql import CodeContext, named_dialect
from vetro.yaql.context import Execution, Limits
from vetro.yaql.errors import MemoryQuotaExceeded, StepsExceeded
from vetro.yaql.regex.linear import MAX_EFFORT, effort
from vetro.yaql.regex.parser import Flags, parse
from vetro.yaql.regex.pattern import Regex

SAFE = (
    "", "abc", "[0-9]+", r"9\.", r"\s+", ".*", "foo|bar|baz", "(a|b)c", "a?b?c?", "[a-z]{1,20}x", r"^\d+$", r"^\s*$",
    r"^[0-9]+\.[0-9]+\.[0-9]+$", "^a*b*c$", r"^v(\d+)\.(\d+)$", r"^[a-z][a-z0-9-]*$", r"^\w+@\w+\.[a-z]+$", "x[^y]*",
    r"\b[ab]", "(?i)ab+", "(?m)^ab+",
)  # fmt: skip
UNSAFE = (
    "[0-9]+x", "a*b", "(a|b)*", "(a*)*", "(a+)+$", "^a*a*$", "^a*[ab]$", "^a*b?a*$", "^.*x.*y$", "^(a|ab)*c", "a*?",
    r"^\d*\w$", "(a?){40}", "(a|a){20}b", r"(a)\1", "(?=a)b", "(?<=a)b", "^[^b]*b$", "a{1,300}",
    "[a-z]{1,50}[a-z]{1,50}x", r"(?m)^a+$", r"\s+$",
)  # fmt: skip


@pytest.mark.parametrize("pattern", SAFE)
def test_simple_patterns_run_on_re(pattern: str) -> None:
    found = effort(parse(pattern, Flags()).tree)
    assert found is not None
    assert found <= MAX_EFFORT
    assert Regex(pattern, Flags()).takes_host("text")


@pytest.mark.parametrize("pattern", UNSAFE)
def test_other_patterns_do_not(pattern: str) -> None:
    assert effort(parse(pattern, Flags()).tree) is None
    assert not Regex(pattern, Flags()).takes_host("text")


@pytest.mark.parametrize("pattern", ["[[a]", "[a&&b]", "[a||b]", "[a~~b]", "[^[a]"])
def test_sets_that_re_warns_of_run_elsewhere(pattern: str) -> None:
    assert not Regex(pattern, Flags()).takes_host("a")


_ATOMS = ("a", "b", "[ab]", "[^a]", ".", r"\d", r"\w", "(a|ab)", "(a|b|ab)", "(?:ab?)", "[bc]", "c", "^", "$", r"\b")
_REPEATS = ("", "", "", "?", "*", "+", "{2}", "{0,3}", "{2,}", "*?", "{1,9}")


def _patterns() -> list[str]:
    chance = random.Random(20)
    made = []
    for _ in range(3000):
        parts = [chance.choice(_ATOMS) for _ in range(chance.randint(1, 5))]
        text = "".join(part if part in "^$" or part == r"\b" else part + chance.choice(_REPEATS) for part in parts)
        made.append(chance.choice(("", "", "^")) + text + chance.choice(("", "$")))
    return [pattern for pattern in dict.fromkeys(made) if _accepted(pattern)]


def _accepted(pattern: str) -> bool:
    try:
        return effort(parse(pattern, Flags()).tree) is not None
    except ValueError:
        return False


def _fastest(regex: re.Pattern[str], text: str) -> float:
    def once() -> float:
        before = time.process_time()
        for _ in regex.finditer(text):
            pass
        return time.process_time() - before

    return min(once(), once(), once())


#: Generous: quadratic time would be a hundred times more than this at the longer length.
_PER_STEP = 100e-9
_LENGTH = 8000


def test_time_is_linear_for_everything_accepted() -> None:
    patterns = _patterns()
    assert len(patterns) > 300
    chance = random.Random(21)
    texts = ["a" * _LENGTH, "b" * _LENGTH, "ab" * (_LENGTH // 2), "a" * (_LENGTH - 1) + "!", "a" * 4000 + "b" * 4000]
    texts += ["".join(chance.choice("abc1\n") for _ in range(_LENGTH)), "1" * _LENGTH, "a" * (_LENGTH - 1) + "\n"]
    for pattern in chance.sample(patterns, examples(150)):
        steps = effort(parse(pattern, Flags()).tree)
        assert steps is not None
        regex = re.compile(pattern)
        for text in texts:
            # finditer makes an object for each match besides.
            allowed = _LENGTH * (steps * _PER_STEP + 2e-6)
            taken = _fastest(regex, text)
            assert taken < allowed, (pattern, text[:3], text[-3:], steps, taken)


def test_the_order_of_growth_is_that_of_the_text() -> None:
    for pattern in ("^a*b*c*d$", "[a-z]{1,40}x", "(aa|ab|a)c", "a{3,}", "^a+$"):
        regex = re.compile(pattern)
        assert effort(parse(pattern, Flags()).tree) is not None
        short, long = _fastest(regex, "a" * 20_000), _fastest(regex, "a" * 80_000)
        assert long < 10 * short + 1e-3, (pattern, short, long)


def test_long_texts_are_for_the_other_engines() -> None:
    regex = Regex("[a-z]{1,40}x", Flags())
    assert regex.takes_host("a" * 1000)
    assert not regex.takes_host("a" * 1_000_000)


def test_work_is_paid_for() -> None:
    rt = Execution(Limits(max_steps=5))
    cx = CodeContext(rt=rt, dialect=named_dialect("standard"))
    assert Regex("[0-9]+", Flags()).found_in(cx, "digit 1")
    assert rt.steps == 5
    with pytest.raises(StepsExceeded):
        Regex("[0-9]+", Flags()).found_in(cx, "x" * 100_000)


def test_replacing_is_the_same_with_every_engine() -> None:
    assert value("regex('[0-9]+').replace('a12b3', 'N')") == "aNbN"
    assert value("regex('[0-9]+').replace('a12b3', 'N', 1)") == "aNb3"
    assert value("regex('[0-9]+').replace('a12b3', 'N', -1)") == "a12b3"
    assert value("regex('[0-9]*').replace('a12b3', '-')") == re.sub("[0-9]*", "-", "a12b3")
    assert value("regex('([0-9])').replace('a1', '<' + '\\\\1' + '>')") == "a<1>"
    assert value("regex('a').replace('aaa', '')") == ""


def test_replacing_is_bounded_in_memory() -> None:
    rt = Execution(Limits(max_expression_memory=1000))
    cx = CodeContext(rt=rt, dialect=named_dialect("standard"))
    from vetro.yaql.library.regexes import replace

    with pytest.raises(MemoryQuotaExceeded):
        replace(cx, Regex("a", Flags()), "a" * 100, "b" * 50)
