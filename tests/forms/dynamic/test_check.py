from __future__ import annotations

from pathlib import Path

import pytest

from tests.dynamic_ui.test_cases import FILES
from tests.forms.dynamic.making import definition
from vetro.forms.dynamic import check


def found(text: str, **options: object) -> list[tuple[str, str, int, int]]:
    return [(p.severity, p.code, p.place.line, p.place.column) for p in check(text, "UI/ui.yaml", **options)]  # type: ignore[arg-type]


def test_nothing_to_say() -> None:
    text = definition(
        "name: a, type: string, initial: $p",
        "name: pw, type: password",
        application="\n".join(
            (
                "v: $.main.a",
                "w: $t",
                "x: $.workflowManagement.application_name",
                "y: $.main.get('pw-clone')",
                "z: $forms.main.pw",
            )
        ),
        sections="Parameters: {p: 1 + 1}\nTemplates: {t: {n: $index, h: generateHostname($.main.a, $index)}}",
        validators="- {expr: $.main.a != x, message: no x}",
    )
    assert check(text, "UI/ui.yaml") == []


@pytest.mark.parametrize(
    ("text", "problem", "words"),
    [
        (definition(application="v: $.other.a"), ("warning", "DUI113", 4, 6), "there is no form 'other'"),
        (
            definition("name: ab, type: string", application="v: $.main.ac"),
            ("warning", "DUI113", 4, 6),
            "has no field 'ac'",
        ),
        (definition(application="v: foo-bar"), ("error", "DUI200", 4, 6), "cannot be evaluated"),
        (definition(application="v: getDict($.main)"), ("warning", "DUI112", 4, 6), "no function 'getDict'"),
        (definition(application="v: $.main.foo()"), ("warning", "DUI112", 4, 6), "no method 'foo'"),
        (definition(application="v: $nobody"), ("warning", "DUI112", 4, 6), "$nobody is null here"),
        (definition("name: a, type: string, initial: foo-bar"), ("error", "DUI200", 7, 43), "cannot be evaluated"),
        (definition("name: a, type: string, label: foo-bar"), ("warning", "DUI111", 7, 41), "taken as text"),
        (definition("name: a, type: string, hidden: true"), ("warning", "DUI110", 7, 11), "nobody can pass"),
        (definition("name: a, type: string, validators: [{expr: $ = 1}]"), ("warning", "DUI110", 7, 47), "no message"),
        (
            definition("name: a, type: string, validators: [{expr: $.main.a = 1, message: m}]"),
            ("warning", "DUI113", 7, 55),
            "the validator of a field does not see form 'main': $ is the field's own value",
        ),
        (
            definition("name: a, type: string, validators: [{expr: $ like b, message: m}]"),
            ("warning", "DUI110", 7, 55),
            "text and never",
        ),
        (definition(validators="- expr: $.main = 1"), ("warning", "DUI110", 8, 11), "no message"),
        (definition("name: a, type: string, bogus: 1"), ("error", "DUI102", 7, 34), "does not know"),
        (definition("name: a, type: strnig"), ("warning", "DUI115", 7, 11), "no type of fields 'strnig'"),
        (definition(version="1.0"), ("error", "DUI101", 1, 10), "supported family 2"),
        ("a: [", ("error", "DUI100", 2, 1), "not valid YAML"),
    ],
)
def test_findings(text: str, problem: tuple[str, str, int, int], words: str) -> None:
    problems = check(text, "UI/ui.yaml")
    assert problem[0] in [p.severity for p in problems]
    (match,) = [p for p in problems if words in p.message]
    line, column = match.place.line, match.place.column
    assert (match.severity, match.code, line) == problem[:3] and match.place.file == "UI/ui.yaml"
    assert abs(column - problem[3]) <= 1, column


def test_what_a_source_gives_is_not_known() -> None:
    assert found(definition(application="v: $nobody", sections="ParametersSource: run")) == []


def test_files_of_widget_media() -> None:
    text = definition("name: a, type: string, widgetMedia: {js: [there.js, gone.js], css: {all: ['x.css']}}")
    problems = check(text, "ui.yaml", media_exists=lambda name: name == "there.js")
    assert [(p.code, p.message) for p in problems] == [
        ("DUI114", "there is no file 'x.css' for widgetMedia"),
        ("DUI114", "there is no file 'gone.js' for widgetMedia"),
    ]
    assert check(text, "ui.yaml") == []


@pytest.mark.parametrize("file", FILES[::7], ids=lambda file: file.stem)
def test_never_raises(file: Path) -> None:
    text = file.read_text()
    check(text, str(file))
    check(text[: len(text) // 2], str(file))


def test_a_validator_that_cannot_be_read_says_why() -> None:
    (problem,) = check(definition("name: a, type: string, validators: [{expr: $ like b, message: m}]"), "UI/ui.yaml")
    assert problem.hint is not None
    assert "unexpected" in problem.hint.lower() or "like" in problem.hint
    (problem,) = check(definition("name: a, type: string, validators: [{expr: '$ = 1', message: m}]"), "UI/ui.yaml")
    assert problem.hint == "take the quotes away, or write !yaql before them"
