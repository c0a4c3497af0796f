"""The effects host of these tests and the world that it acts on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.harness import make_host
from tests.faults.world import World
from vetro.engine.host.performer import EffectsHost


@pytest.fixture
def host(tmp_path: Path) -> Iterator[EffectsHost]:
    made = make_host(tmp_path, conflict_pauses=(0.0, 0.0))
    yield made
    made.close()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "world.db")
