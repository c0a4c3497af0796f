"""Upgrades of generated models between generated versions: nothing leaks, and the way does not matter."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.upgrading.world import World, obj, package
from tests.support.fuzzing import examples
from vetro.model.header import id_of, type_of
from vetro.model.tree import by_id, objects
from vetro.muranopl.api import Engine

#: Names of properties that hold objects, by version: renamed, taken by a migration, or gone.
NAMES = ("left", "right", "spare", "kept")
STEP = """
  {name}:
    Usage: Static
    Meta: {{l:Migration: {{to: {to}}}}}
    Arguments: [old: {{Contract: {{}}}}]
    Body:
      - Return: {body}
"""
#: What migrations do with the properties `a` and `b` of any version.
BODIES = (
    "$old.set(count, $old.get(count, 0) + 1)",
    "$old.set(b, $old.get(a)).delete(a)",
    "$old.set(a, {'?' => {type => 't.Node'}, a => $old.get(a)})",
    "$old.delete(a).set(b, [$old.get(a), $old.get(b)])",
    "$old.set(trace, $old.get(trace, []) + [$old.keys().orderBy($)])",
)


def node(properties: str, steps: list[tuple[str, str]]) -> str:
    found = "".join(STEP.format(name=f"m{i}", to=to, body=body) for i, (to, body) in enumerate(steps))
    return f"Properties:\n{properties}" + (f"Methods:\n{found}" if found else "")


@st.composite
def worlds(draw: Any) -> World:
    """Versions 1 to 3 of a class; those of its steps that version 3 has, version 2 has, too, as far as they are due."""
    two = draw(st.lists(st.sampled_from(BODIES), max_size=1))
    three = draw(st.lists(st.sampled_from(BODIES), max_size=1))
    rename = draw(st.booleans())
    free = "".join(f"  {name}: {{Contract: $}}\n" for name in ("a", "b", "count", "trace"))
    old = free + "  first: {Contract: $}\n"
    named = "  second: {Contract: $%s}\n" % (", Meta: {l:Renamed: {from: first, to: 2.0.0}}" if rename else "")
    again = "  third: {Contract: $, Meta: [{l:Renamed: {from: second, to: 3.0.0}}%s]}\n" % (
        ", {l:Renamed: {from: first, to: 2.0.0}}" if rename else ""
    )
    steps = [("2.0.0", body) for body in two]
    return World(
        package("1.0.0", {"Node": node(old, [])}),
        package("2.0.0", {"Node": node(free + named, steps)}),
        package("3.0.0", {"Node": node(free + again, [*steps, *(("3.0.0", body) for body in three)])}),
    )


@st.composite
def models(draw: Any, version: str = "1.0.0") -> dict[str, Any]:
    """A tree of nodes with values and references."""
    count = draw(st.integers(1, 6))
    made = [obj("Node", f"n{i}", version, first=i) for i in range(count)]
    for i, item in enumerate(made[1:], 1):
        owner = made[draw(st.integers(0, i - 1))]
        name = draw(st.sampled_from(("a", "b", "first")))
        if draw(st.booleans()):
            owner[name] = [*owner[name], item] if isinstance(owner.get(name), list) else [item]
        else:
            owner[name] = {"x": item, "y": f"n{i}"}
    return made[0]


@given(worlds(), models())
@settings(max_examples=examples(100), deadline=None)
def test_the_way_through_a_version_between_makes_no_difference(world: World, model: dict[str, Any]) -> None:
    direct = world.upgrade(model, "1.0.0", "3.0.0")
    second = world.upgrade(model, "1.0.0", "2.0.0")
    through = world.upgrade({"Objects": second["objects"]}, "2.0.0", "3.0.0")
    lost = any(item["dropped"] for item in second["report"]["objects"])  # what version 2 has no place for
    if not lost:
        assert through["objects"] == direct["objects"]
    assert all(type_of(item) == "t.Node/3.0.0@t" for item in objects(direct["objects"]))


@given(worlds(), models())
@settings(max_examples=examples(100), deadline=None)
def test_the_same_upgrade_is_the_same_draft(world: World, model: dict[str, Any]) -> None:
    before = repr(model)
    made = {repr(world.upgrade(model, "1.0.0", "3.0.0")) for _ in range(3)}
    assert len(made) == 1 and repr(model) == before


CLASS = """
Properties:
%s
Methods:
  .destroy:
    Body:
      - $reporter: new('io.murano.system.StatusReporter')
      - $reporter.report($this, destroyed)
"""


#: What migrations do with what objects own.
MOVES = (
    "$old",
    "$old.delete(kept)",
    "$old.set(new, {'?' => {type => 't.Node'}})",
    "$old.delete(left).set(new, $old.get(left))",
)


class Reports:
    """Who was destroyed."""

    def __init__(self) -> None:
        self.destroyed: list[str] = []

    def perform(self, key: str, kind: str, args: dict[str, Any]) -> Any:
        if kind == "report" and args["text"] == "destroyed":
            self.destroyed.append(args["id"])


@st.composite
def pairs(draw: Any) -> tuple[World, dict[str, Any]]:
    """Two versions of a class that differ in which properties hold objects and what they are called."""
    properties = {name: f"  {name}: {{Contract: [$.class(Node).notNull()]}}" for name in NAMES}
    after = {}
    for name, text in properties.items():
        fate = draw(st.sampled_from(("kept", "gone", "renamed")))
        if fate == "kept":
            after[name] = text
        elif fate == "renamed":
            meta = f"Meta: {{l:Renamed: {{from: {name}, to: 2.0.0}}}}"
            after[name] = f"  {name}2: {{Contract: [$.class(Node).notNull()], {meta}}}"
    after["new"] = "  new: {Contract: [$.class(Node).notNull()]}"
    step = STEP.format(name="m", to="2.0.0", body=draw(st.sampled_from(MOVES)))
    world = World(
        package("1.0.0", {"Node": CLASS % "\n".join(properties.values())}),
        package("2.0.0", {"Node": CLASS % "\n".join(after.values()) + step.strip("\n") + "\n"}),
    )
    count = draw(st.integers(1, 7))
    made = [obj("Node", f"n{i}") for i in range(count)]
    for i, item in enumerate(made[1:], 1):
        owner, name = made[draw(st.integers(0, i - 1))], draw(st.sampled_from(NAMES))
        owner[name] = [*owner.get(name, []), item]
    return world, made[0]


@given(pairs())
@settings(max_examples=examples(100), deadline=None)
def test_every_object_of_the_copy_is_kept_or_destroyed_exactly_once(case: tuple[World, dict[str, Any]]) -> None:
    world, stored = case
    made = world.upgrade(stored, "1.0.0", "2.0.0")
    reports = Reports()
    session = Engine(list(world.packages), effects=reports, seed="x").session()
    session.load({"Objects": made["objects"], "ObjectsCopy": stored, "SystemData": {"Packages": made["packages"]}})
    session.cleanup()
    ended = session.finalize()
    kept = {str(id_of(item)) for item in objects(ended["Objects"])}
    assert sorted(reports.destroyed) == sorted(set(by_id(stored)) - kept)  # each once, and none of those that stay
    assert set(by_id(made["objects"])) == kept
