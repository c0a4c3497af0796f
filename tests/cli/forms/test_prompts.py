"""Questions of class forms: every kind of value, objects in objects, lists, maps."""

from __future__ import annotations

from typing import Any

from tests.cli.formkit import Person, class_form_session
from vetro.cli.forms.dialogue import Dialogue

SHOP = {"?": {"type": "t.Shop", "id": "other"}, "name": "Other shop"}
HOST = {"?": {"type": "t.Host", "id": "h0"}, "name": "old host"}


def one(contract: str, *lines: str, default: str = "", meta: str = "") -> tuple[Any, Person]:
    """What a property of this contract becomes, and what was shown."""
    more = (f"    Default: {default}\n" if default else "") + (f"    Meta: {meta}\n" if meta else "")
    text = (
        "Namespaces: {=: t, forms: io.murano.metadata.forms}\nName: One\n"
        f"Properties:\n  x:\n    Contract: {contract}\n{more}"
    )
    form_session = class_form_session(
        "t.One", {"t.One": text, "t.Host": "Name: t.Host\nProperties: {a: {Contract: $.string()}}\n"}
    )
    person = Person(*lines)
    work = Dialogue(form_session, form_session.begin(), {}, person).run()
    assert person.left() == [], person.shown
    return form_session.result(work).get("x"), person


def test_scalars() -> None:
    assert one("$.string()", "words", "")[0] == "words"
    assert one("$.string()", "!", "", default="words")[0] is None
    assert one("$.int().notNull()", "x", "5", "")[0] == 5
    assert one("$.bool().notNull()", "maybe", "y", "")[0] is True
    assert one("$", '{"a": [1]}', "")[0] == {"a": [1]}


def test_what_is_left_alone_is_not_written() -> None:
    assert one("$.int().notNull()", "", "", default="4")[0] is None


def test_a_choice_by_number_label_and_search() -> None:
    contract = "$.string().notNull().check($ in [red, green, greenish])"
    assert one(contract, "2", "")[0] == "green"
    assert one(contract, "green", "")[0] == "green"
    found, person = one(contract, "blue", "/gr", "3", "")
    assert found == "greenish"
    assert any("Type the number" in line for line in person.shown)


def test_the_message_of_a_contract_stands_at_the_field() -> None:
    _, person = one("$.string().notNull().check(len($) < 4, 'three letters')", "abcd", "abc", "")
    assert "  three letters" in person.shown


def test_plain_lists_item_by_item_or_as_json() -> None:
    contract = "[$.int().notNull().check($ > 0)]"
    assert one(contract, "+", "1", "2", "", "")[0] == [1, 2]
    assert one(contract, "[3, 4]", "")[0] == [3, 4]
    found, person = one(contract, "+", "1", "-2", "", "+", "7", "", "")
    assert found == [7]
    assert "  2: This must be more than 0." in person.shown
    assert one(contract, "what", "", "", default="[9]")[0] is None


def test_plain_maps() -> None:
    assert one("{$.string().notNull(): $.int()}", "+", "a", "1", "b", "2", "", "")[0] == {"a": 1, "b": 2}


def test_a_group_of_named_values() -> None:
    contract = "{a: $.int().notNull(), b: $.string()}"
    assert one(contract, "1", "two", "")[0] == {"a": 1, "b": "two"}
    assert one(contract, "", "", default="{a: 1}")[0] is None
    assert one(contract, "y", "5", "", "", default="{a: 1}")[0]["a"] == 5


def test_lists_of_groups_grow_and_shrink() -> None:
    contract = "[{size: $.int().notNull()}]"
    assert one(contract, "+", "5", "+", "6", "-1", "", "")[0] == [{"size": 6}]


def test_secrets() -> None:
    found, person = one("$.string()", "wonder", "wonder", "", meta="{forms:Secret: {}}")
    assert found == "wonder"
    assert "wonder" not in "\n".join(person.shown)


def test_objects_old_and_new_to_any_depth() -> None:
    form_session = class_form_session("t.Shop", existing=[SHOP, HOST])
    person = Person(
        "",  # kind
        "Corner shop",
        "",  # tags
        "new: t.Host",  # host
        "main host",
        "9",
        "",  # its password
        "old host",  # spare: too small
        "",
        *("",) * 10,  # hosts, friend, byName, settings, pair, zone, label, token, pattern, free
        "",
    )
    dialogue = Dialogue(form_session, form_session.begin(), {}, person)
    try:
        made = form_session.result(dialogue.run())
    except EOFError:
        raise AssertionError("\n".join(person.shown)) from None
    assert made["name"] == "Corner shop"
    host = made["host"]
    assert (host["name"], host["size"], host["?"]["type"].partition("/")[0]) == ("main host", 9, "t.Host")
    assert "password" not in host


def test_a_reference_to_what_is_there() -> None:
    form_session = class_form_session("t.BigHost", existing=[HOST])
    person = Person("big", "", "", "", "+", "old host", "", "")
    dialogue = Dialogue(form_session, form_session.begin(), {}, person)
    try:
        made = form_session.result(dialogue.run())
    except EOFError:
        raise AssertionError("\n".join(person.shown)) from None
    assert made["peers"] == ["h0"]


def test_the_form_of_an_object_takes_no_file() -> None:
    text = "Namespaces: {=: t, v: io.vetro.std}\nName: One\nProperties:\n  x: {Contract: $.class(v:StoredFile)}\n"
    form_session = class_form_session("t.One", {"t.One": text}, require={"io.vetro.std": "1"})
    person = Person("/etc/passwd", "", "")
    work = Dialogue(form_session, form_session.begin(), {}, person).run()
    assert person.left() == [] and "x" not in form_session.result(work)
    assert any("Files are given to actions" in line for line in person.shown)
