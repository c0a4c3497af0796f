"""Checking answers: values, references, classes, contexts; each problem at its place."""

from __future__ import annotations

from typing import Any

import pytest

from tests.forms.world import SHOP as CLASSES
from tests.forms.world import describer, package
from vetro.diagnostics import Diagnostic
from vetro.forms.check import Checker
from vetro.forms.generated import method_form
from vetro.forms.objects import Objects

DESCRIBER = describer()
SHOP = DESCRIBER.of("t.Shop")
assert SHOP is not None

ENVIRONMENT = {
    "?": {"type": "io.murano.Environment", "id": "env"},
    "applications": [
        {
            "?": {"type": "t.Shop/1.2.0@t", "id": "old", "name": "Old shop"},
            "name": "Old",
            "host": {"?": {"type": "t.BigHost", "id": "big"}, "name": "big", "size": 9},
            "spare": {"?": {"type": "t.Host", "id": "small"}, "name": "small"},
        }
    ],
}
GOOD: dict[str, Any] = {"name": "Shop", "host": {"?": {"type": "t.Host", "id": "h"}, "name": "h"}, "pair": ["a"]}


def check(answers: dict[str, Any], stored: dict[str, Any] | None = None) -> list[Diagnostic]:
    assert SHOP is not None
    return Checker(DESCRIBER, Objects(ENVIRONMENT, DESCRIBER)).problems(SHOP, answers, stored)


def found(answers: dict[str, Any], stored: dict[str, Any] | None = None) -> set[tuple[str, str]]:
    return {(p.place, p.code) for p in check(answers, stored)}


def test_good_answers_have_no_problems() -> None:
    assert check(GOOD) == []


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({"name": "x1"}, {("/name", "pattern")}),
        ({"name": 5}, {("/name", "type")}),
        ({"name": None}, {("/name", "required")}),
        ({"kind": "huge"}, {("/kind", "invalid_choice")}),
        ({"hidden": 1.5}, {("/hidden", "type")}),
        ({"tags": ["a", "b", "c", "d"]}, {("/tags", "max_length")}),
        ({"tags": ["ok", "far too long"]}, {("/tags/1", "max_length")}),
        ({"pair": ["a", "b"]}, {("/pair/1", "type")}),
        ({"settings": {"b": "x", "c": 1}}, {("/settings/a", "required")}),
        ({"settings": {"a": 1, "x/y": "no"}}, {("/settings/x~1y", "type")}),
        ({"nmae": "x"}, {("/nmae", "extra")}),
        ({"token": {"user": 5}}, {("/token/user", "type")}),
        ({"token": {"secret": "kept"}}, {("/token", "required")}),
        ({"host": {"?": {"type": "t.Host", "id": "h"}, "size": 0, "name": "h"}}, {("/host/size", "minimum")}),
        ({"host": {"?": {"type": "t.Host", "id": "h"}}}, {("/host/name", "required")}),
        ({"host": {"?": {"type": "t.Shop", "id": "h"}}}, {("/host", "wrong_class")}),
        ({"host": {"?": {"type": "t.Lost", "id": "h"}}}, {("/host", "unknown_class")}),
        ({"host": {"?": {"type": "t.Host", "id": "small"}, "name": "h"}}, {("/host", "duplicate_id")}),
        ({"host": "nobody"}, {("/host", "unknown_object")}),
        ({"host": "old"}, {("/host", "wrong_class")}),
        ({"host": ""}, {("/host", "min_length")}),
        ({"host": None}, {("/host", "required")}),
        ({"hosts": ["big"]}, {("/hosts/0", "type")}),
        ({"friend": {"?": {"type": "t.Shop", "id": "f"}}}, {("/friend", "type")}),
        ({"byName": {"x": "small", "y": 3}}, {("/byName/y", "type")}),
        ({"byName": {"x": {"?": {"type": "t.Host", "id": "n"}, "size": "1"}}},
         {("/byName/x/name", "required"), ("/byName/x/size", "type")}),
    ],
)  # fmt: skip
def test_problems_stand_at_their_paths(answers: dict[str, Any], expected: set[tuple[str, str]]) -> None:
    assert found({**GOOD, **answers}) == expected


def test_problems_name_the_object_whose_property_it_is() -> None:
    answers = {"?": {"type": "t.Shop", "id": "me"}, **GOOD, "name": "1", "host": {**GOOD["host"], "size": 0}}
    assert {(p.place, p.subject) for p in check(answers)} == {("/name", "me"), ("/host/size", "h")}


def test_two_objects_with_one_id() -> None:
    assert found({**GOOD, "hosts": [GOOD["host"]]}) == {("/hosts/0", "duplicate_id")}


def test_own_text_of_a_check() -> None:
    assert [p.message for p in check({**GOOD, "name": "1"})] == ["letters and blanks only"]


def test_references_to_objects_of_the_environment_and_of_the_answers() -> None:
    assert check({**GOOD, "host": "big", "friend": "old", "byName": {"x": "small"}}) == []
    assert check({**GOOD, "byName": {"x": "h"}}) == []


