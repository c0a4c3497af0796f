from __future__ import annotations

import ipaddress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.forms.dynamic.making import Session, cleaned, definition

REQUIRED = ["This field is required."]


@pytest.mark.parametrize(
    ("field", "raw", "value"),
    [
        ("type: string", "  two  words ", "two  words"),
        ("type: string", 5, "5"),
        ("type: string", True, "True"),
        ("type: string", None, REQUIRED),
        ("type: string, required: false", None, ""),
        ("type: string", {"a": 1}, ["Enter a valid value."]),
        ("type: string", "a\0b", ["Null characters are not allowed."]),
        ("type: string, minLength: 1, maxLength: 1", "ab", ["Ensure this value has at most 1 character (it has 2)."]),
        (
            "type: string, maxLength: 3, errorMessages: {maxLength: '%(show_value)s of %(limit_value)d'}",
            "abcd",
            ["4 of 3"],
        ),
        ("type: string, maxLength: 3, errorMessages: {maxLength: 100% wrong}", "abcd", ["100% wrong"]),
        ("type: text", "one\r\ntwo ", "one\r\ntwo"),
        ("type: clusterip", " 10.0.0.5 ", "10.0.0.5"),
        ("type: clusterip", "10.0.0.05", ["Enter a valid IPv4 address."]),
        ("type: clusterip, errorMessages: {invalid: wrong}", "x", ["wrong"]),
        ("type: databaselist", " a , _b,c$1 ", ["a", "_b", "c$1"]),
        ("type: databaselist", ["a", "b"], ["a", "b"]),
        ("type: databaselist", "", REQUIRED),
        ("type: databaselist, required: false", "", []),
        ("type: databaselist, minLength: 2", "a", ["Ensure this value has at least 2 characters (it has 1)."]),
        ("type: databaselist, errorMessages: {invalid: wrong}", "^x", ["wrong"]),
        ("type: databaselist, errorMessages: {invalid: wrong}", "a,,b", ["wrong"]),
        ("type: string", "x" * 1_000_001, ["This value is longer than 1,000,000 characters."]),
    ],
)
def test_cleaned(field: str, raw: Any, value: Any) -> None:
    assert cleaned(field, raw) == value


@given(st.text("0123456789.:a ", max_size=16))
def test_clusterip_takes_what_is_an_address(text: str) -> None:
    found = cleaned("type: clusterip, required: false", text)
    try:
        wanted: Any = str(ipaddress.IPv4Address(text.strip())) if text.strip() else ""
    except ValueError:
        wanted = ["Enter a valid IPv4 address."]
    assert found == wanted


def test_initial_list_of_names_is_their_text() -> None:
    session = Session(definition("name: a, type: databaselist, initial: [x, y]"))
    field = session.field("a")
    assert (field.initial, field.kind, field.widget) == ("x, y", "list", "names")
    assert session.send(a=field.initial).cleaned == {"a": ["x", "y"]}
