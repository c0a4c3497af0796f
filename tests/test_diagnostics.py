"""`Text`: a text with its template and values, also after JSON and copies; what only looks like it stays as it is."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vetro.diagnostics import TEXTS, Text, decode_messages, edited, encode_messages, sentence, unplaced
from vetro.engine.failure import describe
from vetro.muranopl.errors import ClassNotFound, ContractViolation
from vetro.yaql.errors import LONGEST_MESSAGE, VetroError
from vetro.yaql.redact import MASK, Secrets

_VALUES = st.recursive(
    st.text() | st.integers() | st.booleans() | st.none() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.builds(lambda a, b: Text("{a}, not '{b}'", a=a, b=b), inner, inner),
    max_leaves=6,
)


@given(_VALUES, _VALUES)
def test_an_error_says_its_template_filled_with_its_values(first: Any, second: Any) -> None:
    text = Text("{{a}} of {first}: '{second}'", first=first, second=second)
    error = VetroError(text)
    assert str(error) == error.message == f"{{a}} of {first}: '{second}'" or len(text) > LONGEST_MESSAGE
    assert text.template.format_map(text.values) == text


@given(_VALUES, _VALUES)
def test_messages_come_through_json_and_copies_with_all_they_are_made_of(first: Any, second: Any) -> None:
    text = Text("no {second} in {first}", first=first, second=second)
    data = {"message": text, "hint": None, "list": [text, "plain"], "deep": [{"text": text}]}
    assert not isinstance(encode_messages(data)["message"], Text)
    found = decode_messages(json.loads(json.dumps(encode_messages(data))))
    assert found == data
    for made in (found["message"], found["list"][0], found["deep"][0]["text"], copy.deepcopy(text)):
        assert (made.template, made.values) == (text.template, text.values)
    assert pickle.loads(pickle.dumps(text)).values == text.values


@pytest.mark.parametrize(
    "told",
    [
        {"template": "other", "values": {}},
        {"template": "{a.__class__}", "values": {"a": "x"}},
        {"template": "{a:999999999}", "values": {"a": "x"}},
        {"template": "{a!r}", "values": {"a": "x"}},
        {"template": "{b}", "values": {"a": "x"}},
        {"template": "{a", "values": {"a": "x"}},
        {"template": "{a}", "values": {"a": ["x"]}},
        {"template": "{a}" * 1000, "values": {"a": {"template": "{b}" * 1000, "values": {"b": "x" * 1000}}}},
        {"template": 1, "values": {}},
        "text",
    ],
)
def test_data_that_is_not_that_of_its_text_is_ignored(told: Any) -> None:
    data = {"message": "x", TEXTS: {"message": told}}
    assert decode_messages(data) == data
    assert not isinstance(decode_messages(data)["message"], Text)


def test_data_of_others_that_looks_alike_stays() -> None:
    for data in ({TEXTS: {}}, {TEXTS: {"other": {}}}, {TEXTS: ["a"]}, {"a": 1, TEXTS: {"a": {"template": "1"}}}):
        assert decode_messages(data) == data


def test_sentences_begin_with_a_capital_and_end_with_a_stop() -> None:
    text = Text("expected {what}, got {value}", what=Text("a list"), value="1")
    assert sentence(text) == "Expected a list, got 1." == sentence("expected a list, got 1")
    assert sentence(text).template == "Expected {what}, got {value}."  # type: ignore[attr-defined]
    assert sentence(Text("{what} is missing!", what=Text("a list"))) == "A list is missing!"
    assert sentence(Text("{what} is {what}", what="x")) == "X is X."


def test_places_are_taken_off_and_values_edited() -> None:
    inner = Text("'{name}' is missing", name="a/b")
    placed = Text(
        "[{place}] {message}", place="t.A.b", message=Text("{position}: {message}", position="f:1", message=inner)
    )
    assert unplaced(placed) is inner
    assert unplaced("[x] plain") == "[x] plain"
    assert edited(inner, lambda text: text.replace("a/", "")) == "'b' is missing"
    assert isinstance(edited(inner, lambda text: text.replace("a/", "")), Text)
    assert not isinstance(edited(inner, lambda text: text.replace("missing", "there")), Text)


def test_secrets_are_masked_in_values_and_the_message_stays_one() -> None:
    error = VetroError(
        Text("'{value}' is no {what}", value="the password 123", what=Text("number of '{name}'", name="n"))
    )
    Secrets(["the password 123"]).error(error)
    assert error.message == f"'{MASK}' is no number of 'n'"
    assert isinstance(error.message, Text) and error.message.values["value"] == MASK
    # What is secret only together with words around it is masked, too.
    whole = VetroError(Text("user {name}", name="secretary"))
    Secrets(["user secretary"]).error(whole)
    assert whole.message == MASK


def test_failures_are_told_with_their_template_and_values() -> None:
    told = json.loads(json.dumps(describe(ClassNotFound("a.B", ["c"]))))
    assert told["message"] == "class 'a.B' is not found in packages c"
    assert told[TEXTS]["message"]["values"] == {"name": "a.B", "where": "c"}
    assert told[TEXTS]["hint"]["template"].startswith("check the spelling")
    violation = ContractViolation(Text("expected text, got {show}", show="1")).located("t.A.b")
    assert decode_messages(describe(violation))["message"].values["message"].values == {"show": "1"}
    assert TEXTS not in describe(VetroError("a package wrote this"))