class TestContexts:
    def test_of_an_object_elsewhere_are_reported_at_the_reference(self) -> None:
        (problem,) = check({**GOOD, "spare": "small"})
        assert (problem.place, problem.code) == ("/spare", "context")
        assert "size" in problem.message and "more than 7" in problem.message
        assert check({**GOOD, "spare": "big"}) == []

    def test_of_a_new_object_are_reported_in_it_too(self) -> None:
        spare = {"?": {"type": "t.Host", "id": "n"}, "name": "n", "size": 3}
        assert found({**GOOD, "spare": spare}) == {("/spare", "context"), ("/spare/size", "minimum")}
        assert check({**GOOD, "spare": {**spare, "size": 8}}) == []

    def test_of_an_object_of_the_answers_are_reported_at_both(self) -> None:
        assert found({**GOOD, "spare": "h"}) == {("/spare", "context"), ("/host/size", "context")}

    def test_are_inherited_downwards(self) -> None:
        classes = dict(CLASSES) | {
            "t.Ring": """
Namespaces: {=: t}
Name: Ring
Properties:
  next: {Contract: $.class(Ring)}
  size: {Contract: $.int().notNull()}
  first: {Contract: $.class(Ring).check($ = null or $.next.next.size > 4 and $.size < 3)}
"""
        }
        world = describer(package(classes))
        ring = world.of("t.Ring")
        assert ring is not None

        def made(id: str, size: int, **more: Any) -> dict[str, Any]:
            return {"?": {"type": "t.Ring", "id": id}, "size": size, **more}

        def places(answers: dict[str, Any]) -> set[tuple[str, str]]:
            problems = Checker(world, Objects({}, world)).problems(ring, answers)
            return {(p.place, p.code) for p in problems}

        good = made("a", 1, first=made("b", 2, next=made("c", 9, next=made("d", 5))))
        assert places(good) == set()
        good["first"]["next"]["next"]["size"] = 4
        assert ("/first/next/next/size", "minimum") in places(good)
        assert ("/first", "context") in places(good)
        by_id = made("a", 1, first=made("b", 2, next=made("c", 9, next="a")))
        assert places(by_id) == {("/first", "context"), ("/first/next", "context"), ("/first/next/next", "context"),
                                 ("/size", "context")}  # fmt: skip


def test_stored_values_need_not_be_given_again() -> None:
    stored = {"?": {"type": "t.Shop", "id": "old"}, **GOOD, "token": {"user": "u"}}
    assert check({"kind": "large"}, stored) == []
    assert found({"kind": "large"}, {"?": {"type": "t.Shop", "id": "old"}}) == {
        ("/name", "required"),
        ("/host", "required"),
    }


def test_a_kept_secret_passes_and_a_lost_one_does_not() -> None:
    stored = {**GOOD, "host": {**GOOD["host"], "password": "pw"}, "token": {"user": "u"}}
    kept = {"secret": "kept", "at": "/password"}
    assert check({**GOOD, "host": {**GOOD["host"], "password": kept}, "token": {"secret": "kept"}}, stored) == []
    other = {"?": {"type": "t.Host", "id": "new"}, "name": "n", "password": kept}
    assert found({**GOOD, "host": other}, stored) == {("/host/password", "required")}


def test_arguments_of_a_method() -> None:
    schema = DESCRIBER.catalog.schemas("t.Shop", ["rename"])["rename"]  # type: ignore[attr-defined]
    form = method_form(schema)
    checker = Checker(DESCRIBER, Objects(ENVIRONMENT, DESCRIBER))
    assert checker.arguments(form, {"name": "x", "loudly": False}) == []
    assert {(p.place, p.code) for p in checker.arguments(form, {"loudly": "yes", "more": 1})} == {
        ("/name", "required"),
        ("/loudly", "type"),
        ("/more", "extra"),
    }


def test_the_environment_is_not_asked_for_what_nobody_refers_to() -> None:
    fresh = describer()
    shop = fresh.of("t.Shop")
    assert shop is not None
    assert Checker(fresh, Objects(ENVIRONMENT, fresh)).problems(shop, GOOD) == []
    assert "t.BigHost" not in fresh.catalog.asked  # type: ignore[attr-defined]


class TestRemoval:
    STORED = {
        "?": {"type": "t.Shop", "id": "me"},
        **GOOD,
        "hosts": [{"?": {"type": "t.Host", "id": "goes"}, "name": "g"}],
        "byName": {"x": "goes"},
    }

    def test_what_is_removed_cannot_be_referred_to(self) -> None:
        answers = {"?": {"type": "t.Shop", "id": "me"}, **GOOD, "hosts": [], "byName": {"x": "goes"}}
        assert found(answers, self.STORED) == {("/byName/x", "unknown_object")}
        assert check({**answers, "byName": {}}, self.STORED) == []

    def test_what_is_not_answered_is_not_removed(self) -> None:
        answers = {"?": {"type": "t.Shop", "id": "me"}, **GOOD, "byName": {"y": "goes"}}
        assert check(answers, self.STORED) == []

    def test_what_others_use_is_not_removed(self) -> None:
        assert SHOP is not None
        other = {"?": {"type": "t.Shop", "id": "o", "name": "Their shop"}, **GOOD, "byName": {"z": "goes"}}
        environment = {"?": {"type": "io.murano.Environment", "id": "env"}, "applications": [self.STORED, other]}
        checker = Checker(DESCRIBER, Objects(environment, DESCRIBER))
        answers = {**self.STORED, "hosts": [], "byName": {}}
        (problem,) = checker.problems(SHOP, answers, self.STORED)
        assert (problem.place, problem.code, problem.subject) == ("", "still_used", "o")
        assert problem.message == "g cannot be removed: Their shop uses it (By name)."
