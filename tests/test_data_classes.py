"""Classes of `vetro.data_classes` do what those of `dataclasses` do, but for `frozen`, which the type checker holds."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from vetro import data_classes


def made(decorator: Any, **options: Any) -> tuple[type[Any], type[Any]]:
    @decorator(**options)
    class Point:
        x: int
        y: int = 0
        note: str = dataclasses.field(default="", compare=False, repr=False)

    @decorator(**options)
    class Deep(Point):
        z: list[int] | None = None

    return Point, Deep


OPTIONS: list[dict[str, bool]] = [
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "kw_only": True},
    {"slots": True},
    {},
    {"slots": True, "eq": False},
    {"frozen": True, "slots": True, "eq": False},
    {"frozen": True, "slots": True, "order": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_same_as_the_original(options: dict[str, bool]) -> None:
    def told(decorator: Any) -> list[Any]:
        point, deep = made(decorator, **options)
        one, same, other, below = point(x=1), point(x=1, note="n"), point(x=2), deep(x=1)
        found: list[Any] = [repr(one), repr(below), one == same, one == other, one == below, one != same, one == 1]
        found += [hasattr(one, "__dict__"), [field.name for field in dataclasses.fields(deep)], point.__match_args__]
        found += [repr(dataclasses.replace(below, z=[3])), repr(copy.copy(below)), dataclasses.asdict(below)]
        acts: list[Callable[[], Any]] = [
            *(lambda: hash(one) == hash(same), lambda: hash(one) == hash(other), lambda: below in {one}),
            *(lambda: one < other, lambda: one >= same, lambda: one < below, lambda: point(1), lambda: point()),
        ]
        for act in acts:
            try:
                found.append(repr(act()))
            except TypeError:
                found.append("TypeError")
        return found

    assert told(data_classes.dataclass) == told(dataclasses.dataclass)


def test_what_a_class_says_itself_is_kept() -> None:
    @data_classes.dataclass(frozen=True, slots=True)
    class Own:
        x: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

    assert (repr(Own(1)), Own(1) == Own(2), hash(Own(3))) == ("own", True, 7)


def test_what_extends_a_frozen_class_is_frozen() -> None:
    @dataclasses.dataclass(frozen=True, slots=True)
    class Public:
        x: int

    @data_classes.dataclass(frozen=True, slots=True)
    class Own(Public):
        y: int = 0

    assert Own(1) == Own(1) != Own(1, 2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        Own(1).y = 2  # type: ignore[misc]


@data_classes.dataclass(frozen=True, slots=True)
class Kept:
    x: int
    y: tuple[str, ...] = ()


def test_they_can_be_sent_to_another_process() -> None:
    assert pickle.loads(pickle.dumps(Kept(1, ("a",)))) == Kept(1, ("a",))
