from __future__ import annotations

import json

from tests.forms.dynamic.making import Session, definition


def test_a_field_with_everything() -> None:
    session = Session(
        definition(
            "name: a, type: string, label: L, description: D, descriptionTitle: T, helpText: H, required: false,"
            " initial: i, minLength: 1, maxLength: 9, regexpValidator: '/^i/i', widgetAttrs: {size: 5, onclick: x},"
            " widgetMedia: {js: [my/x.js]}, errorMessages: {invalid: wrong}"
        )
    )
    found = session.field("a")
    assert (found.kind, found.label, found.description, found.description_title, found.help) == (
        "string",
        "L",
        "D",
        "T",
        "H",
    )
    assert (found.required, found.placeholder, found.initial, found.answered) == (False, "Optional", "i", False)
    assert found.constraints == {
        "minLength": 1,
        "maxLength": 9,
        "regex": "(?i)^i",
        "pattern": "^[Ii\\u0130-\\u0131]",
        "messages": {"pattern": "wrong"},
    }
    assert found.attributes == {"size": "5"} and found.media == {"js": ["my/x.js"]}


def test_hidden_fields_speak_above_the_form() -> None:
    session = Session(
        definition("name: t, type: string, required: false, hidden: true, description: Words, descriptionTitle: Title")
    )
    page = session.page()
    assert list(page.intro) == ["Words", "Title"]
    (field,) = page.fields()
    assert (field.visible, field.description, field.description_title) == (False, "", "")


def test_kinds_and_widgets() -> None:
    kinds = {
        "string": ("string", ""),
        "text": ("text", "textarea"),
        "integer": ("integer", ""),
        "boolean": ("boolean", ""),
        "password": ("string", "password"),
        "clusterip": ("string", "ipv4"),
        "databaselist": ("list", "names"),
        "choice": ("choice", "select"),
        "flavor": ("choice", "select"),
        "network": ("choice", "select"),
        "com.example.Tomcat": ("reference", "app-select"),
        "com.example.Missing": ("reference", "error-text"),
    }
    session = Session(definition(*(f"name: f{i}, type: {kind}" for i, kind in enumerate(kinds))))
    shown = {f.name: (f.kind, f.widget) for f in session.page().fields() if not f.confirms}
    assert list(shown.values()) == list(kinds.values())


def test_names_with_slashes_are_escaped_in_paths() -> None:
    session = Session(definition("name: 'a/b~c', type: string"))
    session.send()
    (field,) = session.page().fields()
    assert field.problems[0].place == "/a~1b~0c"


def test_pages_are_json_and_do_not_change_each_other() -> None:
    session = Session(definition("name: a, type: string, initial: x", "name: b, type: network"))
    before = json.dumps(session.wizard.form(session.state).as_json())
    session.send(a="", b="nonsense")
    after = json.dumps(session.wizard.form(session.state).as_json())
    assert "This field is required." in after and "This field is required." not in before
    fresh = session.wizard.start()
    assert json.dumps(session.wizard.form(fresh).as_json()) == before
