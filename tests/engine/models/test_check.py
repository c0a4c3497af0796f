"""All that is wrong in a model, each with its object and property."""

from __future__ import annotations

from typing import Any

from tests.engine.models.test_suggest import package
from vetro.engine.models import check_model, examine, warning_text
from vetro.muranopl import Engine
from vetro.muranopl.runtime.execution import EffectClock

MAIN = """
Properties:
  n:
    Contract: $.int().notNull().check($ > 3)
  names:
    Contract: {first: $.string().notNull()}
  part:
    Contract: $.class(Part).notNull()
  other:
    Contract: $.class(Part)
  twice:
    Contract: $.int().notNull()
    Default: $.n * 2
"""
PART = """
Properties:
  sizes:
    Contract: [$.int().notNull()]
Methods:
  .init:
    Body:
    - If: $.sizes = [13]
      Then:
      - Throw: Unlucky
        Message: not this one
    - If: $.sizes = [14]
      Then:
      - sleep(100)
"""


def errors(**values: Any) -> list[tuple[Any, ...]]:
    """(object, property, path, code) of the errors of a model that is right but for ``values``."""
    part = {"?": {"type": "t.Part", "id": "p"}, "sizes": [1]}
    root = {"?": {"type": "t.Main", "id": "r"}, "n": 4, "names": {"first": "a"}, "part": part, "other": "p", **values}
    session = Engine([package({"Main": MAIN, "Part": PART})], effects=Refusing(), clock=EffectClock()).session()
    return [(e["objectId"], e["property"], e["path"], e["code"]) for e in check_model(session, {"Objects": root})]


def unused(**values: Any) -> list[tuple[Any, ...]]:
    """(object, class, property) of the values that nobody reads."""
    root = {"?": {"type": "t.Main", "id": "r"}, "n": 4, "names": {"first": "a"}, "part": part(1), **values}
    session = Engine([package({"Main": MAIN, "Part": PART})], effects=Refusing(), clock=EffectClock()).session()
    _, found = examine(session, {"Objects": root})
    return [(one["objectId"], one["class"], one["property"]) for one in found]


class Refusing:
    """Effects as `ask` answers them."""

    def perform(self, key: str, kind: str, args: dict[str, Any]) -> Any:
        from vetro.clouds.interface import NotAvailable

        raise NotAvailable(kind)


def part(*sizes: Any, type: str = "t.Part") -> dict[str, Any]:
    return {"?": {"type": type, "id": "p"}, "sizes": list(sizes)}


def test_a_model_that_fits_has_no_errors() -> None:
    assert errors() == []
    session = Engine([package({"Main": MAIN, "Part": PART})]).session()
    assert check_model(session, {"Objects": None}) == []


def test_every_value_that_does_not_fit_is_named_and_nothing_that_follows_from_it() -> None:
    assert errors(n=1, names={"first": None}, part=part("x"), other="nobody") == [
        ("r", "n", [], "MPL200"),
        ("r", "names", ["first"], "MPL200"),
        ("p", "sizes", [0], "MPL200"),
        ("r", "other", [], "MPL330"),
    ]


def test_a_definition_of_an_unknown_class_concerns_its_property() -> None:
    assert errors(n=1, other=None, part=part(type="t.None")) == [("r", "n", [], "MPL200"), ("r", "part", [], "MPL302")]


def test_a_missing_value_is_an_error_of_its_object() -> None:
    assert errors(part={"?": {"type": "t.Part", "id": "p"}, "sizes": None}) == []
    assert errors(part=None, other=None) == [("r", "part", [], "MPL200")]


def test_what_init_says_comes_when_all_values_fit() -> None:
    found = errors(part=part(13))
    assert [e[:3] for e in found] == [(None, None, [])]
    assert errors(part=part(13), n=1) == [("r", "n", [], "MPL200")]


def test_an_effect_that_is_refused_says_nothing_about_the_model() -> None:
    assert errors(part=part(14)) == []


def test_values_that_no_class_declares_are_told() -> None:
    """Also beside errors: a property that was renamed is missing under one name and not read under the other."""
    assert unused() == []
    lost = {**part(1), "weights": [2], "color": {"?": {"type": "t.Part", "id": "q"}}}
    assert unused(part=lost, extra=None) == [
        ("r", "t.Main", "extra"), ("p", "t.Part", "weights"), ("p", "t.Part", "color"),
    ]  # fmt: skip
    assert unused(n=None, number=4) == [("r", "t.Main", "number")]
    text = warning_text({"name": "shop", "class": "t.Part", "property": "p" * 5000})
    assert "'shop': the class t.Part has no property 'ppp" in text and len(text) < 300
    assert len(unused(**{f"x{number}": 1 for number in range(500)})) == 100


def test_a_root_that_is_none_is_an_error() -> None:
    session = Engine([package({"Main": MAIN, "Part": PART})]).session()
    (error,) = check_model(session, {"Objects": [1]})
    assert "must be a mapping" in error["message"] and error["objectId"] is None
