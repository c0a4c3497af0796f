"""Extension classes as if they were installed: the fixture ``install``, and a class that counts."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from tests.support.host import Host
from vetro.packages.extensions.plugins import (
    ENTRY_POINT_GROUP,
    REQUIREMENTS_GROUP,
    Extensions,
    load_extensions,
)
from vetro.packages.plugin_api import EffectFunction, expose

Install = Callable[..., None]


class Distribution:
    def __init__(self, name: str) -> None:
        self.name = name
        self.metadata = {"Summary": f"about {name}", "Author": "somebody"}


class EntryPoint:
    def __init__(self, name: str, dist: str, target: Any) -> None:
        self.name, self.dist, self.value, self._target = name, Distribution(dist), f"{dist}:X", target

    def load(self) -> Any:
        if isinstance(self._target, Exception):
            raise self._target
        return self._target


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """``install("dist", {"a.Name": Class}, requirements=…, other="function")``: as if it were installed.

    Classes and functions are moved to a module of their own, named after the distribution.
    """
    points: list[EntryPoint] = []
    required: list[EntryPoint] = []
    made: list[str] = []

    def entry_points(*, group: str) -> list[EntryPoint]:
        return {ENTRY_POINT_GROUP: points, REQUIREMENTS_GROUP: required}[group]

    def add(dist: str, exports: dict[str, Any], *, requirements: Any = None, **members: Any) -> None:
        module = ModuleType("plugin_" + dist.replace("-", "_").replace(".", "_"))
        sys.modules[module.__name__] = module
        made.append(module.__name__)
        for value in [*exports.values(), *members.values()]:
            if isinstance(value, type):
                value.__module__ = module.__name__
                setattr(module, value.__name__, value)
                for member in vars(value).values():
                    if isinstance(member, EffectFunction):
                        member.__module__ = module.__name__
        for name, value in members.items():
            setattr(module, name, value)
            if isinstance(value, EffectFunction):
                value.__module__ = module.__name__
        points.extend(EntryPoint(name, dist, value) for name, value in exports.items())
        if requirements is not None:
            required.append(EntryPoint("requirements", dist, requirements))

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    yield add
    for name in made:
        sys.modules.pop(name, None)


def run(loaded: Extensions, body: str, **options: Any) -> Any:
    """The plain result of MuranoPL code in a package that requires the loaded extensions."""
    host = Host(natives=loaded.natives)
    loaded.register_effects(host.inner)
    options.setdefault("require", {p.name: "0" for p in loaded.packages})
    result = host.run(body, packages=loaded.packages, **options)
    run.host = host  # type: ignore[attr-defined]
    return result


class Counter:
    """Counts."""

    initialised = 0

    def __init__(self, start: int, step: int = 2, tags: Any = ("x",)) -> None:
        self.value, self.step, self.tags = start, step, tags

    @classmethod
    def init_plugin(cls) -> None:
        Counter.initialised += 1

    def add_some(self, how_many: int = 1) -> int:
        """Adds."""
        self.value += how_many * self.step
        return self.value

    def describe(self) -> Any:
        return {"tags": self.tags, "pair": (1, {"a": {2}}), "rest": (n for n in range(2))}

    @staticmethod
    def twice(number: int) -> int:
        return 2 * number

    @classmethod
    def class_name(cls) -> str:
        return cls.__name__

    @expose("allOfIt", "everything")
    def whole(self, *items: Any, last: Any = None, **named: Any) -> Any:
        return [list(items), last, named]

    def _hidden(self) -> None:
        raise AssertionError


@pytest.fixture
def counter(install: Install) -> Extensions:
    install("my-dist", {"a.Counter": Counter})
    return load_extensions()
