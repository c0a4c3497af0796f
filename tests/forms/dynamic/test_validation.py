from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.forms.dynamic.making import Session, cleaned, definition
from tests.support.fuzzing import examples
from vetro.forms.dynamic import BadAttribute, ExpressionFailed


@pytest.mark.parametrize(
    ("field", "raw", "value"),
    [
        ("type: string, disabled: true, initial: fixed", "other", "fixed"),
        ("type: integer, enabled: false, minValue: 5", "1", "1"),
        ("type: integer, enabled: false", None, None),
        ("type: string, enabled: ''", None, ""),
        ("type: string, required: !yaql 'false'", "", ""),
        ("type: string, hidden: !yaql 'true'", "", ["This field is required."]),
        ("type: integer, maxValue: !yaql '1 + 2'", "5", ["Ensure this value is less than or equal to 3."]),
        ("type: integer, regexpValidator: '^[0-9]{2}$'", "0012", 12),
        ("type: boolean, validators: [{expr: $, message: tick it}]", None, ["tick it"]),
        ("type: choice, choices: [[a, A]], regexpValidator: b", "a", ["Enter a valid value."]),
        ("type: databaselist, validators: [{expr: !yaql 'len($) > 1', message: more}]", "a", ["more"]),
    ],
)
def test_cleaned(field: str, raw: Any, value: Any) -> None:
    assert cleaned(field, raw) == value


def test_all_messages_in_order() -> None:
    rules = "{expr: {regexpValidator: '^x'}, message: x first}, {expr: !yaql '$.endsWith(y)', message: y last}"
    assert cleaned(f"type: string, minLength: 5, validators: [{rules}]", "ab") == [
        "x first",
        "y last",
        "Ensure this value has at least 5 characters (it has 2).",
    ]


def test_form_rules_only_when_all_fields_are_right() -> None:
    text = definition(
        "name: a, type: integer",
        "name: b, type: integer",
        validators='- expr: $.main.a < $.main.b\n  message: "!!"\n- expr: $.main.a > 0'.replace(
            '"!!"', "!yaql \"'not below ' + str($.main.b)\""
        ),
    )
    assert Session(text).send(a="x", b="1").form_errors == []
    outcome = Session(text).send(a="-1", b="-2")
    assert outcome.form_errors == ["not below -2", "Validation Error occurred"]
    assert Session(text).send(a="1", b="2").kind == "next"


def test_fields_see_only_those_above() -> None:
    text = definition(
        "name: a, type: boolean",
        "name: b, type: string, enabled: $.main.a",
        "name: c, type: string, enabled: $.main.d",
        "name: d, type: boolean",
    )
    assert Session(text).send(a="on", d="on").errors == {"b": ["This field is required."]}
    assert Session(text).send(d="on").cleaned == {"a": False, "b": "", "c": "", "d": True}


def test_failing_rule_is_an_error_of_the_definition() -> None:
    session = Session(definition("name: a, type: string, validators: [{expr: $ > 5, message: m}]"))
    with pytest.raises(ExpressionFailed) as caught:
        session.send(a="x")
    assert caught.value.position.line == 7
    assert "mistake" in caught.value.civil


def test_computed_pattern_that_is_none() -> None:
    session = Session(definition("name: a, type: string, regexpValidator: $p", sections="Parameters: {p: '(a'}"))
    with pytest.raises(BadAttribute, match="not a regular expression"):
        session.send(a="x")


def test_bomb_in_a_rule_refuses_the_text_and_ends() -> None:
    found = cleaned("type: string, regexpValidator: '^(?=(a+)+$)b'", "a" * 5000 + "b")
    assert found == ["Enter a valid value."]


answers = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.just({"secret": "kept"}),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
KINDS = (
    *(
        "string",
        "text",
        "integer",
        "boolean",
        "floatingip",
        "password",
        "choice",
        "clusterip",
        "databaselist",
        "flavor",
    ),
    *("image", "keypair", "azone", "network", "securitygroup", "volume", "zone", "domain", "com.example.Tomcat"),
)
ALL_KINDS = definition(
    *(f"name: f{i}, type: {kind}" + (", choices: [[a, A]]" if kind == "choice" else "") for i, kind in enumerate(KINDS))
)
ALL_OFF = ALL_KINDS.replace("type: ", "enabled: false, type: ")


@settings(deadline=None, max_examples=examples(60))
@given(st.dictionaries(st.sampled_from([f"f{i}" for i in range(len(KINDS))] + ["f5-clone", "bogus"]), answers))
def test_any_answer_is_taken_or_refused_with_words(raw: dict[str, Any]) -> None:
    for text in (ALL_KINDS, ALL_OFF):
        session = Session(text)
        outcome = session.wizard.submit(session.state, raw)
        assert outcome.kind in ("invalid", "next")
        assert "bogus" not in outcome.cleaned
        assert all(texts and all(isinstance(text, str) for text in texts) for texts in outcome.errors.values())
        session.wizard.page(outcome.state, 0).fields()
