from __future__ import annotations

import pytest

from vetro.yaql.errors import ParsingError
from vetro.yaql.parser import MURANO, parse
from vetro.yaql.syntax_hints import hint_for

SLIPS = {
    "a == b": "a = b",
    "a <> b": "a != b",
    "2 ** 3": "pow(a, b)",
    "a && b": "`and`",
    "a || b": "`or`",
    "!a": "`not a`",
    "a % b": "a mod b",
    "1 # one": "no comments",
    "1 // one": "no comments",
    "'abc": "never closed",
    "0x10": "decimal",
    "1e3": "no exponent",
    "1_000": "no underscores",
    "12a": "cannot begin with a digit",
    "1 + .5": "0.5",
    "__x": "two underscores",
    "a ? b": "switch(",
    "{a: 1}": "key => value",
    "a; b": "one expression",
    "f(1,)": "no comma",
    "f(1, )": "no comma",
    "()": "[]",
    "foo (1)": "no blank",
    "$.a{1}": "square brackets",
    "{a => b => c}": "cannot be nested",
    "a and(b)": "put a blank between `and`",
    "$.in": "`in` is an operator",
}


@pytest.mark.parametrize("text", SLIPS)
def test_usual_slips(text: str) -> None:
    with pytest.raises(ParsingError) as caught:
        parse(text)
    assert caught.value.hint is not None and SLIPS[text] in caught.value.hint


@pytest.mark.parametrize("text", ["1 2", "f(1", "$ $", "f(a => 1, 2)"])
def test_no_hint_where_nothing_is_recognised(text: str) -> None:
    with pytest.raises(ParsingError) as caught:
        parse(text)
    assert caught.value.hint is None


def test_murano_word() -> None:
    with pytest.raises(ParsingError) as caught:
        parse("$.is", MURANO)
    assert caught.value.hint == "`is` is an operator: as a text it needs quotes"


def test_a_long_text_costs_nothing() -> None:
    text = "a " * 400_000 + "("
    assert hint_for(text, len(text) - 1) == "a call has no blank between the name and the bracket"
