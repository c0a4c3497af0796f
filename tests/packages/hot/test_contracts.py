"""The contracts that a template's parameters become."""

from __future__ import annotations

from typing import Any

import pytest

from tests.packages.hot.hotkit import NAME, package, parameter
from tests.support.host import Host
from vetro.muranopl.errors import ContractViolation


def loaded_value(template: str, value: Any) -> Any:
    host = Host()
    host.packages = [package(template)]
    session = host.engine().session()
    session.load({"Objects": {"?": {"type": NAME, "id": "a"}, "name": "n", "templateParameters": {"p": value}}})
    return session.finalize()["Objects"]["templateParameters"]["p"]


CONSTRAINTS = [
    ("type: string, constraints: [{allowed_values: [a, 10, 'it''s']}]", ["a", "10", "it's"], ["b", "", "A"]),
    ("type: number, constraints: [{allowed_values: [1, '2']}]", [1, 2, "2"], [3]),
    ("type: boolean, constraints: [{allowed_values: [yes]}]", [True], [False]),
    ("type: string, constraints: [{length: {min: 2}}]", ["ab"], ["a"]),
    ("type: string, constraints: [{length: {max: 2}}]", ["", "ab"], ["abc"]),
    ("type: string, constraints: [{length: {min: 1, max: 2}}]", ["a"], ["", "abc"]),
    ("type: number, constraints: [{range: {min: 2}}]", [2], [1]),
    ("type: number, constraints: [{range: {min: -1.5, max: 2}}]", [-1, 2], [-2, 3]),
    ("type: number, constraints: [{modulo: {step: 3, offset: 1}}]", [1, 4], [3]),
    ("type: string, constraints: [{allowed_pattern: 'a\\d+'}]", ["a1"], ["a", "xa1", "a1x"]),
    ("type: comma_delimited_list, constraints: [{allowed_values: [a, b]}]", ["a", "a, b"], ["c", "a,c"]),
    ("type: comma_delimited_list, constraints: [{allowed_pattern: '[a-z]'}]", ["a,b"], ["a,1"]),
    ("type: comma_delimited_list, constraints: [{length: {max: 2}}]", ["a,b"], ["a,b,c"]),
    ("type: json, constraints: [{length: {max: 1}}]", ['{"a": 1}', "whatever"], []),
    ("type: string, constraints: [{custom_constraint: nova.flavor}]", ["anything"], []),
    ("type: string, constraints: [{length: {max: 3}}, {allowed_pattern: a+}]", ["aa"], ["aaaa", "b"]),
]


@pytest.mark.parametrize(("text", "good", "bad"), CONSTRAINTS)
def test_constraints_are_checked_and_null_passes(text: str, good: list[Any], bad: list[Any]) -> None:
    template = parameter(text)
    assert loaded_value(template, None) is None
    for value in good:
        assert loaded_value(template, value) in (
            value,
            int(value) if isinstance(value, str) and value == "2" else value,
        )
    for value in bad:
        with pytest.raises(ContractViolation, match=r"templateParameters\['p'\]"):
            loaded_value(template, value)


@pytest.mark.parametrize(
    ("type_", "given", "kept"),
    [
        ("string", 5, "5"),
        ("number", "7", 7),
        ("number", 1.9, 1),
        ("boolean", 1, True),
        ("json", "{}", "{}"),
        ("comma_delimited_list", "a,b", "a,b"),
    ],
)
def test_types_convert(type_: str, given: Any, kept: Any) -> None:
    assert loaded_value(parameter(f"type: {type_}"), given) == kept


def test_a_description_is_the_message() -> None:
    template = parameter("type: number, constraints: [{range: {max: 4}, description: 'don''t'}]")
    with pytest.raises(ContractViolation, match="don't"):
        loaded_value(template, 5)
