from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vetro.forms.dynamic import DefinitionError
from vetro.forms.dynamic.expressions import Expression, ListSnippet, MapSnippet
from vetro.forms.dynamic.snippets import Reader


def read(text: str) -> Any:
    reader = Reader(text, "ui.yaml")
    return reader.snippet(reader.root())


@pytest.mark.parametrize(
    "text",
    ["hello world", "io.murano.Foo", "a.b:c", "not true", "7 mod 2", "x in y", "/var/lib", "x@y", "50%", "http://a/b"],
)
def test_text(text: str) -> None:
    assert read(text) == text


@pytest.mark.parametrize(
    "text", ["foo-bar", "PHP - Zend", "a/b", "10.0.0.0/24", "$.a", "a=b", "(not true)", "str(1)", "a + b"]
)
def test_expression(text: str) -> None:
    found = read(text)
    assert isinstance(found, Expression) and found.text == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("010", 8),
        ("0x10", 16),
        ("-3", -3),
        ("1.5", 1.5),
        ("yes", True),
        ("~", None),
        ("2015-01-01", "2015-01-01"),
        ("'$.a'", "$.a"),
        ('"foo-bar"', "foo-bar"),
        ("|\n  $.a\n", "$.a\n"),
        ("!!str 5", "5"),
    ],
)
def test_yaml_types_come_first(text: str, value: Any) -> None:
    found = read(f"k: {text}")
    assert found == {"k": value} and found["k"].__class__ is value.__class__


def test_tag_makes_any_style_an_expression() -> None:
    found = read('{a: !yaql "x", b: !yaql 5}')
    assert [value.text for _, value in found.pairs] == ["x", "5"]


def test_broken_tagged_expression_has_a_place() -> None:
    with pytest.raises(DefinitionError, match="not a valid expression") as caught:
        read("a: 1\nb: !yaql '1 +'\n")
    assert (caught.value.position.line, caught.value.position.column) == (2, 4)


def test_containers_keep_expressions_and_their_places() -> None:
    found = read("a: [1, $.x]\n$.k: {b: 2}\n")
    assert isinstance(found, MapSnippet)
    (_, items), (key, value) = found.pairs
    assert isinstance(items, ListSnippet) and items.items[1].position.column == 8
    assert isinstance(key, Expression) and value == {"b": 2}


def test_repeated_keys_are_a_warning_and_the_last_counts() -> None:
    reader = Reader("a: 1\na: 2\n", "ui.yaml")
    assert reader.snippet(reader.root()) == {"a": 2}
    assert [(p.severity, p.place.line) for p in reader.problems] == [("warning", 2)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no definition"),
        ("a: 1\n---\nb: 2\n", "more than one YAML document"),
        ("a: [1\n", "not valid YAML"),
        ("\ta: 1", "not valid YAML"),
        ("a: !!python/name:os.system x", "unknown tag"),
        ("[1, 2]: 3", "cannot be a key"),
        ("a: .nan", "no number that JSON can hold"),
        ("a: " + "[" * 70 + "]" * 70, "nested deeper than 60 levels"),
        ("a: &x [*x]", "contains itself"),
        ("a: " + "9" * 6000, "number is too"),
    ],
)
def test_refused_with_place(text: str, message: str) -> None:
    with pytest.raises(DefinitionError, match=message) as caught:
        read(text)
    assert caught.value.position is not None


@given(st.text(st.characters(codec="utf-8"), max_size=60))
@example("a: &b [*b]")
@example("{? [a]: b}")
@example("\ud800")
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read(text)
    except DefinitionError as error:
        assert error.position is not None and error.position.line >= 1
