"""`vetro eval`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["1 + 2"], 3),
        (["$"], None),
        (["$x.len()", "--var", "x=[1, 2]"], 2),
        (["$x", "--var", "x="], None),
        (["$x", "--var", "x='{'"], "{"),
        (["$x", "--var", "x={"], "{"),
        (["$self + $data", "--var", "self=1", "--var", "data=2"], 3),
        (["set(1, 2)"], [1, 2]),
        (["dict(1 => 2, null => 3)"], {"1": 2, "null": 3}),
        (["range(3)"], [0, 1, 2]),
        (["datetime(2020, 1, 2)"], "2020-01-02T00:00:00+00:00"),
        (["pow(2, 16000) mod 10"], 6),
    ],
)
def test_values(vetro: Callable[..., Result], arguments: list[str], expected: object) -> None:
    result = vetro("eval", *arguments)
    assert result.stderr == ""
    assert json.loads(result.stdout) == expected


def test_integers_beyond_the_limit_of_python_are_printed(vetro: Callable[..., Result]) -> None:
    assert vetro("eval", "pow(2, 16000)").stdout.startswith("3019")


@pytest.mark.parametrize("text", ["[1, 2]", "- 1\n- 2\n", "\ufeff[1, 2]", "[1, 2,]"])
def test_data_is_json_or_yaml_from_a_file_or_standard_input(
    here: Path, vetro: Callable[..., Result], text: str
) -> None:
    (here / "data").write_text(text, encoding="utf-8")
    assert vetro("eval", "$.sum()", "--data", "data").stdout == "3\n"
    assert vetro("eval", "$.sum()", "-d", "-", input=text.encode()).stdout == "3\n"


def test_raw_text_and_yaml(vetro: Callable[..., Result]) -> None:
    assert vetro("eval", "-r", "'a b'").stdout == "a b\n"
    assert vetro("eval", "-r", "[a, b]").stdout == "a\nb\n"
    assert vetro("eval", "-r", "[a, 1]").stdout == '[\n  "a",\n  1\n]\n'
    assert vetro("eval", "dict(a => [1])", "-o", "yaml").stdout == "a:\n- 1\n"


@pytest.mark.parametrize(
    ("expression", "first"),
    [
        ("1 +", "error[YAQ102]: Parse error: unexpected end of statement"),
        ("nope()", 'error[YAQ201]: Unknown function "nope"'),
        ("1 / 0", "error[zero-division]: integer division or modulo by zero"),
        ("{a => 1}.b", "error[key-error]: there is no key 'b'"),
        ("[1][7]", "error[index-error]: index 7 is out of range for a list of 1 items"),
        ("int(x)", "error[value-error]: int() cannot read 'x'"),
    ],
)
def test_errors(vetro: Callable[..., Result], expression: str, first: str) -> None:
    result = vetro("eval", expression)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines()[0] == first


@pytest.mark.parametrize("option", ["x", "=1", "1x=2"])
def test_malformed_variables_are_wrong_command_lines(vetro: Callable[..., Result], option: str) -> None:
    result = vetro("eval", "1", "--var", option)
    assert result.exit_code == 2
    assert "is not of the form NAME=VALUE" in result.stderr
    assert "'x' is given twice" in vetro("eval", "1", "--var", "x=1", "--var", "x=2").stderr


def test_the_legacy_dialect(vetro: Callable[..., Result]) -> None:
    assert vetro("eval", "$.toList()", "-d", "-", input="[1]", catch_exceptions=False).exit_code == 0
    assert vetro("eval", "dict(a => 1)", "--legacy").stdout == '{\n  "a": 1\n}\n'
