"""What the rules say is told in the language of the page, with its values, and no sentence is forgotten."""

from __future__ import annotations

import time
from collections.abc import Callable
from string import Formatter
from typing import Any

import pytest
from django.test import Client
from django.utils.translation import override

from tests.server.web.rules import missing, rules, translated
from tests.server.web.wording import entry
from vetro.packages.checks.classes import check_classes
from vetro.packages.checks.package import check_tree
from vetro.packages.files import MemoryTree
from vetro.packages.formats import default_registry
from vetro.server.web.language import read
from vetro.server.web.rule_texts import in_words, path_of, phrase


def _names(sentence: str) -> list[str]:
    return sorted(name for _, name, *_ in Formatter().parse(sentence) if name is not None)


def test_every_sentence_of_the_rules_has_a_german_one() -> None:
    found = missing()
    print("\n".join(entry(sentence, place) for sentence, place in found.items()))
    assert not list(found), "sentences without translation: python -m tests.server.web.rules prints entries for them"


def test_no_sentence_is_left_of_a_rule_that_is_gone() -> None:
    assert not sorted(set(translated()) - set(rules()))


def test_sentences_have_the_values_of_their_rules() -> None:
    assert [said for said, meant in translated().items() if _names(said) != _names(meant)] == []


def test_every_sentence_is_recognised_by_its_words_and_keeps_its_values() -> None:
    wrong = []
    with override("de"):
        for sentence, meant in translated().items():
            values = {name: f"Wert{number}x" for number, name in enumerate(_names(sentence))}
            values = {name: f"'{value}'" if name.startswith("describe") else value for name, value in values.items()}
            if in_words(sentence.format(**values)) != meant.format(**values):
                wrong.append((sentence, in_words(sentence.format(**values))))
    assert wrong == []


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("There is a user 'It is {odd}' already.", "Es gibt schon ein Konto „It is {odd}“."),
        ("There is no user 'ana'; did you mean 'ann'?", "Konto „ana“ gibt es nicht; meinten Sie „ann“?"),
        ("This must be text or a whole number.", "Das muss Text oder eine ganze Zahl sein."),
        ("Use at most 3 characters.", "Höchstens 3 Zeichen."),
        ("Expected an integer, got 'x'.", "Eine ganze Zahl wird erwartet, gegeben ist 'x'."),
        ("abc: size: Expected an integer, got 'x'.", "abc: size: Eine ganze Zahl wird erwartet, gegeben ist 'x'."),
        (
            "Couldn't load package from file: it has 1,001 tags, 1,000 at most",
            "Das Paket konnte nicht geladen werden: Es hat 1,001 Schlagworte, höchstens 1,000 sind erlaubt.",
        ),
        ("Nobody translated this.", "Nobody translated this."),
        ("the manifest is a list", "Das Manifest ist eine Liste."),
        ("UI is 'x'", "UI ist 'x'."),
        ("a list cannot be a key", "Eine Liste kann kein Schlüssel sein."),
        (
            "property 'size' must be a mapping, not nothing",
            "Die Eigenschaft „size“ muss eine Abbildung sein, nicht nichts.",
        ),
        ("unknown property usage 'Inn'", "Unbekannter Wert für Usage einer Eigenschaft: 'Inn'"),
        ("'range' of parameter 'a' is 'x'", "„range“ von Parameter „a“ ist 'x'."),
        ("the type of parameter 'a' is a list", "Der Typ von Parameter „a“ ist eine Liste."),
        ("size must not be negative, not -1", "size darf nicht negativ sein, ist aber -1."),
        (
            "the archive is refused: entry 'a/../..': the path leads out of its folder ('..')",
            "Das Archiv wird abgelehnt: Eintrag 'a/../..': Der Pfad führt aus seinem Ordner hinaus („..“).",
        ),
        (
            "not a valid expression: unexpected ')'",
            "Kein gültiger Ausdruck: „)“ ist hier nicht erwartet.",
        ),
        ("unknown key 'title' is ignored", "Der unbekannte Schlüssel „title“ wird ignoriert."),
        # Of sentences with few words of their own, only those that cannot be others.
        ("The machine is slow", "The machine is slow"),
        ("Every agent needs more memory", "Every agent needs more memory"),
        ("unknown state of a machine", "unknown state of a machine"),
    ],
)
def test_sentences_with_values(said: str, meant: str) -> None:
    with override("de"):
        assert in_words(said) == meant
    with override("en"):
        assert in_words(said) == said


def test_values_that_are_parts_of_sentences_are_recognised_and_keep_theirs() -> None:
    entries = read(path_of("de").read_text("utf-8"))
    parts = {key.removeprefix("part\4"): text for key, text in entries.items() if key.startswith("part\4")}
    assert len(parts) > 20
    with override("de"):
        for part, meant in parts.items():
            values = {name: f"Wert{number}x" for number, name in enumerate(_names(part))}
            assert _names(part) == _names(meant)
            said = in_words(f"{part.format(**values)} must be a list, not nothing")
            begins = meant.format(**values) if values else meant[:1].upper() + meant[1:]
            assert said == f"{begins} muss eine Liste sein, nicht nichts."
            if not values:
                assert phrase(part) == part


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
        assert [text for text in texts if in_words(text) == text] == []


def test_nothing_is_nothing() -> None:
    with override("de"):
        assert [in_words(None), in_words("")] == ["", ""]


def test_a_text_made_to_be_hard_to_recognise_takes_no_time() -> None:
    text = "There is no user '" * 200 + "; did you mean '" * 200
    with override("de"):
        in_words("warm")
        begin = time.thread_time()
        for _ in range(10):
            in_words(text)
    assert time.thread_time() - begin < 1


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
