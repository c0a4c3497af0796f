"""Messages in the language of the reader: each template has its German text, with its values, and pages say it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils.translation import override

from tests.server.messages import SOURCE, key, missing, names, templates, templates_of, translations
from tests.server.web.wording import entry
from vetro.diagnostics import AuthorText, Text, decode_messages, sentence
from vetro.forms.model import Field
from vetro.forms.validation import message_of
from vetro.packages.checks.classes import check_classes
from vetro.packages.checks.package import check_tree
from vetro.packages.files import MemoryTree
from vetro.packages.formats import default_registry
from vetro.server.language import read, translated, translated_data
from vetro.server.web.views.wizard.controls import spoken


def test_every_template_that_a_page_may_show_has_a_german_text() -> None:
    found = missing()
    print("\n".join(entry(template, place) for template, place in found.items()))
    assert not list(found), "templates without translation: python -m tests.server.messages prints entries for them"


def test_people_read_of_applications_wherever_code_says_components() -> None:
    """One word for one thing (docs/glossary.md): of the catalog, and of an environment."""
    pages = SOURCE / "server" / "locale" / "de" / "LC_MESSAGES" / "django.po"
    said = set(translations()) | set(read(pages.read_text("utf-8")))
    assert sorted(text for text in said if re.search(r"(?<!\{)\bcomponents?\b", text, re.IGNORECASE)) == []


def test_no_translation_is_left_of_a_template_that_is_gone() -> None:
    known = {key(template) for template in templates()}
    assert [template for template in translations() if key(template) not in known] == []


def test_translations_have_the_values_of_their_templates() -> None:
    assert [said for said, meant in translations().items() if names(said) != names(meant)] == []


def test_no_template_is_computed() -> None:
    """What is computed has no translation: `templates_of` refuses it."""
    for path in sorted(SOURCE.rglob("*.py")):
        list(templates_of(path.read_text("utf-8")))
    with pytest.raises(ValueError, match="is a text, not"):
        list(templates_of("from vetro.diagnostics import Text\nText(f'{a} is there')"))


def test_no_error_is_raised_with_a_formatted_sentence_where_messages_are_used() -> None:
    """A sentence with values in it is a `Text`; a formatted one beside them would stay English on German pages."""
    wrong = []
    for path in sorted(SOURCE.rglob("*.py")):
        source = path.read_text("utf-8")
        if "from vetro.diagnostics import" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call):
                continue
            python = ast.unparse(node.exc.func) in ("AttributeError", "OSError", "ValueError")
            if not python and any(isinstance(argument, ast.JoinedStr) for argument in node.exc.args):
                wrong.append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (
            Text("There is no {what} '{name}'; did you mean '{close}'?", what=Text("user"), name="'odd'", close="odd"),
            "Konto „'odd'“ gibt es nicht; meinten Sie „odd“?",
        ),
        (message_of({"code": "type", "types": ["string", "integer"]}), "Das muss Text oder eine ganze Zahl sein."),
        (message_of({"code": "max_length", "limit": 3}), "Höchstens 3 Zeichen."),
        (
            sentence(Text("expected an integer, got {show}", show="'x'")),
            "Eine ganze Zahl wird erwartet, gegeben ist 'x'.",
        ),
        (
            Text("{place}: {message}", place="abc", message=Text("expected an integer, got {show}", show="'x'")),
            "abc: Eine ganze Zahl wird erwartet, gegeben ist 'x'.",
        ),
        (Text("the manifest is {describe}", describe=Text("a list")), "Das Manifest ist eine Liste."),
        (Text("{describe} cannot be a key", describe=Text("a list")), "Eine Liste kann kein Schlüssel sein."),
        (
            Text(
                "{what} must be a mapping, not {describe}",
                what=Text("property '{name}'", name="size"),
                describe=Text("nothing"),
            ),
            "Die Eigenschaft „size“ muss eine Abbildung sein, nicht nichts.",
        ),
        (
            Text("unknown {what} {described}", what=Text("property usage"), described="'Inn'"),
            "Unbekannter Wert für Usage einer Eigenschaft: 'Inn'",
        ),
        (Text("nobody translated {this}", this="this"), "nobody translated this"),
        ("There is no user 'x'.", "There is no user 'x'."),  # a text of a package is nobody's message
        (None, ""),
    ],
)
def test_messages_are_said_in_german_with_their_values(text: str | None, meant: str) -> None:
    with override("de"):
        assert translated(text) == meant
        assert translated(decode_messages(text)) == meant
    with override("en"):
        assert translated(text) == (text or "")
    with override("de"):
        assert translated_data({"a": [text]}) == {"a": [meant or None]}


def test_authors_who_do_not_write_english_may_translate_into_it() -> None:
    seats = AuthorText("Plätze", {"en": "Seats"})
    with override("en"):
        assert translated(seats) == "Seats"
        assert translated_data({"a": [seats]}) == {"a": ["Seats"]}
        assert spoken(Field("seats", "integer", seats)).label == "Seats"
    with override("de"):
        assert translated_data([seats]) == ["Plätze"]


def test_what_is_found_in_packages_is_told_in_german() -> None:
    manifest = "FullName: a.B\nType: Library\nClasses: {a.B: B.yaml}\nLogo: gone.png\nRequir: {}\n"
    code = (
        "Name: B\nExtends: q:C\nPropertys: {}\nProperties:\n  x: {Contract: $, Usage: Inn}\n  y: []\n"
        "Methods:\n  m:\n    Body:\n      - Whil: $x\n        Do: []\n      - Return\n      - Repeat: x\n        Do: []"
    )
    tree = MemoryTree({"manifest.yaml": manifest, "Classes/B.yaml": code}, "pkg")
    found = [*check_tree(tree), *check_classes(default_registry().load(tree))]
    texts = [text for problem in found for text in (problem.message, problem.hint) if text]
    assert len(texts) > 15
    with override("de"):
        assert [text for text in texts if translated(text) == text] == []


def test_pages_tell_what_a_rule_refuses_in_their_language(ann: Any, browser: Callable[[Any], Client]) -> None:
    client = browser(ann)
    given = {"name": " ", "description": ""}
    german = client.post("/app/environments/new", given, headers={"accept-language": "de"}).content.decode()
    assert "Geben Sie den Namen der neuen Umgebung an." in german
    assert "Please, specify" not in german
    english = client.post("/app/environments/new", given, headers={"accept-language": "en"}).content.decode()
    assert "Please, specify a name" in english


def test_what_is_not_there_is_told_in_the_language_of_the_page(ann: Any, browser: Callable[[Any], Client]) -> None:
    page = browser(ann).get("/app/environments/nothing/", headers={"accept-language": "de"})
    assert page.status_code == 404
    assert "Die Umgebung „nothing“ gibt es nicht." in page.content.decode()


def test_a_page_that_is_not_there_keeps_the_way_to_the_others(ann: Any, browser: Callable[[Any], Client]) -> None:
    page = browser(ann).get("/app/nowhere", headers={"accept-language": "de"})
    assert page.status_code == 404
    assert "Diese Seite gibt es nicht." in page.content.decode() and "/app/environments/" in page.content.decode()
    stranger = Client().get("/app/nowhere")
    assert stranger.status_code == 404 and "/app/environments/" not in stranger.content.decode()
