"""What is found in method bodies, and what is left alone."""

from __future__ import annotations

import pytest

from vetro.packages import memory_package
from vetro.packages.checks.classes import check_classes

CLASS = """\
Namespaces: {{=: t, std: io.murano, test: io.murano.test}}
Name: Main
Extends: {extends}
Properties:
  size: {{Contract: $.int(), Default: {default}}}
Methods:
  helper:
    Body: {{Return: 1}}
  run:
    Arguments:
      - given: {{Contract: $.int(), Default: {argument}}}
    Body:
{body}
"""


def findings(
    *lines: str, default: str = "1", argument: str = "1", extends: str = "std:Object", format: str = "1.4"
) -> list[tuple[int, int, str, str | None]]:
    body = "".join(f"      {line}\n" for line in lines or ["- Return: 1"])
    text = CLASS.format(body=body, default=default, argument=argument, extends=extends)
    package = memory_package({"name": "t", "format": format, "classes": {"t.Main": text}})
    return [(p.place.line, p.place.column, p.message, p.hint) for p in check_classes(package)]


def test_unknown_functions() -> None:
    assert findings("- $x: 1 + nobodyHasThis($x)") == [(13, 17, "there is no function 'nobodyHasThis'", None)]
    assert findings("- $x: rnge(3)") == [(13, 13, "there is no function 'rnge'", "did you mean 'range'?")]
    assert findings("- $x: helper()") == [(13, 13, "there is no function 'helper'", "write $.helper(...)")]
    assert findings("- $x: where($x)") == [
        (13, 13, "'where' is a method, not a function", "write it behind a value: $value.where(...)")
    ]


def test_steps_of_contracts_that_nobody_has() -> None:
    text = (
        "Name: Main\nProperties:\n  size: {Contract: $.sting().notNull()}\n"
        "  word: {Contract: $.string().toLower().check($.a())}\n"
    )
    package = memory_package({"name": "t", "format": "1.4", "classes": {"Main": text}})
    assert [(p.place.line, p.message, p.hint) for p in check_classes(package)] == [
        (3, "there is no step 'sting' for contracts", "did you mean 'string'?")
    ]


def test_defaults_are_code_too() -> None:
    assert findings(default="nope()")[0][:3] == (5, 38, "there is no function 'nope'")
    assert findings(argument="nope()")[0][2] == "there is no function 'nope'"


def test_unknown_classes_and_prefixes() -> None:
    assert [f[:2] for f in findings("- $x: new(Widget)")] == [(13, 17)]
    assert "class 't.Widget' is not found" in findings("- $x: new(Widget)")[0][2]
    assert "class 'io.murano.Widget' is not found" in findings("- $x: new(std:Widget)")[0][2]
    assert "class 't.Widget' is not found" in findings("- $x: $.find(:Widget)")[0][2]
    assert findings("- $x: new(odd:Widget)")[0][2:] == (
        "unknown namespace prefix 'odd' in 'odd:Widget'",
        "declare it under Namespaces",
    )
    assert "unknown namespace prefix" in findings("- Throw: odd:Error", "  Message: x")[0][2]
    caught = ["- Try: []", "  Catch:", "    With: odd:Error", "    Do: []"]
    assert "unknown namespace prefix" in findings(*caught)[0][2]


def test_branches_that_are_read_late() -> None:
    found = findings("- Match:", "    1:", "      - Iff: true", "  Value: $given")
    assert [(f[0], f[1], f[3]) for f in found] == [(15, 15, "did you mean 'If'?")]


def test_variables_that_nothing_assigns() -> None:
    assert findings("- $total: 1", "- Return: $totl") == [
        (14, 17, "nothing gives variable '$totl' a value, it is always null", "did you mean '$total'?")
    ]
    assert findings("- Return: $size")[0][3] == "for a property write $.size"


@pytest.mark.parametrize(
    "lines",
    [
        ["- Return: $given + $.size"],
        ["- Return: $given.select($ + $1)"],
        ["- For: x", "  In: [1]", "  Do: {$y: $x}", "- Return: $y"],
        ["- Try: []", "  Catch:", "    As: e", "    Do: {Return: $e}"],
        ["- Return: let(a => 1) -> $a"],
        ["- Return: list(1, 2).unpack(a, b) -> $a + $b"],
        ["- Return: def(twice, $ * 2) -> twice(2)"],
        ["- Return: new(std:Environment, name => x)"],
        ["- $name: x", "- Return: new($name)"],
        ["- Return: $.unknownMethod($this)"],
        ["- Return: $undefined.x", "- $undefined: 1"],
        ["- Return: :Main"],
    ],
)
def test_what_may_be_right_is_left_alone(lines: list[str]) -> None:
    assert findings(*lines) == []


def test_functions_of_test_fixtures_are_known() -> None:
    assert findings("- inject(:Main, helper, 'x')", "- $.assertTrue(true)", extends="test:TestFixture") == []


def test_a_missing_parent_is_blamed_where_it_is_named() -> None:
    found = findings(extends="[std:Object, std:Nothing]")
    assert [f[:2] for f in found] == [(3, 23)]
    assert "class 'io.murano.Nothing' is not found" in found[0][2]


def test_the_functions_of_the_package_format_count() -> None:
    assert findings("- Return: $.size", format="1.0") == []
