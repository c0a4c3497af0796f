"""Fixtures of clouds around a driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clouds.stacks.world import World


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[Callable[..., World]]:
    """Makes worlds with settings and tables; they are closed at the end."""
    made: list[World] = []

    def make(**more: Any) -> World:
        made.append(World(tmp_path / "cloud", **more))
        return made[-1]

    yield make
    for world in made:
        world.cloud.close()


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    """A world with default settings."""
    return make_world()
