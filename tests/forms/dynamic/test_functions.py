from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.forms.dynamic.making import Session, definition
from vetro.forms.dynamic import DynamicFormError, EncryptionUnavailable, ExpressionFailed
from vetro.forms.dynamic.functions import _in_base_36

HOST = re.compile(r"[a-z]{5}[0-9a-z]{8}\d{1,2}")


def model(application: str, sections: str = "", **changes: Any) -> dict[str, Any]:
    session = Session(
        definition("name: n, type: integer, initial: 2", application=application, sections=sections), **changes
    )
    assert session.send(n="2").kind == "next"
    return session.model()


def test_hostnames_from_patterns() -> None:
    found = model("a: generateHostname('web-#-#', 12)\nb: generateHostname('plain', 1)\nc: generateHostname('n#', -3)")
    assert (found["a"], found["b"], found["c"]) == ("web-12-12", "plain", "n-3")


def test_random_hostnames_differ() -> None:
    found = model("a: !yaql \"range(0, 150).select(generateHostname('', 1))\"")["a"]
    assert all(HOST.fullmatch(name) for name in found)
    assert len(set(found)) == 150
    assert {name[5:13] for name in found} == {"loyw3v28"}  # the fixed clock in milliseconds, to the base of 36


@given(st.integers(1, 10**15))
def test_base_36(number: int) -> None:
    assert int(_in_base_36(number), 36) == number


@pytest.mark.parametrize(
    "call",
    [
        "generateHostname(null, 1)",
        "generateHostname('a#', '1')",
        "generateHostname('a#', null)",
        "generateHostname('a#', true)",
        "repeat(1, null)",
        "repeat(1, '2')",
        "repeat(1)",
        "name(1)",
        "ref()",
        "encryptData(5)",
        "repeat(1, 100000)",
    ],
)
def test_wrong_arguments(call: str) -> None:
    with pytest.raises(ExpressionFailed) as caught:
        model(f'a: !yaql "{call}"')
    assert caught.value.position.line == 4


def test_repeat_counts_from_one_and_keeps_the_outer_index() -> None:
    found = model(
        "a: repeat($row, $.main.n)\nb: repeat($.main.n, 0)\nc: repeat(x, -1)\nd: $index",
        "Templates:\n  row: {i: $index, cells: 'X', after: $index}\n  cell: $index".replace(
            "'X'", "!yaql 'repeat($cell, 3)'"
        ),
    )
    assert found["a"] == [{"i": i, "cells": [1, 2, 3], "after": i} for i in (1, 2)]
    assert (found["b"], found["c"], found["d"]) == ([], [], None)


def test_repeat_evaluates_each_time() -> None:
    found = model("a: repeat(generateHostname('', 1), 3)")["a"]
    assert len(set(found)) == 3


def test_name() -> None:
    session = Session(definition(application="a: name()"))
    session.send()
    assert session.model("given")["a"] == "given"


def test_name_before_two_two_is_null() -> None:
    session = Session(definition("name: a, type: string, required: false", application="v: name()", version="2.1"))
    session.send(a="")
    session.send()
    assert session.wizard.model(session.state)["v"] is None


HOSTS = "Templates: {host: {'?': {type: a.Host}, n: $.main.n}, text: hello, bare: {x: 1}}"


def test_ref_gives_the_object_once() -> None:
    found = model(
        "a: ref(host)\nb: ref(host)\nc: ref(host, other)\nd: ref(host, other, false)\ne: ref(host, x, true)", HOSTS
    )
    first, other = found["a"], found["c"]
    assert first == {"?": {"type": "a.Host", "id": first["?"]["id"]}, "n": 2}
    assert found["b"] == first["?"]["id"]
    assert found["d"] == other and other["?"]["id"] != first["?"]["id"]
    assert found["e"] not in (first["?"]["id"], other["?"]["id"])


def test_ref_of_what_is_no_object() -> None:
    found = model("a: ref(text)\nb: ref(nobody)\nc: ref(bare)\nd: ref(bare)", HOSTS)
    assert found["a"] is None and found["b"] is None
    assert found["c"]["x"] == 1 and found["d"] == found["c"]["?"]["id"]


def test_templates_make_new_objects_each_time() -> None:
    found = model("a: $host\nb: $host\nc: !yaql 'list($host, $host)'", HOSTS)
    ids = [found["a"]["?"]["id"], found["b"]["?"]["id"], *(item["?"]["id"] for item in found["c"])]
    assert len(set(ids)) == 4


def test_secrets_go_to_the_store() -> None:
    stored: dict[str, str] = {}

    def encrypt(value: str) -> str:
        stored[f"id-{len(stored)}"] = value
        return f"id-{len(stored) - 1}"

    found = model("a: encryptData(word)\nb: $p", "Parameters: {p: encryptData(other)}", encrypt=encrypt)
    assert (found["b"], found["a"]) == ("id-0", "id-1")
    assert stored == {"id-0": "other", "id-1": "word"}


def test_no_store() -> None:
    with pytest.raises(EncryptionUnavailable) as caught:
        model("a: encryptData(x)")
    assert "please contact your administrator" in caught.value.civil


def test_showing_a_form_stores_nothing() -> None:
    session = Session(definition("name: a, type: string, initial: encryptData(x)"), encrypt=lambda value: "id")
    with pytest.raises(DynamicFormError, match="again and again"):
        session.page()
