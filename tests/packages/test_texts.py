"""What packages say in other languages: read, looked up, checked; skeletons for authors."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from vetro.diagnostics import AuthorText, Text
from vetro.packages.changelog import read_changes
from vetro.packages.checks.package import check_tree
from vetro.packages.files import MemoryTree
from vetro.packages.formats import default_registry
from vetro.packages.package import LoadedPackage
from vetro.packages.texts import (
    LARGEST,
    MOST_ENTRIES,
    Source,
    authored,
    check_translations,
    missing,
    normal,
    read_translations,
    skeleton,
    sources,
    translations,
    with_translations,
    worded,
)

MANIFEST = """\
Format: 1.4
Type: Application
FullName: com.example.Board
Version: 1.0.0
Name: Board
Description: |
  A board
  with topics.
Classes: {com.example.Board: Board.yaml}
"""
CLASS = """\
Namespaces: {=: com.example, m: io.murano.metadata, f: io.murano.metadata.forms, v: io.vetro.forms}
Name: Board
Meta:
  - m:Title: {text: Board of topics}
  - f:Section: {name: more, title: And more}
  - v:Preset: {name: small, title: Small, description: For a few, values: {seats: 2}}
Properties:
  seats:
    Contract: $.int().notNull().check($ > 0, 'at least {0} seat')
    Meta:
      - m:Title: {text: Seats}
      - m:HelpText: {text: 'How many, 1 or more'}
  colour:
    Contract: $.string().check($ in [red, green])
  made:
    Contract: $.string()
    Usage: Out
Methods:
  clear:
    Scope: Public
    Meta:
      - m:Description: {text: Removes all topics}
    Arguments:
      - because:
          Contract: $.string().check(len($) < 9, 'short')
          Meta: {m:Title: {text: Why}}
  _secret:
    Arguments: {hidden: {Contract: $.string()}}
"""
FORM = """\
Version: 2.4
Application: {'?': {type: com.example.Board}}
Forms:
  - mainPage:
      fields:
        - name: mail
          type: string
          label: Address
          helpText: Who gets mail
          description: $.nothing
          regexpValidator: '@'
          errorMessages: {invalid: An address has one at sign}
          validators:
            - {expr: $ != '', message: Not empty}
        - name: size
          type: choice
          choices: [[s, Little], [m, Much]]
        - {name: kind, type: choice, choices: {a: First}}
      validators:
        - {expr: 'true', message: Never}
"""
CHANGES = """\
- Version: 1.0.0
  Changes:
    - {Kind: added, Text: Topics, Do: {en: nothing, de: nichts}}
