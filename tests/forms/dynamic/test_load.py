from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dynamic_ui.test_cases import FILES
from tests.forms.dynamic.making import definition
from tests.support.fuzzing import examples
from vetro.forms.dynamic import (
    BadAttribute,
    DefinitionError,
    DynamicFormError,
    UnknownAttribute,
    UnsupportedVersion,
    load,
)
from vetro.forms.dynamic.load import MAX_TEXT, load_all


def refused(text: str) -> DefinitionError:
    with pytest.raises(DefinitionError) as caught:
        load(text, "UI/ui.yaml")
    assert caught.value.position.file == "UI/ui.yaml"
    assert str(caught.value).startswith(f"UI/ui.yaml:{caught.value.position.line}:{caught.value.position.column}: ")
    assert "package" in caught.value.civil  # what people are told names nobody's mistake in detail
    return caught.value


def test_everything_is_there() -> None:
    found = load(definition("name: a, type: string", sections="Templates: {t: {k: $.x}}\nParameters: {p: 1, q: $p}"))
    assert found.version == (2, 4, 0)
    assert list(found.forms[0].fields) == ["a"]
    assert list(found.templates) == ["t"] and [name for name, _ in found.parameters] == ["p", "q"]
    assert found.warnings == ()


def test_names_of_sections_are_folded() -> None:
    found = load("application: {'?': {type: a.B}}\nforms: []\nparameters_source: m\nVERSION: 2.0\n")
    assert found.parameters_source == "m" and found.version == (2, 0, 0)


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("- a\n", "must be a mapping", 1, 1),
        ("Version: 2.4\n", "Application section is required", 1, 1),
        ("Version: 2.4\nApplication: {a: 1}\n", r"mapping with a '\?' header", 2, 14),
        ("Application: {'?': text}\n", r"mapping with a '\?' header", 1, 14),
        ("Application: null\n", r"mapping with a '\?' header", 1, 14),
        (definition() + "  - other:\n      validators: []\n", "form 'other' has no fields", 7, 5),
        (definition() + "  - {}\n", "a form needs a name", 7, 5),
        (definition() + "  - workflowManagement: {fields: []}\n", "cannot be called workflowManagement", 7, 5),
        (definition().replace("Forms:\n  - main", "Forms:\n    main"), "Forms must be a list, not a mapping", 5, 5),
        (definition().replace("fields: []", "fields: {}"), "fields of form 'main' must be a list", 6, 15),
        (definition("type: string"), "a field has no name", 7, 11),
        (definition("name: a"), "field 'a' has no type", 7, 11),
        (definition("name: a, type: null"), "must be a word or a list", 7, 27),
        (definition("name: [a], type: string"), "name must be text", 7, 18),
        (definition("name: a, type: []"), "must be a word or a list", 7, 27),
        (definition("name: a, type: string, validators: [1]"), "a validator must be a mapping", 7, 48),
        (definition("name: a, type: string, validators: [{message: x}]"), "a validator has no expr", 7, 48),
        (definition("name: a, type: string, validators: [{expr: {x: y}}]"), "expr has no regexpValidator", 7, 48),
        (definition(validators="- expr: 'text'"), "must be an expression, not 'text'", 8, 11),
        (definition(sections="Templates: [1]"), "Templates must be a mapping", 2, 12),
        (definition(sections="ParametersSource: [a]"), "must name a static action", 2, 19),
        (definition(sections="ParametersSource: 'a b'"), "must name a static action", 2, 19),
    ],
)
def test_malformed(text: str, message: str, line: int, column: int) -> None:
    error = refused(text)
    assert re.search(message, error.message), error.message
    assert (error.position.line, error.position.column) == (line, column)
    assert error.hint


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ("minLength: x", "min_length must be a whole number, not 'x'"),
        ("maxLength: -1", "must not be negative"),
        ("hidden: maybe", "hidden must be true or false"),
        ("errorMessages: [a]", "error_messages must be a mapping"),
        ("regexpValidator: '(a'", "not a regular expression"),
        ("regexpValidator: [a]", "a regular expression must be text"),
        ("widgetMedia: {js: [1]}", "must name files"),
    ],
)
def test_bad_values(attribute: str, message: str) -> None:
    error = refused(definition(f"name: a, type: string, {attribute}"))
    assert isinstance(error, BadAttribute) and message in error.message


