"""Which form is opened, and how long kept answers count."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.forms.world import describer, package
from vetro.forms.form_source import Kept, OfferedForms, fingerprint, for_adding, for_editing, still_is
from vetro.muranopl import Engine

DESCRIBER = describer()
MADE: dict[str, Any] = {
    "?": {"type": "t.Shop", "id": "s"},
    "name": "Shop",
    "host": {"?": {"type": "t.Host", "id": "h"}, "name": "h", "password": "pw"},
    "friend": "s",
    "settings": {"a": 1},
}
KEPT = Kept({"name": "Shop"}, fingerprint(MADE, "salt"), "salt", "d1")


def test_adding() -> None:
    assert for_adding(has_definition=True) == OfferedForms("definition", ("class",))
    assert for_adding(has_definition=True, has_class=False) == OfferedForms("definition")
    assert for_adding(has_definition=False) == OfferedForms("class")


def test_editing_opens_the_definition_with_its_answers_and_offers_the_class() -> None:
    assert for_editing(MADE, KEPT, DESCRIBER, definition="d1") == OfferedForms("definition", ("class",))


def test_editing_without_definition_or_answers() -> None:
    assert for_editing(MADE, KEPT, DESCRIBER, definition=None) == OfferedForms("class")
    assert "not kept" in for_editing(MADE, None, DESCRIBER, definition="d1").reason


def test_another_definition_asks_other_things() -> None:
    offer = for_editing(MADE, KEPT, DESCRIBER, definition="d2")
    assert offer.others == () and "form has changed" in offer.reason


def test_a_deployment_changes_nothing() -> None:
    session = Engine([package()]).session()
    session.load({"Objects": MADE})
    after = session.serialize()["Objects"]
    assert after != MADE and after["host"]["size"] == 5
    assert still_is(after, KEPT.fingerprint, "salt", DESCRIBER)
    after["host"]["address"] = "10.0.0.1"  # Usage: Out
    assert still_is(after, KEPT.fingerprint, "salt", DESCRIBER)
    after["host"]["size"] = 6
    assert not still_is(after, KEPT.fingerprint, "salt", DESCRIBER)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.update(name="Other"),
        lambda m: m["host"].update(password="x"),
        lambda m: m["host"]["?"].update(id="x"),
        lambda m: m["host"]["?"].update(type="t.BigHost"),
        lambda m: m.update(host="other"),
        lambda m: m.update(host=None),
        lambda m: m["settings"].update(b="x"),
        lambda m: m.pop("friend"),
        lambda m: m.update(tags=["new"]),
    ],
)
def test_a_change_by_anybody_counts(change: Any) -> None:
    changed = copy.deepcopy(MADE)
    change(changed)
    offer = for_editing(changed, KEPT, DESCRIBER, definition="d1")
    assert offer.others == () and "has changed" in offer.reason


def test_versions_of_the_class_do_not_count() -> None:
    changed = copy.deepcopy(MADE)
    changed["?"]["type"] = "t.Shop/1.2.0@t"
    assert still_is(changed, KEPT.fingerprint, "salt", DESCRIBER)


def test_a_fingerprint_holds_no_value() -> None:
    assert "pw" not in repr(KEPT.fingerprint)
    assert fingerprint(MADE, "other")["host"]["password"] != KEPT.fingerprint["host"]["password"]
