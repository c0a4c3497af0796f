"""Load plans: which declaration counts, and what contracts do to raw values."""

from __future__ import annotations

from typing import Any

import pytest

from tests.muranopl.world import World
from vetro.muranopl.errors import AmbiguousPropertyName
from vetro.muranopl.objects.load_plans import Shape, contract_shape


def plan(world: World, name: str = "t.Main") -> Any:
    return world.session.store.plan(world.session.type_for(name))


def test_levels_go_from_the_derived_class_to_the_base_and_no_property_stands_twice() -> None:
    world = World(
        {
            "Main": """
                Extends: [Left, Right]
                Properties: {a: {Contract: $}, s: {Contract: $, Usage: Static}, arg: {Contract: $}}
                Methods: {.init: {Arguments: [{arg: {Contract: $}}]}}
            """,
            "Left": "Extends: Base\nProperties: {l: {Contract: $}, b: {Contract: $.int()}}",
            "Right": "Extends: Base\nProperties: {r: {Contract: $}}",
            "Base": "Properties: {b: {Contract: $, Usage: Runtime}, a: {Contract: $}, arg: {Contract: $}}",
        }
    )
    made = plan(world)
    first, *others = ([p.name for p in level] for level in made.levels)
    assert first == ["a"] and sorted(others) == [["l", "b"], ["r"]]
    (b,) = (p for level in made.levels for p in level if p.name == "b")
    assert b.prop.declaring.name == "t.Left" and [p.declaring.name for p in b.validators] == ["t.Base"]
    assert b.from_model and not b.runtime
    assert made.has_init and made.init_arguments == {"arg"} and not made.has_destructor


def test_ambiguous_properties_break_the_class() -> None:
    world = World(
        {
            "Main": "Extends: [Left, Right]",
            "Left": "Properties: {x: {Contract: $}}",
            "Right": "Properties: {x: {Contract: $}}",
        }
    )
    with pytest.raises(AmbiguousPropertyName):
        plan(world)


@pytest.mark.parametrize(
    ("contract", "shape"),
    [
        ("$", Shape.OPEN),
        ("$.int()", Shape.SCALAR),
        ("$.string().notNull().check($ in list(a, b))", Shape.SCALAR),
        ("$.check(true).int()", Shape.OPEN),
        ("$.notNull()", Shape.OPEN),
        ("$.int() or 5", Shape.OPEN),
        ("$.class(Main).notNull().owned()", Shape.OBJECT),
        ("$.template(Main)", Shape.OPEN),
        ("[$.int()]", Shape.ITEMS),
        ("[$.class(Main), 1, 2]", Shape.ITEMS),
        ("[$]", Shape.OPEN),
        ("[]", Shape.OPEN),
        ("{}", Shape.OPEN),
        ("{a: $.int(), b: [$.string()]}", Shape.ITEMS),
        ("{a: $.int(), b: $}", Shape.OPEN),
        ("{$.string(): $.int()}", Shape.ITEMS),
        ("{$: $.int()}", Shape.OPEN),
        ("5", Shape.OPEN),
    ],
)
def test_shapes(contract: str, shape: Shape) -> None:
    text = contract if contract.startswith(("[", "{")) else f'!yaql "{contract}"'
    world = World({"Main": f"Properties: {{p: {{Contract: {text}}}}}"})
    assert contract_shape(world.session.type_for("t.Main").own_properties["p"].decl.contract) is shape
