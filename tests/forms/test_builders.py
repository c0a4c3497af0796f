"""Model builders, actions and their results; builders run in a session, as the task process runs them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.forms.world import WorldCatalog, describer, package
from vetro.forms.answers import Merger, object_answers
from vetro.forms.builders import (
    BadBuilderResult,
    builder_arguments,
    builder_form,
    builders_of,
    built,
)
from vetro.forms.check import Checker
from vetro.forms.fill import Filler
from vetro.forms.generated import method_form
from vetro.forms.objects import Objects
from vetro.muranopl import Engine

CLASSES = {
    "t.Cake": """
Namespaces: {=: t, m: io.murano.metadata}
Name: Cake
Properties:
  size: {Contract: $.int().notNull(), Default: 1}
  layers: {Contract: [$.string()]}
Methods:
  tall:
    Usage: Static
    Scope: Public
    Meta:
      - m:ModelBuilder: {}
      - m:Title: {text: A tall cake}
    Arguments:
      - model: {Contract: {}}
      - layers: {Contract: $.int().notNull().check($ < 9), Default: 3}
    Body:
      - Return:
          ?: {type: t.Cake}
          size: $model.get(size, 0) + 10
          layers: range($layers).select(str($))
  off:
    Usage: Static
    Scope: Public
    Meta: {m:ModelBuilder: {enabled: false}}
    Arguments:
      - model: {Contract: {}}
  bake:
    Scope: Public
    Arguments:
      - hours: {Contract: $.int().notNull()}
  list:
    Usage: Static
    Scope: Public
"""
}
CATALOG = WorldCatalog(package(CLASSES))
DESCRIBER = describer(package(CLASSES))
CAKE = DESCRIBER.of("t.Cake")
assert CAKE is not None
STORED = {"?": {"type": "t.Cake/1.2.0@t", "id": "c", "name": "mine"}, "size": 4}


def test_enabled_builders_are_listed_by_title() -> None:
    choices = builders_of(CATALOG.schemas("t.Cake"))
    assert [(c.value, c.label) for c in choices] == [("tall", "A tall cake")]


def test_a_builder_asks_for_all_but_its_first_argument() -> None:
    form = builder_form(CATALOG.schemas("t.Cake")["tall"])
    assert [(f.name, f.initial, f.constraints["exclusiveMaximum"]) for f in form.pages[0].fields()] == [
        ("layers", 3, 9)
    ]
    assert form.source == "method"


def test_the_result_is_loaded_into_the_form() -> None:
    assert CAKE is not None
    arguments = builder_arguments(DESCRIBER, CATALOG.schemas("t.Cake")["tall"], {"layers": 2}, STORED)
    assert arguments == {"model": STORED, "layers": 2}
    session = Engine([package(CLASSES)]).session()
    result = session.call("tall", (), arguments, on_class={"name": "t.Cake", "version": "1.2.0"})
    model = built(DESCRIBER, CAKE, plain(result), STORED)
    assert model["?"]["id"] == "c" and model["?"]["name"] == "mine"
    assert (model["size"], model["layers"]) == (14, ["0", "1"])
    answers = object_answers(Filler(DESCRIBER).form(CAKE, model), model)
    assert Checker(DESCRIBER, Objects({}, DESCRIBER)).problems(CAKE, answers) == []


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, tuple) else value


@pytest.mark.parametrize(
    "result", [None, "text", [1], 5, {"?": {"type": "t.Other"}}, {"?": {"type": "io.murano.Object"}}]
)
def test_what_is_no_object_of_the_class_is_refused(result: Any) -> None:
    assert CAKE is not None
    with pytest.raises(BadBuilderResult, match=r"t\.Cake"):
        built(DESCRIBER, CAKE, result, STORED)


def test_arguments_are_filled_in_again() -> None:
    bake = method_form(CATALOG.schemas("t.Cake", ["bake"])["bake"])
    filled = Filler(DESCRIBER).method(bake, {"hours": 2})
    assert [(f.name, f.value, f.answered) for f in filled.pages[0].fields()] == [("hours", 2, True)]
    assert Merger(DESCRIBER, str).arguments(bake, {"hours": 3, "unknown": 1}) == {"hours": 3}
