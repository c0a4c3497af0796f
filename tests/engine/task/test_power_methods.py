"""Methods around the switching of servers: which ones, and until when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from vetro.engine.task import power_methods
from vetro.engine.task.power_methods import PowerMethods
from vetro.muranopl.api import Engine
from vetro.muranopl.runtime.execution import EffectClock
from vetro.muranopl.session import Session
from vetro.packages import memory_package

APP = """
Namespaces: {=: t, std: io.murano, l: io.vetro.lifecycle}
Name: App
Extends: std:Application
Properties:
  seconds: {Contract: $.int(), Default: 0}
  part: {Contract: $.class(std:Object)}
Methods:
  later:
    Body:
      - $stack: $.find(std:Environment).stack
      - $stack.updateTemplate({resources => {x => {type => T}}})
      - $stack.push(true)
  naps:
    Meta: {l:Power: {on: stop}}
    Body: [sleep($.seconds), sleep(1)]
  loops:
    Meta: {l:Power: {on: start}}
    Body:
      - While: 1 < 2
        Do:
          - Try: [sleep(50)]
            Catch: {With: Nothing, As: e, Do: []}
"""
PART = """
Namespaces: {=: t, std: io.murano, l: io.vetro.lifecycle}
Name: Part
Extends: std:Object
Methods:
  both: {Meta: {l:Power: {on: restart}}, Body: []}
  stops: {Meta: {l:Power: {on: stop}}, Body: []}
"""


class Effects:
    """A clock that goes when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []
        self.kinds: list[str] = []

    def perform(self, key: str, kind: str, args: Mapping[str, Any]) -> Any:
        self.kinds.append(kind)
        if kind == "sleep":
            self.slept.append(args["seconds"])
            self.now += args["seconds"]
        return self.now if kind == "clock" else None


def opened(effects: Effects, seconds: int) -> PowerMethods:
    classes = {"t.App": APP, "t.Part": PART}
    package = memory_package({"name": "t", "format": "1.4", "classes": classes, "require": {"io.vetro": "1"}})
    part = {"?": {"id": "p", "type": "t.Part"}}
    app = {"?": {"id": "a", "type": "t.App", "name": "shop"}, "seconds": seconds, "part": part}
    root = {"?": {"id": "e", "type": "io.murano.Environment"}, "name": "e", "applications": [app]}
    session: Session = Engine([package], effects=effects, clock=EffectClock()).session()
    return PowerMethods(session, {"Objects": root})


def test_what_is_called_on_each_event() -> None:
    methods = opened(Effects(), 0)
    found = {event: list(methods.methods("a", event)) for event in ("start", "stop", "restart")}
    assert found == {
        "start": [("a", "loops")],
        "stop": [("a", "naps"), ("p", "stops")],
        "restart": [("a", "naps"), ("p", "both")],
    }
    assert list(methods.methods("nobody", "stop")) == []


@pytest.mark.parametrize(("seconds", "slept", "failed"), [(5, [5, 1], False), (5000, [120.0], True)])
def test_a_method_has_a_deadline(seconds: int, slept: list[float], failed: bool) -> None:
    effects = Effects()
    why = opened(effects, seconds).call("a", "a", "naps")
    assert effects.slept == slept and effects.now <= 1000.0 + power_methods.SECONDS + 1
    assert (why == "method 'naps' of 'shop' failed: it did not end within 120 seconds") is failed


def test_whoever_catches_the_deadline_goes_on_no_longer() -> None:
    effects = Effects()
    why = opened(effects, 0).call("a", "a", "loops")
    assert why is not None and effects.slept == [50, 50, 20.0]
    assert "120 seconds" in why


def test_what_is_put_off_until_the_end_of_the_run_is_refused_too() -> None:
    effects = Effects()
    methods = opened(effects, 0)
    why = methods.call("a", "a", "later")
    assert why is not None and "changes no stacks" in why
    methods._session.finish()
    assert "stack.push" not in effects.kinds
