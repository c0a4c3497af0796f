from __future__ import annotations

import time

import pytest
from hypothesis import given, settings

from tests.support.fuzzing import examples
from tests.yaql.parsing_oracle import assert_same
from tests.yaql.strategies import garbage, quoted_texts
from vetro.yaql.errors import LexicalError
from vetro.yaql.lexer import MAX_DIGITS, MAX_TEXT, Token, tokenize


def kinds_and_values(text: str) -> list[tuple[str, object]]:
    return [(token.kind, token.value) for token in tokenize(text)]


def test_tokens_carry_kind_value_and_place() -> None:
    assert tokenize(" $x.f(1.50,\n'a\\n')") == [
        Token("variable", "$x", 1, 3, "$x"),
        Token("symbol", ".", 3, 4, "."),
        Token("function", "f", 4, 5, "f"),
        Token("symbol", "(", 5, 6, "("),
        Token("number", 1.5, 6, 10, "1.50"),
        Token("symbol", ",", 10, 11, ","),
        Token("text", "a\n", 12, 17, "'a\\n'"),
        Token("symbol", ")", 17, 18, ")"),
    ]


def test_blank_text_has_no_tokens() -> None:
    assert tokenize("") == tokenize(" \t\r\n") == []


def test_constants_are_lower_case_only() -> None:
    assert kinds_and_values("true false null True") == [
        ("constant", True),
        ("constant", False),
        ("constant", None),
        ("word", "True"),
    ]


def test_a_name_is_a_function_only_right_before_the_bracket() -> None:
    assert [kind for kind, _ in kinds_and_values("f(f (not(not")] == [
        *("function", "symbol", "word", "symbol", "function", "symbol", "word")
    ]


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        ("a->b", ["->"]),
        ("a<-b", ["<", "-"]),
        ("a<=>b", ["<=", ">"]),
        ("a=>=b", ["=>", "="]),
        ("a?.b", ["?."]),
        ("a!~b!=c=~d", ["!~", "!=", "=~"]),
        ("a=-b", ["=", "-"]),
    ],
)
def test_the_longest_symbol_wins(text: str, symbols: list[str]) -> None:
    assert [token.text for token in tokenize(text) if token.kind == "symbol"] == symbols


def test_colon_is_a_symbol_where_asked_for() -> None:
    assert [token.text for token in tokenize("p:C", colon=True)] == ["p", ":", "C"]
    with pytest.raises(LexicalError) as caught:
        tokenize("p:C")
    assert caught.value.position == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"'\\ \' \"'", "\\ ' \""),
        (r"'\a\b\f\n\r\t\v'", "\a\b\f\n\r\t\v"),
        (r"'\0\101\777\18'", "\0A\u01ff\x018"),
        (r"'\x41\u00e9\U0001F600'", "Aé😀"),
        (r"'\N{BULLET}\N{latin small letter a}'", "•a"),
        (r"'\d\8\q'", r"\d\8\q"),
        (r"'\x4'", r"\x4"),
        (r"'\u12'", r"\u12"),
        (r"'\N' '\N{}' '\N{BULLET'", r"\N"),
        (r"'\\x41'", r"\x41"),
        (r"'\ud800'", "\ud800"),
        ("'a\nb'", "a\nb"),
        (r'"it\"s"', 'it"s'),
        (r"`a\`b\n\\`", r"a`b\n\\"),
    ],
)
def test_quoted_texts(text: str, value: str) -> None:
    assert tokenize(text)[0].value == value


@pytest.mark.parametrize(
    ("text", "escape", "position"),
    [
        (r"'\xZZ'", r"\xZZ", 1),
        (r"'ab\x4g'", r"\x4g", 3),
        (r"'\x 1'", r"\x 1", 1),
        (r"'\x1_'", r"\x1_", 1),
        (r"'\u004g'", r"\u004g", 1),
        (r"'\U00110000'", r"\U00110000", 1),
        (r"'\N{NOPE}'", r"\N{NOPE}", 1),
        (r"'\N{KEYCAP DIGIT ONE}'", r"\N{KEYCAP DIGIT ONE}", 1),
        ("$.a + '\\x\uff11\uff11'", "\\x\uff11\uff11", 7),
    ],
)
def test_malformed_escapes(text: str, escape: str, position: int) -> None:
    with pytest.raises(LexicalError) as caught:
        tokenize(text)
    assert caught.value.message == f"Lexical error: malformed escape '{escape}' at position {position}"
    assert (caught.value.value, caught.value.position, caught.value.text) == (escape, position, text)
    assert_same(text)


@pytest.mark.parametrize(
    ("text", "char", "position"),
    [
        ("#", "#", 0),
        ("a ! b", "!", 2),
        ("a?b", "?", 1),
        ("'abc", "'", 0),
        ("1 + `a", "`", 4),
        ("'a\\\nb'", "'", 0),
        ("__x", "_", 0),
        ("0x10", "0", 0),
        ("1e3", "1", 0),
        ("1.5x", "5", 2),
        ("a\xa0b", "\xa0", 1),
        ("  \n\\", "\\", 3),
    ],
)
def test_illegal_characters(text: str, char: str, position: int) -> None:
    with pytest.raises(LexicalError) as caught:
        tokenize(text)
    assert caught.value.message == f"Lexical error: illegal character '{char}' at position {position}"
    assert (caught.value.value, caught.value.position) == (char, position)
    assert_same(text)


@pytest.mark.parametrize("text", ["007", "12.50", "\uff11\uff12", "٣", "1.٣", "9" * MAX_DIGITS, "9" * 400 + ".5"])
def test_numbers(text: str) -> None:
    value = tokenize(text)[0].value
    assert value == (float(text) if "." in text else int(text))
    assert isinstance(value, float) == ("." in text)
    assert_same(text)


def test_too_many_digits() -> None:
    with pytest.raises(LexicalError, match="more than 4300 digits at position 4"):
        tokenize("1 + " + "9" * (MAX_DIGITS + 1))


def test_too_long_a_text() -> None:
    assert len(tokenize("a" * MAX_TEXT)) == 1
    with pytest.raises(LexicalError, match="longer than 1048576 characters"):
        tokenize("a" * (MAX_TEXT + 1))


@pytest.mark.parametrize("text", ["'" + "\\" * 1_000_000, "1" * 1_000_000 + "x", " " * 1_000_000 + "#", "1." * 4000])
def test_reading_is_linear_for_hostile_texts(text: str) -> None:
    begin = time.process_time()
    try:
        tokenize(text)
    except LexicalError:
        pass
    # A scanner that backtracks over these needs hours.
    assert time.process_time() - begin < 2


@settings(max_examples=examples(150), deadline=None)
@given(quoted_texts())
def test_quoted_texts_as_published(text: str) -> None:
    assert assert_same(text)[0] == "ok"


@settings(max_examples=examples(200), deadline=None)
@given(garbage())
def test_garbage_as_published(text: str) -> None:
    assert_same(text)
