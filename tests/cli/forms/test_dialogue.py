"""A form at the terminal: pages, problems at the field, back, review."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.cli.formkit import Person, definition_form_session
from vetro.cli.forms.answers import UnknownAnswer
from vetro.cli.forms.dialogue import Dialogue
from vetro.forms.queries import answerer
from vetro.forms.sessions import DefinitionFormSession, FormSession


def filled(
    form_session: FormSession, person: Person, given: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    """What comes of it; everything that was typed must have been asked for."""
    dialogue = Dialogue(form_session, form_session.begin(), given or {}, person, **more)
    work = dialogue.run()
    assert person.left() == []
    return form_session.result(work)


def test_a_definition_from_page_to_page() -> None:
    person = Person("shop", "7", "", "some text", "Red", "")
    made = filled(definition_form_session(), person)
    assert (made["name"], made["size"], made["text"], made["?"]["type"]) == ("shop", 7, "some text", "t.Box")
    assert person.prompts()[:5] == ["Name", "Size", "Loud", "Text for shop", "Colour"]
    assert "Step 1 of 2: main" in person.shown
    assert [line.strip() for line in person.shown if line.endswith(("some text", "Red"))][-2:] == [
        "5  Text for shop: some text",
        "6  Colour: Red",
    ]


def test_an_answer_that_does_not_fit_is_asked_for_again_at_once() -> None:
    person = Person("SHOP", "shop", "12", "x", "", "", "", "", "")
    assert filled(definition_form_session(), person)["size"] == 3
    wrong = [line for line in person.shown if line.startswith("  E")]
    assert wrong[:3] == [
        "  Enter a valid value.",
        "  Ensure this value is less than or equal to 9.",
        "  Enter a whole number.",
    ]


def test_what_nobody_answers_is_asked_again() -> None:
    person = Person("", "shop", "", "", "", "", "")
    assert filled(definition_form_session(), person)["name"] == "shop"
    assert "  This field is required." in person.shown


def test_a_field_appears_with_the_answer_that_it_depends_on() -> None:
    text = """\
Version: 2
Application: {'?': {type: t.Box}, key: $.main.key}
Forms:
  - main:
      fields:
        - {name: kind, type: choice, label: Kind, choices: [[a, A], [b, B]]}
        - {name: key, type: string, label: Key, hidden: $.main.kind = a, required: $.main.kind = b}
