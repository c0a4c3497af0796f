"""Contract functions at run time (SEMANTICS 3.9, 6.2)."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.muranopl.world import World, define
from vetro.muranopl.contracts.runtime import (
    accepts,
    not_owned,
    owned,
    to_bool,
    to_class,
    to_int,
    to_string,
    to_template,
)
from vetro.muranopl.errors import ContractViolation, ObjectNotFound
from vetro.yaql.values import FDict, FSet


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, None), (5, 5), (True, 1), (2.9, 2), (-2.9, -2), (" 8 ", 8), ("+4", 4), ("1_000", 1000), (2**80, 2**80)],
)
def test_int_converts_what_reads_as_an_integer(value: Any, expected: Any) -> None:
    result = to_int(value)
    assert result == expected and type(result) is type(expected)


@pytest.mark.parametrize("value", ["x", "", "1.5", math.inf, math.nan, (), FDict(), "9" * 5000])
def test_int_refuses_the_rest(value: Any) -> None:
    with pytest.raises(ContractViolation, match="expected an integer, got"):
        to_int(value)


@pytest.mark.parametrize(("value", "expected"), [(None, None), ("a", "a"), (0, "0"), (True, "True"), (False, "False")])
def test_string_converts_scalars(value: Any, expected: Any) -> None:
    assert to_string(value) == expected


@pytest.mark.parametrize("value", [1.5, (), ("a",), FDict(), FDict(a="b"), FSet()])
def test_string_refuses_the_rest(value: Any) -> None:
    with pytest.raises(ContractViolation, match="expected text, got"):
        to_string(value)


def test_integers_too_large_for_text_are_refused() -> None:
    with pytest.raises(ContractViolation, match="too many digits"):
        to_string(10**5000)


@pytest.mark.parametrize(
    ("value", "expected"), [(None, None), ("false", True), ("", False), (0, False), ((), False), (FDict(a=1), True)]
)
def test_bool_is_the_truth_value(value: Any, expected: Any) -> None:
    assert to_bool(value) is expected


# -- objects -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def world() -> World:
    made = World(
        {
            "Main": "Properties: {kids: {Contract: [$.class(Item)]}}",
            "Item": "Properties: {n: {Contract: $.int()}, sub: {Contract: $.class(Item)}}",
            "Derived": "Extends: Item",
            "Other": "",
        }
    )
    made.root(kids=[define("Item", "a", sub=define("Derived", "d"))])
    return made


def context(world: World) -> Any:
    return world.session.type_for("t.Main").context


def test_class_takes_objects_views_ids_and_definitions(world: World) -> None:
    cx, item = context(world), world.session.type_for("t.Item")
    root, derived = world.get("root"), world.get("d")
    assert to_class(None, cx, root, item) is None
    assert to_class(derived, cx, root, item) is derived
    assert to_class("d", cx, root, item) is derived
    view = world.session.view(derived, item)
    assert to_class(view, cx, root, item) is view
    made = to_class(FDict(n="3"), cx, root, item)
    assert made.p_n == 3 and made._owner is root and made._state == "alive"
    assert to_class(FDict(n=3), cx, root, item, argument=True)._owner is None
    other = to_class(FDict(), cx, root, item, world.session.type_for("t.Derived"))
    assert other._type.name == "t.Derived"


def test_class_refuses_what_is_of_another_class(world: World) -> None:
    cx, item = context(world), world.session.type_for("t.Item")
    root = world.get("root")
    for value in (5, 10**5000, (), ("a",), True, root, "root", FDict(define("Other"))):
        with pytest.raises(ContractViolation, match=r"expected an object of class t\.Item, got"):
            to_class(value, cx, root, item)
    with pytest.raises(ObjectNotFound):
        to_class("nope", cx, root, item)


def test_a_violation_inside_a_definition_keeps_its_location_in_the_message(world: World) -> None:
    cx, item = context(world), world.session.type_for("t.Item")
    with pytest.raises(ContractViolation) as caught:
        to_class(FDict(sub=FDict(n="x")), cx, None, item)
    assert caught.value.location is None
    assert caught.value.message.startswith("[t.Item.sub] [t.Item.n] expected an integer")


def test_acceptance_by_version_spec(world: World) -> None:
    item = world.session.type_for("t.Item")
    derived = world.get("d")
    assert accepts(derived, item) and accepts(derived, item, "1") and accepts(derived, item, ">=0.5")
    assert not accepts(derived, item, "2") and not accepts(world.get("root"), item, "1")
    assert not accepts(5, item) and not accepts(None, item)


def test_owned_and_not_owned(world: World) -> None:
    root, a, d = world.get("root"), world.get("a"), world.get("d")
    assert owned(a, root) is a and owned(d, root) is d and owned(None, root) is None
    assert not_owned(root, a) is root and not_owned(None, root) is None
    for value in (root, 5, "a"):
        with pytest.raises(ContractViolation):
            owned(value, a)
    for value in (d, 5):
        with pytest.raises(ContractViolation):
            not_owned(value, root)
    with pytest.raises(ContractViolation):
        owned(a, world.session.type_for("t.Main").type_object)


def test_template_refuses_ids_and_other_classes(world: World) -> None:
    cx, item = context(world), world.session.type_for("t.Item")
    assert to_template(None, cx, None, item) is None
    for value in ("a", 5, (), world.get("root"), FDict(define("Other"))):
        with pytest.raises(ContractViolation):
            to_template(value, cx, None, item)
