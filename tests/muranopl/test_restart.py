"""A session that is used for another run finds classes linked, and nothing else of the run before."""

from __future__ import annotations

from typing import Any

import pytest

from vetro.muranopl import Engine, Limits, VirtualClock
from vetro.muranopl.errors import InvalidOperation, UninitializedProperty
from vetro.muranopl.runtime.effects import InProcessEffects
from vetro.packages import memory_package
from vetro.yaql.errors import StepsExceeded

SHOP = """
Namespaces: {=: a}
Name: Shop
Properties:
  password: {Contract: $.string()}
  total: {Contract: $.int(), Usage: Static, Default: 0}
  seen: {Contract: $, Usage: Runtime}
Methods:
  sell:
    Scope: Public
    Arguments: [{n: {Contract: $.int().notNull()}}]
    Body:
      - $.total: $.total + $n
      - $.seen: $n
      - $.setAttr(last, $n)
      - Return: [$.total, $.getAttr(last), randomName()]
  last: {Scope: Public, Body: {Return: $.getAttr(last)}}
  read: {Scope: Public, Body: {Return: $.seen}}
  spin: {Scope: Public, Body: {While: 1 > 0, Do: []}}
"""


def package(version: str = "1.0.0", name: str = "a", text: str = SHOP) -> Any:
    return memory_package({"name": name, "version": version, "format": "1.4", "classes": {"a.Shop": text}})


MODEL: dict[str, Any] = {"Objects": {"?": {"type": "a.Shop/1.0.0", "id": "shop"}, "password": "not for neighbours"}}


def opened(*packages: Any, seed: str = "one") -> Any:
    return Engine(packages, clock=VirtualClock(), seed=seed).session()


def again(session: Any, fixed: Any = None, limits: Limits | None = None) -> None:
    session.restart(limits or Limits(), effects=InProcessEffects(), fixed=fixed or {}, clock=VirtualClock(), seed="one")


def run(session: Any) -> Any:
    session.load(MODEL)
    sold, model = session.call("sell", [3]), session.serialize()
    return sold, model["Objects"], model["Attributes"]


def test_the_second_run_is_as_the_first() -> None:
    session = opened(package())
    first = run(session)
    linked = session.type_for("a.Shop")
    again(session)
    assert run(session) == first == run(opened(package()))
    assert session.type_for("a.Shop") is linked  # which is what it is for


def test_nothing_of_a_run_is_left() -> None:
    session = opened(package())
    run(session)
    session.redaction.add("not for neighbours")
    session.native["agent"] = "theirs"
    again(session)
    assert session.store.get("shop") is None and session.root is None
    assert not session.redaction and session.redaction.text("not for neighbours") == "not for neighbours"
    assert session.native == {}
    session.load({"Objects": {"?": {"type": "a.Shop/1.0.0", "id": "shop"}}})
    assert session.call("last") is None
    with pytest.raises(UninitializedProperty):
        session.call("read")


def test_budgets_are_full_again() -> None:
    session = opened(package())
    again(session, limits=Limits(max_steps=10_000))
    session.load(MODEL)
    with pytest.raises(StepsExceeded):
        session.call("spin")
    again(session, limits=Limits(max_steps=10_000))
    assert session.rt.steps_left() == 10_000
    assert run(session)[0][0] == 3
    session.cancel("enough")
    again(session)
    assert run(session)[0][0] == 3


def test_only_where_no_choice_depends_on_the_run_before() -> None:
    session = opened(package("1.0.0"), package("1.1.0"), package("1.2.0"))
    for fixed in ({}, {"a": ["1.2.0"]}, {"a": ["1.0.0", "1.1.0"]}):
        with pytest.raises(InvalidOperation):
            again(session, fixed)
    again(session, {"a": ["1.1.0", "1.2.0"]})  # the lowest is taken where nothing else fits, whether it was met or not
    session = opened(package(), package(name="b"))
    with pytest.raises(InvalidOperation):  # two packages with one class
        again(session)


def test_not_in_the_middle_of_a_run() -> None:
    session = opened(package())
    with pytest.raises(InvalidOperation):
        session.run(lambda: again(session))