"""
    without = Person("A", "")
    assert filled(definition_form_session(text), without)["key"] == ""
    assert "Key" not in without.prompts()
    with_it = Person("B", "", "k", "")
    assert filled(definition_form_session(text), with_it)["key"] == "k"


def test_secrets_are_typed_twice_and_never_shown() -> None:
    strong = "Str0ng!pass"
    person = Person("shop", "", "y", strong, "other", "weak", "weak", strong, strong, "", "", "", "")
    form_session = definition_form_session()
    dialogue = Dialogue(form_session, form_session.begin(), {}, person)
    work = dialogue.run()
    assert work["state"]["steps"][0]["raw"]["secret"] == strong
    assert strong not in "\n".join(person.shown)
    assert [p for p in person.shown if p.startswith("(hidden)")]
    assert "  These are not the same. Once more." in person.shown
    assert any("at least one letter" in line for line in person.shown)
    assert "   4  Secret: ••••••" in person.shown


def test_back_to_the_question_and_to_the_page_before() -> None:
    person = Person("shopp", "<", "shop", "4", "", "<", "", "", "n", "", "", "")
    made = filled(definition_form_session(), person)
    assert (made["name"], made["size"]) == ("shop", 4)
    assert person.prompts().count("Name") >= 3


def test_back_from_the_first_question_stays_there() -> None:
    person = Person("<", "shop", "", "", "", "", "")
    filled(definition_form_session(), person)
    assert "  This is the first question." in person.shown


def test_a_number_in_the_review_changes_one_answer_and_asks_nothing_else() -> None:
    person = Person("shop", "", "", "", "", "2", "5", "9999", "")
    assert filled(definition_form_session(), person)["size"] == 5
    assert person.prompts().count("Name") == 1
    assert "  Type one of the numbers, or only Enter." in person.shown
    assert "   2  Size: 5" in person.shown


def test_help_explains_and_a_backslash_makes_text_of_a_command() -> None:
    text = "Version: 2\nApplication: {'?': {type: t.A}, a: $.m.a}\nForms: [{m: {fields: [{name: a, type: string}]}}]\n"
    person = Person("?", "\\?", "")
    assert filled(definition_form_session(text), person)["a"] == "?"
    assert "  An answer is needed." in person.shown


def test_lines_of_a_text_end_with_a_dot() -> None:
    text = "Version: 2\nApplication: {'?': {type: t.A}, a: $.m.a}\nForms: [{m: {fields: [{name: a, type: text}]}}]\n"
    assert filled(definition_form_session(text), Person("one", "", "\\.", "two", ".", ""))["a"] == "one\n\n.\ntwo"


def test_given_answers_are_suggested() -> None:
    given = {"main": {"name": "given", "size": 6}, "more": {"colour": "r"}}
    person = Person("", "", "", "", "", "")
    made = filled(definition_form_session(), person, given)
    assert (made["name"], made["size"]) == ("given", 6)
    assert any(line.startswith("Name * [given]") for line in person.shown)


@pytest.mark.parametrize(
    ("given", "said"), [({"mian": {}}, "main"), ({"main": {"nmae": 1}}, "name"), ({"main": 1}, "PAGE|page")]
)
def test_answers_that_nobody_asks_for(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UnknownAnswer) as caught:
        filled(definition_form_session(), Person(), given)
    assert any(word in f"{caught.value.message} {caught.value.hint}" for word in said.split("|"))


@pytest.mark.parametrize("gone", [EOFError, KeyboardInterrupt])
def test_whoever_goes_away_has_lost_nothing(gone: type[BaseException]) -> None:
    form_session = definition_form_session()
    dialogue = Dialogue(form_session, form_session.begin(), {"more": {"text": "later"}}, Person("shop", "8", gone))
    with pytest.raises(gone):
        dialogue.run()
    from vetro.cli.forms.answers import kept_answers

    kept = kept_answers(form_session, dialogue.work, {"more": {"text": "later"}})
    assert (kept["main"]["name"], kept["main"]["size"], kept["more"]) == ("shop", "8", {"text": "later"})
    again = Person("", "", "", "", "", "")
    made = filled(definition_form_session(), again, kept)
    assert (made["name"], made["size"], made["text"]) == ("shop", 8, "later")


APPLICATION = """\
Version: 2.0
Application: {'?': {type: t.Box}, db: $.main.db}
Forms: [{main: {fields: [{name: db, type: t.Db, label: Database}]}}]
"""


def test_an_application_for_a_field_is_made_on_the_way() -> None:
    there: list[dict[str, Any]] = []

    class Effects:
        def perform(self, key: str, kind: str, args: dict[str, Any]) -> Any:
            return [{"fqn": "t.Db", "name": "Small database"}] if args["what"] == "packages" else there

    answer = answerer(SimpleNamespace(effects=Effects(), task=None))  # type: ignore[arg-type]
    answer({"do": "load", "text": APPLICATION, "origin": "ui.yaml"})
    about = {"package": {"fqn": "t.Box", "name": "Box", "version": "1.0.0"}, "quick": True, "referred": False}

    def create(package: str) -> str | None:
        if not asked:
            asked.append(package)
            return None  # the person went away from its form
        there.append({"id": "d1", "name": "books", "type": "t.Db/1.0.0"})
        return "d1"

    asked: list[str] = []
    person = Person("new: Small database", "new: Small database", "")
    made = filled(DefinitionFormSession(answer, about), person, create=create)
    assert (made["db"], asked) == ("d1", ["t.Db"])
    assert "Back to Database" in person.shown and "   1  Database: books" in person.shown
    # Without an environment to put it into there is nothing to make.
    person = Person("books", "")
    assert filled(DefinitionFormSession(answer, about), person)["db"] == "d1"
    assert not [line for line in person.shown if "new:" in line]
