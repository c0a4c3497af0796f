"""States of the database that tests share: `layer` makes a fixture of one.

Importing a package takes longer than most of what is shown with it. A layer is written once, and each of its tests is
taken back to it. Whoever does not ask for it does not see it: what is open is rolled back to what the next test has in
common with the one before it (tests/server/conftest.py does that). So layers pay off where tests that want the same
follow each other, in one file or several.

What a layer writes into files is not taken back, as that of a test is not: no servers in layers.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from django.db import transaction

_numbers = count()


@dataclass(eq=False)
class Layer:
    """Something that is written once, above others."""

    make: Callable[[People], Any]
    below: tuple[Layer, ...]
    number: int = field(default_factory=lambda: next(_numbers))

    def chain(self) -> set[Layer]:
        """It and all that are below."""
        return {self}.union(*(layer.chain() for layer in self.below))


class People:
    """Those who were made so far: each once, however many ask for her."""

    def __init__(self, make: Callable[..., Any]) -> None:
        self._make = make
        self._made: dict[str, Any] = {}

    def __call__(self, name: str, *more: str, **named: str) -> Any:
        """Somebody, made by the first call."""
        if name not in self._made:
            self._made[name] = self._make(name, *more, **named)
        return self._made[name]

    def above(self, renewed: Callable[[Any], Any]) -> People:
        """The same of a test or layer above, whose own are its own."""
        above = People(self._make)
        above._made = {name: renewed(one) for name, one in self._made.items()}
        return above


@dataclass
class _Open:
    layer: Layer
    atomic: transaction.Atomic
    people: People
    value: Any


class Layers:
    """The layers that are open, the lowest one first, and what the test that runs has made of them itself."""

    def __init__(self, make: Callable[..., Any], renewed: Callable[[Any], Any]) -> None:
        self._make = make
        self._renewed = renewed
        self._open: list[_Open] = []
        self._own: dict[Layer, Any] = {}
        self.people = People(make)

    def align(self, wanted: Sequence[Layer], *, making: bool = True) -> None:
        """Rolls back what is not wanted and, if ``making``, writes what is missing."""
        same = 0
        while same < min(len(wanted), len(self._open)) and self._open[same].layer is wanted[same]:
            same += 1
        while len(self._open) > same:
            self._close()
        for layer in wanted[same:] if making else ():
            self._write(layer)
        self._own = {}
        self.people = self._people()

    def value(self, layer: Layer) -> Any:
        """What its function returned, for this test alone; made here and now for a test that has no layers."""
        for one in self._open:
            if one.layer is layer:
                return copy.deepcopy(one.value)
        if layer not in self._own:
            for below in layer.below:
                self.value(below)
            self._own[layer] = layer.make(self.people)
        return self._own[layer]

    def _people(self) -> People:
        below = self._open[-1].people if self._open else People(self._make)
        return below.above(self._renewed)

    def _write(self, layer: Layer) -> None:
        atomic = transaction.atomic()
        # What asks for the outermost transaction gets it, as in each test.
        atomic._from_testcase = True  # type: ignore[attr-defined]
        atomic.__enter__()
        people = self._people()
        one = _Open(layer, atomic, people, None)
        self._open.append(one)
        try:
            one.value = layer.make(people)
        except BaseException:
            self._close()
            raise

    def _close(self) -> None:
        transaction.set_rollback(True)
        self._open.pop().atomic.__exit__(None, None, None)


def layer(*below: Any) -> Callable[[Callable[[People], Any]], Any]:
    """Makes a fixture of a function that writes something, with people who are there or are made by it.

    ``below``: fixtures made so, above which it is written.
    """
    layers_below = tuple(_layer_of(fixture) for fixture in below)

    def decorate(make: Callable[[People], Any]) -> Any:
        written = Layer(make, layers_below)

        def fixture(db: None, layers: Layers) -> Any:
            return layers.value(written)

        fixture.__doc__ = make.__doc__
        fixture.layer = written  # type: ignore[attr-defined]
        return pytest.fixture(name=make.__name__)(fixture)

    return decorate


def _layer_of(fixture: Any) -> Layer:
    found: Layer = fixture._get_wrapped_function().layer
    return found


def layers_of(item: pytest.Item) -> list[Layer]:
    """Those that a test asks for, the lowest one first; none of them for one that commits."""
    mark = item.get_closest_marker("django_db")
    names = getattr(item, "fixturenames", ())
    if (mark is not None and (mark.args or mark.kwargs)) or {"transactional_db", "live_server"} & set(names):
        return []
    defined = item._fixtureinfo.name2fixturedefs  # type: ignore[attr-defined]
    wanted: set[Layer] = set()
    for name in names:
        for one in defined.get(name, ())[-1:]:
            if found := getattr(one.func, "layer", None):
                wanted |= found.chain()
    return sorted(wanted, key=lambda layer: layer.number)
