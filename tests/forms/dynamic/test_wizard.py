from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.forms.dynamic.making import Session, definition, stored, surroundings
from vetro.forms.dynamic import (
    DefinitionError,
    StaticActionFailed,
    StaticCall,
    Wizard,
    WizardStateError,
    load,
    quick_environment_name,
)

TWO = """
Version: 2.4
Parameters: {word: generateHostname('', 1)}
Application:
  ?: {type: com.example.App}
  a: $.one.a
  b: $.two.b
  word: $word
Forms:
  - one: {fields: [{name: a, type: string, initial: x}]}
  - two: {fields: [{name: b, type: string, initial: $.one.a}, {name: w, type: string, initial: $word}]}
"""


def test_the_way_through() -> None:
    session = Session(TWO)
    form = session.wizard.form(session.state)
    assert [(page.name, page.title) for page in form.pages] == [
        ("one", "Step 1"),
        ("two", "Step 2"),
        ("workflowManagement", "Step 3"),
    ]
    assert form.title == "App" and list(form.pages[0].fields()) and not list(form.pages[1].fields())
    outcome = session.send(a="db", bogus="dropped")
    assert (outcome.kind, outcome.step, outcome.cleaned) == ("next", 1, {"a": "db"})
    assert session.field("b").initial == "db"
    word = session.field("w").initial
    session.send(b="q", w=word)
    model = session.model("named")
    assert (model["a"], model["b"], model["word"]) == ("db", "q", word)
    assert model["?"]["name"] == "named"
    assert session.wizard.answers(session.state)["two"] == {"b": "q", "w": word}


def test_states_are_never_changed() -> None:
    session = Session(TWO)
    before = session.state
    kept = copy.deepcopy(before)
    session.wizard.submit(before, {"a": "y"})
    session.wizard.submit(before, {"a": ""})
    session.wizard.back(before, 0)
    session.wizard.page(before, tentative={"a": "z"})
    assert before == kept


def test_going_back_keeps_what_was_answered() -> None:
    session = Session(TWO)
    session.send(a="db")
    session.send(b="q", w="w")
    session.state = session.wizard.back(session.state, 0)
    assert (session.field("a").value, session.field("a").answered) == ("db", True)
    session.send(a="changed")
    assert session.field("b").value == "q"


def test_last_step_first() -> None:
    session = Session(TWO)
    outcome = session.send(2, application_name="n")
    assert (outcome.kind, outcome.step) == ("next", 0)
    with pytest.raises(WizardStateError, match="not all steps"):
        session.wizard.model(session.state)


def test_reload_after_an_error_shows_it_again() -> None:
    session = Session(TWO)
    session.send(a="")
    page = session.page()
    (field,) = page.fields()
    assert [p.message for p in field.problems] == ["This field is required."]
    assert field.problems[0].place == "/a" and field.value == ""


def test_tentative_answers_compute_without_complaints() -> None:
    text = definition(
        "name: use, type: boolean",
        "name: n, type: integer, minValue: 5",
        "name: a, type: string, enabled: $.main.use, label: str($.main.n)",
    )
    session = Session(text)
    assert session.field("a").enabled is False
    field = session.field("a", tentative={"use": "on", "n": "7"})
    assert (field.enabled, field.label, field.problems) == (True, "7", [])
    assert session.field("n", tentative={"n": "1"}).value == 1
    assert session.field("a").depends_on == ["/n", "/use"]


def test_validate_keeps_nothing() -> None:
    session = Session(definition("name: a, type: integer", validators="- {expr: $.main.a > 1, message: more}"))
    before = stored(session.state)
    assert session.wizard.validate(session.state, {"a": "x"}) == ({"a": ["Enter a whole number."]}, [])
    assert session.wizard.validate(session.state, {"a": "1"}) == ({}, ["more"])
    assert session.wizard.validate(session.state, {"a": "2"}) == ({}, [])
    assert session.state == before


def test_opened_again_with_the_answers() -> None:
    session = Session(TWO)
    session.send(a="db")
    session.send(b="q", w="w")
    first = session.model()
    old = session.state
    again = Session(TWO.replace("name: w,", "name: other,"))
    again.state = stored(again.wizard.reopen(old))
    assert again.field("a").value == "db"
    assert again.state["steps"][1]["raw"] == {"b": "q"}
    again.send(a="changed")
    assert again.send(b="q", other="o").kind == "next"
    again.send(application_name="app")
    changed = again.wizard.model(again.state, first)
    assert changed["?"]["id"] == first["?"]["id"]
    assert (changed["a"], changed["b"]) == ("changed", "q")


