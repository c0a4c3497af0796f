"""What spares a person at a terminal questions: presets, lists of the cloud, several choices, made-up secrets."""

from __future__ import annotations

import re
from itertools import count
from typing import Any

import pytest

from tests.cli.formkit import Person
from tests.forms.world import describer, package
from vetro.cli.forms.answers import filled
from vetro.cli.forms.dialogue import Dialogue
from vetro.forms.cloud_choices import CloudChoices
from vetro.forms.objects import Objects
from vetro.forms.sessions import ClassFormSession, FormFailed
from vetro.library import core_packages

SHOP = """
Namespaces: {=: p, v: io.vetro.forms, f: io.murano.metadata.forms, res: io.murano.resources}
Name: Shop
Meta:
  - v:Preset: {name: small, title: Small, values: {seats: 2, days: [mon]}}
  - v:Preset: {name: large, title: Large, description: For a town, values: {seats: 80, days: [mon, tue]}}
Properties:
  title: {Contract: $.string().notNull()}
  seats: {Contract: $.int().notNull()}
  days:
    Contract:
      - $.string().notNull().check($ in [mon, tue, wed])
  pin:
    Contract: $.string().check($ = null or len($) > 7)
    Meta: {f:Secret: {}}
  size:
    Contract: $.string().notNull()
    Meta: {f:Control: {widget: flavor}}
"""
FLAVORS = [
    {"id": "2", "name": "m1.large", "ram": 8192, "vcpus": 4, "disk": 80},
    {"id": "1", "name": "m1.tiny", "ram": 512, "vcpus": 1, "disk": 1},
]
KNOWN = describer(package({"p.Shop": SHOP}, name="p", require={"io.vetro": "1"}), *core_packages())


def session() -> ClassFormSession:
    ids = count()
    shop = KNOWN.of("p.Shop")
    assert shop is not None
    lists = CloudChoices(lambda source: FLAVORS if source == "flavors" else [])
    return ClassFormSession(KNOWN, shop, Objects([], KNOWN), new_id=lambda: f"n{next(ids)}", cloud=lists)


def asked(person: Person, stored: Any = None) -> dict[str, Any]:
    form_session = session()
    dialogue = Dialogue(form_session, form_session.begin(stored), {}, person)
    try:
        work = dialogue.run()
    except EOFError:
        raise AssertionError("\n".join(person.shown)) from None
    assert person.left() == [], "\n".join(person.shown)
    return form_session.result(work)


def test_a_preset_answers_what_it_sets() -> None:
    person = Person("Large: For a town", "", "Corner", "", "1", "")
    made = asked(person)
    assert (made["seats"], made["days"], made["title"], made["size"]) == (80, ["mon", "tue"], "Corner", "m1.tiny")
    assert person.prompts() == ["Preset", "Adjust what it sets?", "Title", "(hidden) Pin", "Size",
                                "Enter: that is right; a number: change it"]  # fmt: skip
    assert "    1  m1.tiny: 1 processor, 0.5 GiB memory, 1 GiB disk" in person.shown


def test_it_can_be_adjusted_and_several_are_chosen_at_once() -> None:
    person = Person("small", "y", "Corner", "5", "tue, 9", "wed, 1", "", "m1.large", "")
    made = asked(person)
    assert (made["seats"], made["days"], made["size"]) == (5, ["mon", "wed"], "m1.large")
    assert "  There is no '9' among them." in person.shown and " *  1  mon" in person.shown


def test_a_secret_is_made_up_and_shown_once() -> None:
    person = Person("", "", "Corner", "+", "1", "")
    made = asked(person)
    assert re.fullmatch(r"\S{20}", made["pin"]) and person.shown.count(f"  {made['pin']}") == 1
    assert made["seats"] == 2 and "••••••" in "\n".join(person.shown)


def test_what_an_edit_changes_is_told_beside_what_was_there() -> None:
    stored = {"?": {"type": "p.Shop", "id": "s"}, "title": "Old", "seats": 3, "days": [], "size": "m1.tiny"}
    person = Person("values of my own", "New", "", "", "", "", "")
    assert asked(person, stored)["title"] == "New"
    told = [line.strip() for line in person.shown if "(was: " in line]
    assert told == ["1  Title: New  (was: Old)"]


def test_scripts_name_a_preset() -> None:
    form_session = session()
    work = form_session.preset(form_session.begin(), "large")
    turn, _ = filled(form_session, work, {"title": "Corner", "size": "m1.tiny"})
    assert turn.outcome == "ready" and form_session.result(turn.work)["seats"] == 80
    with pytest.raises(FormFailed, match="no preset 'tiny'"):
        form_session.preset(work, "tiny")
