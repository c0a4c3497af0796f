"""Values that certainly fail, or vanish without a word."""

from __future__ import annotations

import pytest

from vetro.packages import memory_package
from vetro.packages.checks.classes import check_classes

CLASS = """\
Namespaces: {{=: t, std: io.murano, m: io.murano.metadata}}
Name: Main
Extends: std:Object
{more}
Methods:
  run:
    Body:
      - {line}
"""
Found = list[tuple[int, int, str, str, str | None]]


def findings(line: str = "Return: 1", more: str = "", **classes: str) -> Found:
    texts = {"t.Main": CLASS.format(line=line, more=more), **{f"t.{name}": text for name, text in classes.items()}}
    package = memory_package({"name": "t", "format": "1.4", "classes": texts})
    found = check_classes(package)
    return [(p.place.line, p.place.column, p.code, p.message, p.hint) for p in found]


@pytest.mark.parametrize(
    ("line", "column", "message", "hint"),
    [
        ("$x: allkeys-lru", 13, "text cannot be subtracted", "quote it if it is text: 'allkeys-lru'"),
        ("$x: application/octet-stream", 13, "text cannot be subtracted", None),
        ("$x: {content: text/plain}", 23, "text cannot be divided", "quote it if it is text: 'text/plain'"),
        ("$x: {maxmemory-policy: 1}", 14, "text cannot be subtracted", "quote it if it is text: 'maxmemory-policy'"),
        ("$x: $.get(size) - 'a'", 13, "text cannot be subtracted", "quote what is text"),
    ],
)
def test_words_that_are_read_as_arithmetic(line: str, column: int, message: str, hint: str | None) -> None:
    ((at_line, at, code, said, advice),) = findings(line)
    assert (at_line, at, code, said) == (8, column, "CHK103", message)
    assert hint is None or advice == hint


@pytest.mark.parametrize("line", ["$x: 2 - 1", "$x: 'allkeys-lru'", "$x: $.a - $.b / 2", "$x: a + b", "$x: 2015-01-01"])
def test_what_is_arithmetic_or_text_is_left_alone(line: str) -> None:
    assert findings(line, "Properties: {a: {Contract: $.int()}, b: {Contract: $.int()}}") == []


@pytest.mark.parametrize(
    ("contract", "column", "said", "hint"),
    [
        ("'$.string()'", 18, "stands in quotes", "write $.string(), without quotes"),
        ('"$.int().check($ > 0)"', 18, "stands in quotes", "write $.int().check($ > 0), without quotes"),
        ("[$.int(), '$.class(t:Main)']", 28, "stands in quotes", "write $.class(t:Main), without quotes"),
        ("{a: '$.bool()'}", 22, "stands in quotes", "write $.bool(), without quotes"),
        ("{'$.string()': $.int()}", 18, "stands in quotes", "write $.string(), without quotes"),
        ("'$'", 18, "stands in quotes", "write $, without quotes"),
        ("'[$.string()]'", 18, "stands in quotes", "write [$.string()], without quotes"),
        ("'$.string().check($ in list(\"a: b\"))'", 18, "stands in quotes", "write !yaql before the quotes"),
        ("$.string() and", 18, "cannot be read as an expression", "look for a bracket or a quote that is missing"),
    ],
)
@pytest.mark.parametrize("place", ["property", "argument"])
def test_contracts_that_are_text(place: str, contract: str, column: int, said: str, hint: str) -> None:
    line = f"a: {{Contract: {contract}}}"
    if place == "property":
        ((at_line, at, code, message, advice),) = findings(more=f"Properties:\n  {line}")
        assert (at_line, at) == (5, column - 1)
    else:
        ((at_line, at, code, message, advice),) = findings(f"Return: $a\n    Arguments:\n      - {line}")
        assert (at_line, at) == (10, column + 5)
    assert code == "CHK110" and said in message and advice == hint


@pytest.mark.parametrize(
    "contract", ["$.string()", "5", "'small'", "{'$type': $.string()}", "!yaql '$.string()'", "'$5'", "'$HOME/x'"]
)
def test_contracts_and_texts_that_are_meant_so_are_left_alone(contract: str) -> None:
    assert findings(more=f"Properties:\n  a: {{Contract: {contract}}}") == []


@pytest.mark.parametrize(
    ("line", "code", "column"),
    [
        ("$x: {a: f(1, b => 2)}", "CHK101", 17),
        ("$x: [1, f(a, b)]", "CHK101", 17),
        ("$x: {FromPort => 80}", "CHK102", 14),
    ],
)
def test_flow_mappings_that_lose_entries(line: str, code: str, column: int) -> None:
    found = [(row[0], row[1], row[2]) for row in findings(line)]
    assert (8, column, code) in found


@pytest.mark.parametrize(
    "line", ["$x: {a: len($y)}", "$x: '{a => 1}'", '$x: {a: "f(1, 2)"}', "$x: {a: $.f({b => 1})}", "$x: dict(a => 1)"]
)
def test_whole_values_are_left_alone(line: str) -> None:
    assert not [row for row in findings(line) if row[2] in ("CHK101", "CHK102")]


def test_meta_with_unknown_keys_and_values_that_it_refuses() -> None:
    more = """\
Meta: {m:Title: {text: hello, colour: red}}
Properties:
  a: {Contract: $.int(), Meta: {m:forms.Control: {level: basc}}}"""
    first, second = findings(more=more)
    assert (first[0], first[2]) == (4, "CHK104")
    assert first[3:] == (
        "meta-class io.murano.metadata.Title has no property 'colour', it is ignored",
        "there are: text",
    )
    assert (second[0], second[2]) == (6, "MPL200") and "[basic, advanced]" in second[3]


def test_text_with_a_comma_is_to_be_quoted() -> None:
    """YAML ends the text at the comma, and takes the rest for another entry."""
    ((line, _, code, message, hint),) = findings(more="Meta: {m:Title: {text: one thing, and another}}")
    assert (line, code) == (4, "CHK104") and "'and another'" in message
    assert hint == "quote text with a comma: it begins another entry here"


def test_an_unknown_meta_class_is_named_where_it_stands() -> None:
    ((line, _, code, message, _),) = findings(more="Properties:\n  a: {Contract: $.int(), Meta: m:Titel}")
    assert (line, code) == (5, "MPL300") and "io.murano.metadata.Titel" in message


def test_one_broken_class_does_not_hide_what_is_wrong_in_others() -> None:
    broken, child = (
        f"Namespaces: {{=: t}}\nName: {text}" for text in ("Broken\nProperties: [1]", "Child\nExtends: Broken")
    )
    found = findings("$x: nobodyHasThis()", Broken=broken, Child=child)
    said = [row[3] for row in found]
    assert "there is no function 'nobodyHasThis'" in said
    assert len(said) == 2  # what extends the broken one fails for the same reason
