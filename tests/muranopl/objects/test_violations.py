"""Locations of violations in nested objects (SEMANTICS 6.6)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.muranopl.world import World, define
from vetro.muranopl.contracts.runtime import outer_violation
from vetro.muranopl.errors import ContractViolation
from vetro.muranopl.objects.violations import find_path, holds_definition
from vetro.yaql.values import FDict


def test_paths_lead_to_the_very_object() -> None:
    wanted, twin = FDict(x=1), FDict(x=1)
    assert find_path((twin, FDict(a=(5, wanted))), wanted) == [1, "a", 1]
    assert find_path(wanted, wanted) == [] and find_path((twin,), wanted) is None
    assert find_path([wanted], wanted) == [0]


def test_definitions_are_found_at_any_depth() -> None:
    assert holds_definition([{"a": ({"?": {}},)}]) and holds_definition({"?": 1})
    assert not holds_definition([{"a": 1}, "?"]) and not holds_definition(None)


def test_an_outer_violation_can_be_located_again() -> None:
    inner = ContractViolation("bad").located("t.Item.n")
    outer = outer_violation(inner)
    assert outer.location is None and outer.located("t.Main.x").message == "[t.Main.x] [t.Item.n] bad"


ITEM = "Properties: {n: {Contract: $.int().notNull()}}"


@pytest.mark.parametrize(
    ("contract", "value", "location"),
    [
        ("$.class(Item)", {"n": "x"}, "t.Main.p"),
        ("[$.class(Item)]", {"n": "x"}, "t.Main.p[0]"),
        ("[[$.class(Item)]]", [[{"n": 1}], [{"n": 1}, {"n": "x"}]], "t.Main.p[1][1]"),
        ("{a: $.class(Item)}", {"a": {}}, "t.Main.p['a']"),
        # The property itself still waits for the object that breaks.
        ("!yaql '$.class(Item).check($.n > 0)'", {"n": "x"}, "t.Main.p"),
        ("[!yaql '$.class(Item).check($.n > 0)']", [{"n": 1}, {"n": "x"}], "t.Main.p[1]"),
    ],
)
def test_the_outermost_property_is_named_with_the_path(contract: str, value: Any, location: str) -> None:
    world = World({"Main": f"Properties: {{p: {{Contract: {contract}}}}}", "Item": ITEM})
    with pytest.raises(ContractViolation) as caught:
        world.root(p=value)
    assert caught.value.location == location
    assert "[t.Item.n]" in caught.value.message


def test_a_violation_in_the_root_is_named_as_it_is() -> None:
    with pytest.raises(ContractViolation) as caught:
        World({"Main": ITEM}).load(define("Main", "root"))
    assert caught.value.location == "t.Main.n" and caught.value.message.count("[") == 1
