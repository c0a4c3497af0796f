"""Definitions that name their class by a key, written with headers; data that looks like them stays data."""

from __future__ import annotations

from typing import Any

import pytest

from vetro.muranopl.api import Engine
from vetro.muranopl.tools.definitions import places_of, with_headers
from vetro.packages.memory import memory_package
from vetro.yaql.errors import VetroError

APP = """\
Namespaces: {=: com.app, l: com.lib}
Name: App
Properties:
  one: {Contract: $.class(Part).notNull()}
  other: {Contract: $.class(l:Base)}
  many: {Contract: [$.class(Part)]}
  named: {Contract: {$.string(): $.class(Part), fixed: [$.string()], own: $.class(l:Base)}}
  either: {Contract: $.class(Part) or null}
  mould: {Contract: $.template(Part)}
  data: {Contract: {}}
  any: {Contract: $}
  text: {Contract: {$.string(): {}}}
"""
PART = """\
Namespaces: {=: com.app}
Name: Part
Properties:
  size: {Contract: $.int(), Default: 0}
  inner: {Contract: $.class(Part)}
"""
LIB = """\
Namespaces: {=: com.lib}
Name: %s
%s
Properties:
  inner: {Contract: $.class(Derived)}
"""


@pytest.fixture(scope="module")
def engine() -> Engine:
    library = {"com.lib.Base": LIB % ("Base", ""), "com.lib.Derived": LIB % ("Derived", "Extends: Base")}
    app = {"name": "com.app", "classes": {"com.app.App": APP, "com.app.Part": PART}, "require": {"com.lib": "*"}}
    return Engine([memory_package(app), memory_package({"name": "com.lib", "version": "1.2.0", "classes": library})])


def headed(engine: Engine, model: Any, **options: Any) -> Any:
    """The model with headers, as far as the engine has classes."""

    def places(type_text: str) -> Any:
        try:
            return places_of(engine, type_text)
        except VetroError:
            return {}

    return with_headers(model, places, **options)


def app(**properties: Any) -> dict[str, Any]:
    return {"?": {"type": "com.app.App", "id": "a"}, **properties}


def part(type_text: str = "com.app.Part", /, _header: Any = None, **properties: Any) -> dict[str, Any]:
    return {"?": {**(_header or {}), "type": type_text}, **properties}


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (
            {"one": {":Part": {"size": 1}, "id": "p", "name": "P"}},
            {"one": part(_header={"id": "p", "name": "P"}, size=1)},
        ),
        ({"one": {":Part": None}}, {"one": part()}),
        ({"other": {"l:Derived": {}}}, {"other": part("com.lib.Derived")}),
        ({"other": {"l:Derived/1.2@com.lib": {}}}, {"other": part("com.lib.Derived/1.2@com.lib")}),
        ({"other": {"l:Late@com.late": {}}}, {"other": part("com.lib.Late@com.late")}),
        ({"many": [{":Part": {}}, "an id", None]}, {"many": [part(), "an id", None]}),
        ({"named": {"a": {":Part": {}}, "own": {"l:Base": {}}}}, {"named": {"a": part(), "own": part("com.lib.Base")}}),
        ({"one": {":Missing": {}}}, {"one": part("com.app.Missing")}),
        ({"either": {":Part": {}}, "mould": {":Part": {"size": 2}}}, {"either": part(), "mould": part(size=2)}),
        (
            {"one": {":Part": {"inner": {":Part": {"inner": {":Part": {"size": 3}}}}}}},
            {"one": part(inner=part(inner=part(size=3)))},
        ),
        # The inner one stands in a property of the library, whose names are its own.
        (
            {"other": {"l:Base": {"inner": {":Derived": {}}}}},
            {"other": part("com.lib.Base", inner=part("com.lib.Derived"))},
        ),
        ({"one": part(inner={":Part": {}})}, {"one": part(inner=part())}),
    ],
)  # fmt: skip
def test_headers_are_written(engine: Engine, given: dict[str, Any], made: dict[str, Any]) -> None:
    assert headed(engine, app(**given)) == app(**made)
    assert headed(engine, {"deep": [app(**given)]}) == {"deep": [app(**made)]}


def test_definitions_may_leave_their_class_to_the_contract(engine: Engine) -> None:
    given = app(
        one={"size": 1, "inner": {}}, many=[{}, {":Part": {}}, "id"], named={"a": {}, "fixed": ["x"], "own": {}},
        other={"inner": {}}, data={"size": 1}, either={}, mould={}, text={"web": {"port": 80}},
    )  # fmt: skip
    assert headed(engine, given, defaults=True) == app(
        one=part(size=1, inner=part()), many=[part(), part(), "id"],
        named={"a": part(), "fixed": ["x"], "own": part("com.lib.Base")},
        other=part("com.lib.Base", inner=part("com.lib.Derived")), data={"size": 1}, either=part(), mould=part(),
        text={"web": {"port": 80}},
    )  # fmt: skip
    assert headed(engine, app(one={"size": 1})) == app(one={"size": 1})


def test_definitions_get_ids(engine: Engine) -> None:
    ids = iter(("one", "two"))
    model = app(many=[{":Part": {"inner": part()}}, {":Part": {}, "id": "own"}, {":Part": {}}], data={":Part": {}})
    made = headed(engine, model, new_id=lambda: next(ids))
    assert sorted(str(item["?"].get("id")) for item in made["many"]) == ["one", "own", "two"]
    assert "id" not in made["many"][0]["inner"]["?"]  # it had a header
    assert model["many"][0] == {":Part": {"inner": part()}}


@pytest.mark.parametrize(
    "given",
    [
        {"data": {":Part": {"size": 1}}},
        {"any": {":Part": {}}},
        {"text": {"web:nginx": {"port": 80}}},
        {"one": {"x:Part": {}}},
        {"one": {":Part": {}, "l:Base": {}}},
        {"one": {":Part": 5}},
        {"one": {"?": {"id": "p"}, ":Part": {}}},
        {"surplus": {":Part": {}}},
        {"named": {"fixed": [{":Part": {}}]}},
    ],
)
def test_data_stays_as_it_is(engine: Engine, given: dict[str, Any]) -> None:
    assert headed(engine, app(**given)) == app(**given)


def test_classes_that_nobody_has_are_left(engine: Engine) -> None:
    model = {"?": {"type": "com.other.App", "id": "a"}, "one": {":Part": {}}, "sub": app(one={":Part": {}})}
    assert headed(engine, model) == {**model, "sub": app(one=part())}


def test_the_loader_reads_the_same(engine: Engine) -> None:
    given = app(one={":Part": {"size": 1, "inner": {":Part": {"size": 2}}}}, other={"l:Derived": {}})
    found = []
    for model in (given, headed(engine, given)):
        session = engine.session(seed=1)
        session.load({"Objects": model})
        found.append(session.serialize())
        session.close()
    assert found[0] == found[1]