@pytest.mark.parametrize(
    ("field", "hint"),
    [
        ("type: string, imageType: linux", "known are"),
        ("type: string, minlenght: 2", "did you mean minLength?"),
        ("type: boolean, minValue: 2", "known are"),
        ("type: com.example.X, choices: []", "known are"),
    ],
)
def test_unknown_attribute(field: str, hint: str) -> None:
    error = refused(definition(f"name: a, {field}"))
    assert isinstance(error, UnknownAttribute) and hint in str(error.hint)


def test_version_error_has_a_place() -> None:
    error = refused(definition(version="2.5"))
    assert isinstance(error, UnsupportedVersion)
    assert (error.position.line, error.position.column) == (1, 10)


def test_odd_things_are_warnings() -> None:
    text = definition(
        "name: a, type: string, label: well-known, widgetAttrs: {onclick: x}, min_length: 1, minLength: 2",
        "name: a, type: string, validators: [{expr: '$ > 1', message: m}]",
        sections="Comment: x\nParameters: {_p: 1}",
    )
    found = load(text + "    two: {fields: []}\n")
    said = [(p.place.line, p.message) for p in found.warnings]
    for line, words in (
        (2, "section 'Comment' means nothing"),
        (3, "parameter '_p' is left out"),
        (9, "attribute 'minLength' is written twice"),
        (9, "'well-known' in label looks like an expression"),
        (9, "'onclick' in widget_attrs is ignored"),
        (10, "this validator is text"),
        (10, "two fields called 'a'"),
        (11, "form 'two' is ignored"),
    ):
        assert any(at == line and words in message for at, message in said), (words, said)
    assert found.parameters == ()


def test_names_that_look_like_expressions_are_names() -> None:
    found = load(definition("name: my-field, type: some-class") + "  - my-form: {fields: []}\n")
    assert [form.name for form in found.forms] == ["main", "my-form"]
    assert found.forms[0].fields["my-field"].declared == "some-class"


def test_bytes_with_mark() -> None:
    assert load(b"\xef\xbb\xbf" + definition().encode()).forms
    with pytest.raises(DefinitionError, match="not valid UTF-8"):
        load(b"a: \xff")


def test_megabytes_are_refused_at_once() -> None:
    with pytest.raises(DefinitionError, match="longer than 1,000,000 characters"):
        load(definition() + "#" * MAX_TEXT)
    with pytest.raises(DefinitionError, match="longer than"):
        load(b"#" * (4 * MAX_TEXT + 1))


def test_endless_labels_share_one_budget() -> None:
    fields = [f"name: f{i}, type: string, label: !yaql 'range(0).len()'" for i in range(300)]
    began = time.process_time()
    found = load(definition(*fields))
    assert time.process_time() - began < 30
    assert found.forms[0].fields["f299"].static["label"] == "range(0).len()"


def test_load_all_goes_on() -> None:
    text = definition("name: a", "name: b, type: string, bogus: 1", "name: c, type: string", version="9")
    found, problems = load_all(text, "ui.yaml")
    assert found is not None and list(found.forms[0].fields) == ["b", "c"]
    assert [p.code for p in problems if p.severity == "error"] == ["DUI101", "DUI100", "DUI102"]


TEXTS = [file.read_text() for file in FILES[::12]]


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_damaged_definitions_are_loaded_or_refused(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(TEXTS))
    start = text.index("ui: |")
    body = "\n".join(line[2:] for line in text[start:].splitlines()[1:])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, max(0, len(body) - 1)))
        cut = data.draw(st.integers(0, 12))
        body = body[:at] + data.draw(st.text("ab:-{}[]$.'\"\n !?1,", max_size=4)) + body[at + cut :]
    try:
        load(body, "ui.yaml")
    except DynamicFormError as error:
        assert error.position is not None
    load_all(body, "ui.yaml")