"""


def tree(german: str = "", **more: str) -> MemoryTree:
    files = {"manifest.yaml": MANIFEST, "Classes/Board.yaml": CLASS, "UI/ui.yaml": FORM, "changes.yaml": CHANGES}
    return MemoryTree({**files, **({"locale/de.yaml": german} if german else {}), **more}, "p")  # type: ignore[dict-item]


def package(german: str = "", **more: str) -> LoadedPackage:
    return default_registry().load(tree(german, **more))


def told(german: str) -> list[tuple[str, int, str, str]]:
    return [(p.code, p.place.line, p.severity, str(p.message)) for p in check_translations(package(german))]


# -- looking up --------------------------------------------------------------------------------------------------------


def test_a_text_is_found_whatever_its_line_ends() -> None:
    known = translations(tree("A board with topics.: Ein Brett mit Themen.\nSeats: Plätze\n"))
    assert known == {"de": {"A board with topics.": "Ein Brett mit Themen.", "Seats": "Plätze"}}
    found = authored("A board\n  with topics.\n", known)
    assert isinstance(found, AuthorText)
    assert found == "A board\n  with topics.\n"
    assert found.translations == {"de": "Ein Brett mit Themen."}
    assert authored("Seats of others", known) == "Seats of others"
    assert not isinstance(authored("Seats of others", known), AuthorText)


def test_what_is_said_by_us_is_no_text_of_an_author() -> None:
    ours = Text("Seats")
    assert authored(ours, {"de": {"Seats": "Plätze"}}) is ours


def test_the_same_files_give_the_same_however_they_are_written() -> None:
    one, other = tree("Seats: Plätze\nBoard: Brett\n"), tree("{Board: Brett, 'Seats': \"Plätze\"}")
    assert list(translations(one)["de"].items()) == list(translations(other)["de"].items())


def test_a_text_with_translations_survives_pickling() -> None:
    found = pickle.loads(pickle.dumps(AuthorText("Seats", {"de": "Plätze"})))
    assert (found, found.translations) == ("Seats", {"de": "Plätze"})


def test_what_is_new_is_told_in_further_languages_and_keeps_its_own() -> None:
    files = tree("Topics: Themen\nnothing: gar nichts\n")
    releases = with_translations(read_changes(files, package().version)[0], translations(files))
    assert releases[0].as_json()["changes"] == [
        {"kind": "added", "text": {"de": "Themen", "": "Topics"}, "do": {"de": "nichts", "en": "nothing"}}
    ]


# -- texts of a package ------------------------------------------------------------------------------------------------


def test_all_that_people_read_is_listed() -> None:
    found = [(one.text, one.file) for one in sources(package()) if not one.derived]
    assert found == [
        ("Board", "manifest.yaml"),
        ("A board with topics.", "manifest.yaml"),
        *(
            (text, "Classes/Board.yaml")
            for text in (
                "Board of topics", "And more", "Small", "For a few", "Seats", "How many, 1 or more",
                "at least {0} seat", "Removes all topics", "Why", "short",
            )
        ),
        *(
            (text, "UI/ui.yaml")
            for text in (
                "Address", "Who gets mail", "$.nothing", "An address has one at sign", "Not empty", "Little", "Much",
                "First", "Never",
            )
        ),
        ("Topics", "changes.yaml"),
    ]  # fmt: skip


def test_what_forms_make_of_names_may_be_translated_but_need_not() -> None:
    derived = [one.text for one in sources(package()) if one.derived]
    assert derived == ["Colour", "red", "green", "Because", "Main page"]
    assert "Colour" not in [one.text for one in missing(sources(package()), ())]
    assert told("Colour: Farbe\nMain page: Hauptseite\n") == []


def test_what_the_file_has_is_not_missing() -> None:
    one = package("Seats: Plätze\nBoard:\n")
    wanted = missing(sources(one), translations(one.files)["de"])
    assert "Seats" not in [one.text for one in wanted]
    assert "Board" in [one.text for one in wanted]


def test_a_skeleton_is_a_file_with_the_same_texts() -> None:
    found = sources(package())
    made = skeleton(found, {"Seats": "Plätze: 5", "short": "'kurz'\n2"})
    entries, problems = read_translations(tree(made))
    assert problems == []
    assert {e.text: e.translation for e in entries["de"]} == {"Seats": "Plätze: 5", "short": "'kurz'\n2"}
    full = skeleton(found, {one.text: one.text.upper() for one in found})
    again = translations(tree(full))["de"]
    assert list(again) == sorted(one.text for one in found)


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=40), max_size=5))
def test_any_text_comes_back_from_a_skeleton(texts: list[str]) -> None:
    found = [Source(text, "f") for text in dict.fromkeys(map(normal, texts)) if text]
    made = skeleton(found, {one.text: "x" for one in found})
    assert translations(tree(made)).get("de", {}) == dict(sorted((one.text, "x") for one in found))


def test_a_text_longer_than_a_key_of_yaml_comes_back() -> None:
    long = "word " * 300 + "end"
    made = skeleton([Source(long, "f")], {long: "lang"})
    assert translations(tree(made)) == {"de": {long: "lang"}}


# -- checks ------------------------------------------------------------------------------------------------------------


def test_an_unknown_text_is_found_with_its_line() -> None:
    assert told("Board: Brett\nSeat: Platz\n") == [("PKG117", 2, "warning", "no text of the package is 'Seat'")]
    (found,) = check_translations(package("Seat: Platz\n"))
    assert found.hint == "did you mean 'Seats'?"
    assert found.place.file.endswith("locale/de.yaml")


def test_a_place_that_a_translation_lost_is_found() -> None:
    (found,) = told("Board: Brett\nat least {0} seat: mindestens ein Platz\n")
    assert found == ("PKG118", 2, "error", "only one of the text and its translation has {0}")
    assert told("at least {0} seat: Plätze, mindestens {0}\n") == []
    assert [code for code, *_ in told("Seats: '{name} Plätze'\n")] == ["PKG118"]


@pytest.mark.parametrize(
    ("german", "line", "said"),
    [
        ("- Board\n", 1, "one mapping from texts"),
        ("Board: [a, b]\n", 1, "not a list"),
        ("Board: 1\nSeats: {a: b}\n", 2, "not a mapping"),
        ("? [Board]\n: x\n", 1, "not a list"),
        ("Board: x\n'Board': y\n", 2, "stands there twice"),
        ("Board: 'Bre\u202ett'\n", 1, "turn the direction"),
        ('Board: "a\\x1bb"\n', 1, "nobody sees"),
        ("Board: !yaql x\n", 1, "unknown tag"),
        ("Board: 'x\n", 2, "not valid YAML"),
        ("Board: x\n---\nSeats: y\n", 1, "one mapping from texts"),
        ("Board: " + "x" * 9000, 1, "may have 8,000 characters"),
        ("Board: '" + "x" * LARGEST + "'", 1, "256 KiB a language"),
        ("".join(f"t{n}: x\n" for n in range(MOST_ENTRIES + 1)), 1, "more than 2,000 entries"),
    ],
)
def test_what_is_no_file_of_translations_is_an_error(german: str, line: int, said: str) -> None:
    problems = [p for p in told(german) if p[0] == "PKG116"]
    assert [(p[1], p[2]) for p in problems] == [(line, "error")]
    assert said in problems[0][3]


def test_aliases_make_no_more_than_a_file_may_hold() -> None:
    german = "Board: &a '" + "x" * 7000 + "'\n" + "".join(f"text {n}: *a\n" for n in range(1000))
    entries, problems = read_translations(tree(german))
    assert sum(len(e.translation) for e in entries["de"]) <= LARGEST
    assert problems


def test_the_likely_text_is_looked_for_a_hundred_times_at_most() -> None:
    """Each is compared with all texts of the package: a file may have thousands that it does not have."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    german = "".join(f"Seats{one}{other}: x\n" for one in letters for other in letters)
    found = check_translations(package(german))
    assert [problem.code for problem in found] == ["PKG117"] * 676
    assert [str(problem.hint) for problem in found if problem.hint] == ["did you mean 'Seats'?"] * 100