@pytest.mark.parametrize(
    "damage",
    [
        lambda state: state.update(format=0),
        lambda state: state["steps"].pop(),
        lambda state: state["steps"][0].update(form="other"),
        lambda state: state.update(step=9),
        lambda state: state.update(step=-1),
        lambda state: state.update(step="1"),
        lambda state: state.pop("steps"),
        lambda state: state.update(steps=[1, 2, 3]),
        lambda state: state.clear(),
    ],
)
def test_states_of_something_else(damage: Any) -> None:
    session = Session(TWO)
    damage(session.state)
    with pytest.raises(WizardStateError) as caught:
        session.page()
    assert "open it again" in caught.value.civil


def test_no_such_step() -> None:
    session = Session(TWO)
    with pytest.raises(WizardStateError, match="there is no step 8, only 3"):
        session.page(7)


def test_before_two_two_a_referred_wizard_has_no_built_in_step() -> None:
    text = definition("name: a, type: string", application="v: $.main.a", version="2.1")
    session = Session(text, referred=True)
    assert len(session.wizard.steps) == 1
    assert session.send(a="x").kind == "done"
    assert session.wizard.model(session.state)["v"] == "x"
    assert session.wizard.stays(session.state) is True


def test_no_form_at_all() -> None:
    session = Session("Version: 2.0\nApplication: {'?': {type: a.B}}\n", quick=True)
    assert [page.title for page in session.wizard.form(session.state).pages] == ["Step 1"]
    assert session.send().kind == "done"
    assert session.wizard.model(session.state)["?"]["type"] == "a.B"
    assert session.wizard.stays(session.state) is False


def test_where_the_person_goes() -> None:
    session = Session(definition())
    session.send()
    assert session.send(application_name="a", stay_at_the_catalog="on").kind == "done"
    assert session.wizard.stays(session.state) is True


def test_quick_environment_name() -> None:
    assert quick_environment_name([]) == "quick-env-1"
    assert quick_environment_name(["quick-env-4", "quick-env-x", "quick-env-11", "my-quick-env-99"]) == "quick-env-12"


def test_static_action_is_called_once() -> None:
    calls: list[StaticCall] = []

    def call(asked: StaticCall) -> Any:
        calls.append(asked)
        return {"n": 10, "9": "left out", "nested": {"k": [1, {"x": None}]}}

    text = definition(
        "name: a, type: string, label: $nested.keys().first()", application="v: [$n, $m, $nested]", sections=""
    )
    text = text.replace("Application", "Parameters: {n: 1, m: $n * 2}\nParametersSource: a.b.C.run\nApplication", 1)
    session = Session(text, call_static=call)
    session.send(a="x")
    assert session.model()["v"] == [10, 20, {"k": [1, {"x": None}]}]
    assert calls == [StaticCall("a.b.C", "run", "com.example.App", "1.0.0")]


@pytest.mark.parametrize("failing", [None, lambda call: 1 / 0])
def test_static_action_that_fails(failing: Any) -> None:
    text = "ParametersSource: run\nApplication: {'?': {type: 'a.B/1.0'}}\n"
    with pytest.raises(StaticActionFailed, match=r"ParametersSource a\.B\.run") as caught:
        Wizard(load(text), surroundings(call_static=failing)).start()
    assert caught.value.position.line == 1
    assert "try again later" in caught.value.civil


def test_application_that_gives_no_object() -> None:
    text = "Version: 2.4\nTemplates: {t: [1]}\nApplication: $t\n"
    session = Session(text)
    assert session.send(application_name="x").kind == "done"
    with pytest.raises(DefinitionError, match="gives no mapping") as caught:
        session.wizard.model(session.state)
    assert caught.value.position.line == 3


def test_a_field_that_the_first_look_at_a_page_must_show_already() -> None:
    session = Session(
        definition(
            "name: boxed, type: boolean, initial: true",
            "name: mail, type: string, hidden: not $.main.boxed, required: false",
            "name: size, type: integer, initial: 7",
            "name: note, type: string, enabled: $.main.size > 8, required: false",
        )
    )
    assert session.field("mail").visible
    assert not session.field("note").enabled
    # What stands there is no answer yet.
    assert not session.field("size").answered
    session.send(mail="a", size="9")
    assert not session.field("mail", 0).visible
    assert session.field("note", 0).enabled
