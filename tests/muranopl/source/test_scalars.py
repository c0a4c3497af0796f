"""Which scalars are expressions, YAML's own typing, and where each character of an expression stands."""

from __future__ import annotations

import sys

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.fuzzing import examples
from vetro.muranopl.declarations.tree import Expression, Literal
from vetro.muranopl.errors import DslSyntaxError, SourceError
from vetro.muranopl.reader.values import ReadContext
from vetro.muranopl.source.documents import load_documents
from vetro.muranopl.source.scalars import plain_value


def value_of(text: str, version: tuple[int, int] = (1, 4)) -> object:
    """``text`` as the value of a key: the plain value, or the `Expression`."""
    source = f"key: {text}\n"
    (document,) = load_documents(source, "f")
    read = ReadContext(source, "f", version).template(document.value[0][1])
    return read.value if isinstance(read, Literal) else read


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("some words", "some words"),
        ("null is Object", "null is Object"),
        ("x or y", "x or y"),
        ("http://e.com/x", "http://e.com/x"),
        ("$obj.in", "$obj.in"),
        ('"len(abc)"', "len(abc)"),
        ("'$.x'", "$.x"),
        ("grüße.aus_Köln 5", "grüße.aus_Köln 5"),
        ("5", 5),
        ("-5", -5),
        ("1.5", 1.5),
        ("0x1F", 31),
        ("017", 15),
        ("1_000", 1000),
        ("1:30", 90),
        ("true", True),
        ("off", False),
        ("~", None),
        ("null", None),
        ("", None),
        ("2015-01-01", "2015-01-01"),
        ("2001-12-14t21:59:43.10-05:00", "2001-12-14t21:59:43.10-05:00"),
        ("2015-99-99", "2015-99-99"),
        ("=", "="),
        ("!!str 5", "5"),
        ("!!int '5'", 5),
        ("!!timestamp 2015-01-01", "2015-01-01"),
        ("0b_", "0b_"),
    ],
)
def test_plain_values(text: str, value: object) -> None:
    assert value_of(text) == value
    assert value_of(text).__class__ is value.__class__


@pytest.mark.parametrize(
    "text", ["x-y", "a/b", "$.x", "$", "$x + 1", "len(abc)", "p:Name", '!yaql "len(abc)"', "!yaql x"]
)
def test_expressions(text: str) -> None:
    assert isinstance(value_of(text), Expression)


def test_line_ends_of_plain_scalars_become_blanks() -> None:
    found = value_of("$.first(1,\n  2)")
    assert isinstance(found, Expression) and found.text == "$.first(1, 2)"


def test_every_format_has_the_standard_grammar() -> None:
    """``=>`` is an operator only in the legacy grammar, which no format has (YAQL.md 5)."""
    assert value_of("a => b") == "a => b"
    assert value_of("a => b", (1, 1)) == "a => b"


@given(st.from_regex(r"[-+0-9._:eExobn~tf]{0,8}", fullmatch=True))
@settings(max_examples=examples(200), deadline=None)
def test_typing_agrees_with_yaml(text: str) -> None:
    try:
        expected = yaml.safe_load(f"[{text}]") if ": " not in text and not text.endswith(":") else None
    except (yaml.YAMLError, ValueError):
        return
    if (
        not isinstance(expected, list)
        or len(expected) != 1
        or not isinstance(expected[0], (str, int, float, type(None)))
    ):
        return
    found = plain_value(text)
    assert found == expected[0] or found != found


@pytest.mark.parametrize("text", ["9" * 4500, "9" * 5001, "0x" + "f" * 4200, "1" + ":00" * 3000])
@pytest.mark.parametrize("digits", [4_300, 5_000])
def test_numbers_are_bounded(text: str, digits: int) -> None:
    """Whatever the process allows: a task's own has other limits than the one that imports."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(digits)
    try:
        _refused(text)
    finally:
        sys.set_int_max_str_digits(before)


def _refused(text: str) -> None:
    with pytest.raises(SourceError) as caught:
        value_of(text)
    assert str(caught.value.position) == "f:1:6"
    assert caught.value.message in ("number is too long", "number is too large")


def test_a_tagged_text_must_parse() -> None:
    with pytest.raises(DslSyntaxError):
        value_of('!yaql "1 +"')
    with pytest.raises(DslSyntaxError):
        value_of('!yaql ""')


@pytest.mark.parametrize(
    ("text", "needle", "line", "column"),
    [
        ("$.abc", "abc", 1, 8),
        ('!yaql "$.abc"', "abc", 1, 15),
        ("!yaql '$.f(''a'', b)'", "b", 1, 24),
        ('!yaql "$.f(\\"a\\", b)"', "b", 1, 24),
        ("!yaql $.abc", "abc", 1, 14),
        ("$.f(1,\n  abc)", "abc", 2, 3),
        ("$.f(1,\n\n  abc)", "abc", 3, 3),
        ('!yaql "$.f(1,\n  abc)"', "abc", 2, 3),
        ('!yaql "$.f(1,\\\n  abc)"', "abc", 2, 3),
        ("!yaql |\n  $.f(1,\n    abc)", "abc", 3, 5),
        ("!yaql >-\n  $.f(1,\n  abc)", "abc", 3, 3),
    ],
)
def test_where_a_character_stands(text: str, needle: str, line: int, column: int) -> None:
    found = value_of(text)
    assert isinstance(found, Expression)
    assert found.locate(found.text.index(needle)) == (line, column)


@settings(max_examples=examples(200), deadline=None)
@given(st.text(alphabet="ab$.+ \t\n\\\"'é", max_size=30), st.sampled_from(["'", '"', "|", ">"]))
def test_locating_never_fails_and_stays_inside(text: str, style: str) -> None:
    source = yaml.dump([text], default_style=style, allow_unicode=True).replace("- ", "- !yaql ", 1)
    (document,) = load_documents(source, "f")
    node = document.value[0]
    context = ReadContext(source, "f", (1, 4))
    for start, (line, column) in context.scalars._offsets(node):
        shown = source.split("\n")[line - 1][column - 1 :]
        assert shown[:1] == node.value[start]