def test_files_of_no_language_are_told_and_many_languages_are_too_many() -> None:
    found = check_tree(tree(**{"locale/German.yml": "x: y"}))
    assert [(p.code, p.severity) for p in found] == [("PKG116", "warning")]
    many = {f"locale/a{chr(97 + n)}.yaml": "Board: x" for n in range(25)}
    files = tree(**many)
    assert len(translations(files)) == 20
    assert len([p for p in check_tree(files) if p.code == "PKG116"]) == 5


def test_checking_a_package_tells_of_its_translations() -> None:
    assert [p.code for p in check_tree(tree("Seat: Platz\n"))] == ["PKG117"]
    assert check_tree(tree("Seats: Plätze\n")) == []


def test_a_package_without_translations_says_what_it_always_said() -> None:
    assert translations(tree()) == {}
    assert check_translations(package()) == []


_DATA = st.recursive(
    st.text(max_size=8) | st.none() | st.integers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(_DATA)
def test_nothing_in_a_file_breaks_reading_it(data: Any) -> None:
    files = tree(yaml.safe_dump(data, allow_unicode=True))
    found = translations(files)
    assert all(isinstance(part, str) for entries in found.values() for pair in entries.items() for part in pair)


THROWS = """\
Namespaces: {=: com.example}
Name: Board
Methods:
  run:
    Arguments:
      - seats: {Contract: $.int()}
    Body:
      - If: $seats < 0
        Then:
          - Throw: Wrong
            Message: nobody sits there
      - Throw: Full
        Message: format('{0} has no seat for {1}, ask {0}', $.name, $seats)
  other:
    Body:
      - Throw: Computed
        Message: $.name + ' is nobody'
      - Throw: Chosen
        Message: switch($.open => 'it is open', true => format("it is '{0}'", $.state))
      - Throw: Joined
        Message: format('{0} and {1}', $.a, $.b)
"""
SAID = {
    "nobody sits there": "dort sitzt niemand",
    "{0} has no seat for {1}, ask {0}": "kein Platz für {1}: {0} fragen, ja {0}",
    "it is open": "offen",
    "it is '{0}'": "es ist '{0}'",
    "{0} and {1}": "{0} und {1}",
}


def board(classes: str, said: dict[str, str]) -> LoadedPackage:
    files = {"manifest.yaml": MANIFEST, "Classes/Board.yaml": classes, "locale/de.yaml": yaml.safe_dump(said)}
    return default_registry().load(MemoryTree(files, "board"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "message", "german"),
    [
        (10, "nobody sits there", "dort sitzt niemand"),
        (11, "nobody sits there", "dort sitzt niemand"),
        (13, "b {1} has no seat for 5, ask b {1}", "kein Platz für 5: b {1} fragen, ja b {1}"),
        (18, "it is open", "offen"),
        (19, "it is 'shut'", "es ist 'shut'"),
        (21, "a and b", "a und b"),
        # What was thrown elsewhere, is made of something else, or may be taken apart in two ways.
        (13, "nobody sits there", None),
        (13, "b has no seat for 5, ask c", None),
        (16, "b is nobody", None),
        (21, "a and b and c", None),
        (21, "a and", None),
        (13, " has no seat for , ask ", "kein Platz für :  fragen, ja "),
        (99, "nobody sits there", None),
    ],
)
def test_what_is_thrown_has_the_translation_of_its_place(line: int, message: str, german: str | None) -> None:
    told = worded(message, board(THROWS, SAID), "com.example.Board", line)
    assert told == message
    assert (dict(told.translations) if isinstance(told, AuthorText) else None) == (german and {"de": german})


def test_a_translation_that_becomes_too_long_is_left_out() -> None:
    """A package of a few KiB would fill tables and pages: with a place that is there again and again."""
    said = {**SAID, "it is '{0}'": "{0}" * 2000}
    assert worded(f"it is '{'x' * 3000}'", board(THROWS, said), "com.example.Board", 19).__class__ is str
    told = worded("it is 'ab'", board(THROWS, said), "com.example.Board", 19)
    assert isinstance(told, AuthorText) and told.translations == {"de": "ab" * 2000}


def test_what_is_thrown_is_to_be_translated() -> None:
    found = {source.text for source in sources(board(THROWS, {})) if source.file == "Classes/Board.yaml"}
    assert {*SAID} <= found and " is nobody" not in found
    assert worded("nobody sits there", board(THROWS, {}), "com.example.Board", 10).__class__ is str
    lost = {**SAID, "it is '{0}'": "es ist zu"}
    assert [problem.code for problem in check_translations(board(THROWS, lost))] == ["PKG118"]
