"""What Vetro chooses for properties that nobody answered."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from vetro.engine.models import Suggester, Suggestions
from vetro.engine.models.suggest import CannotSuggest
from vetro.engine.models.unknown_properties import UnknownProperty
from vetro.muranopl import Engine
from vetro.muranopl.errors import ContractViolation
from vetro.packages import memory_package

HEAD = "Namespaces: {=: t, std: io.murano, res: io.murano.resources}\n"


def package(classes: dict[str, str], name: str = "t", **more: Any) -> Any:
    texts = {
        f"{name}.{short}": f"{HEAD.replace('=: t', '=: ' + name)}Name: {short}\n{t}" for short, t in classes.items()
    }
    return memory_package({"name": name, "format": "1.4", "type": "Application", "classes": texts, **more})


def suggest(
    properties: str, answers: dict[str, Any] | None = None, *, eager: bool = False, **classes: str
) -> Suggestions:
    body = "Properties:\n" + "\n".join("  " + line for line in properties.strip().split("\n"))
    made = package({"Main": body, **classes})
    session = Engine([made]).session()
    ids = itertools.count(1)
    suggester = Suggester(session, [made], lambda: f"id{next(ids)}", eager=eager)
    found = suggester.suggest(session.type_by_name("t.Main"), answers)
    if not found.applications:  # whatever is chosen must pass the contracts
        Engine([made]).session().load({"Objects": found.object})
    return found


def plain(found: Suggestions) -> dict[str, Any]:
    return {k: v for k, v in found.object.items() if k != "?"}


@pytest.mark.parametrize(
    ("contract", "value"),
    [
        ("$.string().notNull()", "sample"),
        ("$.string().notNull().check(len($) > 6)", "sample-1"),
        ("$.string().notNull().check($.matches('^[0-9]+$'))", "8080"),
        ("$.string().notNull().check($ in [b, a])", "b"),
        ("$.int().notNull()", 1),
        ("$.int().notNull().check($ > 5)", 6),
        ("$.int().notNull().check($ <= 0)", 0),
        ("$.bool().notNull()", False),
        ("[$.string().notNull()]", []),
        ("[$.string().notNull(), 2]", ["sample", "sample"]),
        ("{a: $.int().notNull()}", {"a": 1}),
    ],
)
def test_values_fit_their_contract(contract: str, value: Any) -> None:
    assert plain(suggest(f"x:\n  Contract: {contract}")) == {"x": value}


def test_what_may_be_empty_or_has_a_default_is_left_alone() -> None:
    found = suggest("x:\n  Contract: $.string()\ny:\n  Contract: $.int().notNull()\n  Default: 4")
    assert plain(found) == {}
    assert found.chosen == {}


def test_answers_come_first_and_choices_are_listed() -> None:
    found = suggest("x:\n  Contract: $.string().notNull()\ny:\n  Contract: $.int().notNull()", {"x": "mine"})
    assert plain(found) == {"x": "mine", "y": 1}
    assert found.chosen == {"y": 1}


def test_an_owned_object_is_made_with_its_own_values() -> None:
    part = "Properties:\n  size:\n    Contract: $.int().notNull()"
    found = suggest("part:\n  Contract: $.class(Part).notNull()", Part=part)
    assert found.object["part"]["size"] == 1
    assert found.object["part"]["?"]["type"].startswith("t.Part/")
    assert found.chosen == {"part.size": 1}


def test_answers_for_parts_are_completed() -> None:
    part = "Properties:\n  size:\n    Contract: $.int().notNull()\n  name:\n    Contract: $.string().notNull()"
    found = suggest("part:\n  Contract: $.class(Part).notNull()", {"part": {"size": 7}}, Part=part)
    assert found.object["part"]["size"] == 7
    assert found.object["part"]["name"] == "sample"


def test_what_a_template_leaves_to_its_class_is_not_chosen_beside_answers() -> None:
    properties = "part:\n  Contract: $.template(Part, excludeProperties => [name]).notNull()"
    part = {"Part": "Properties: {name: {Contract: $.string().notNull()}, size: {Contract: $.int().notNull()}}"}
    found = suggest(properties, {"part": {"size": 7}}, **part)
    assert (found.object["part"].get("name"), found.object["part"]["size"]) == (None, 7) and found.chosen == {}
    assert suggest(properties, {"part": {"name": "mine"}}, **part).object["part"]["name"] == "mine"


def test_answers_in_lists_of_parts_are_completed() -> None:
    part = "Properties:\n  size:\n    Contract: $.int().notNull()"
    found = suggest("parts:\n  Contract: [$.class(Part).notNull()]", {"parts": [{}, {"size": 2}]}, Part=part)
    assert [p["size"] for p in found.object["parts"]] == [1, 2]
    assert all("?" in p for p in found.object["parts"])


def test_another_application_is_put_beside_and_referred_to() -> None:
    other = "Extends: std:Application\nProperties:\n  size:\n    Contract: $.int().notNull()"
    found = suggest("db:\n  Contract: $.class(Other).notNull()", Other=other)
    assert [a["size"] for a in found.applications] == [1]
    assert found.object["db"] == found.applications[0]["?"]["id"]


def test_an_application_stands_in_for_what_it_implements() -> None:
    interface = memory_package(
        {
            "name": "i",
            "format": "1.4",
            "type": "Library",
            "classes": {"i.Db": "Name: i.Db\nExtends: io.murano.Application"},
        }
    )
    made = memory_package(
        {
            "name": "m",
            "format": "1.4",
            "type": "Application",
            "require": {"i": "0"},
            "classes": {
                "m.Sql": "Name: m.Sql\nExtends: i.Db",
                "m.Main": "Namespaces: {i: i}\nName: m.Main\nExtends: io.murano.Application\n"
                "Properties:\n  db:\n    Contract: $.class(i:Db).notNull()",
            },
        }
    )
    session = Engine([interface, made]).session()
    found = Suggester(session, [interface, made], lambda: "x").suggest(session.type_by_name("m.Main"))
    assert found.applications[0]["?"]["type"].startswith("m.Sql/")


def test_an_unknown_answer_names_the_likely_property() -> None:
    with pytest.raises(UnknownProperty, match=r"class t\.Main has no input property 'pasword'") as caught:
        suggest("password:\n  Contract: $.string()", {"pasword": "x"})
    assert caught.value.hint == "did you mean 'password'?"


def test_where_nothing_fits_the_property_is_named() -> None:
    with pytest.raises(CannotSuggest, match="part: no text fits"):
        suggest("part:\n  Contract: $.string().notNull().check($.matches('^zz[0-9]{40}$'))")


def test_a_wrong_answer_is_left_to_the_contract() -> None:
    with pytest.raises(ContractViolation):
        suggest("x:\n  Contract: $.int().notNull()", {"x": "many"})


def test_a_required_part_that_is_around_is_not_made_again() -> None:
    found = suggest(
        "part: {Contract: $.class(Part).notNull()}",
        Part="Properties: {whole: {Contract: $.class(Main).notNull()}}\n",
    )
    assert found.object["part"]["whole"] == found.object["?"]["id"]


def test_switches_of_packages_are_on_when_asked_for() -> None:
    body = "Properties:\n  a: {Contract: $.bool(), Default: false}\n  b: {Contract: $.bool().notNull()}\n"
    made = package({"Main": body})
    session = Engine([made]).session()
    found = Suggester(session, [made], lambda: "x", switches=True).suggest(session.type_by_name("t.Main"))
    assert plain(found) == {"a": True, "b": True}


def test_applications_are_named_after_their_class_unless_they_have_a_default() -> None:
    body = "name:\n  Contract: $.string().notNull()\nother:\n  Contract: $.class(Other).notNull()"
    named = "Extends: std:Application\nProperties:\n  name:\n    Contract: $.string().notNull()"
    found = suggest(body, Other=named)
    assert found.object["name"] == "sample"  # no application
    assert [a["name"] for a in found.applications] == ["other"]
    found = suggest(body, Other=named + "\n    Default: mine")
    assert "name" not in found.applications[0]
