"""What tests of watching are given."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine.watching.world import Cloud, Door, Run
from vetro.engine.watching import inventory, states, targets


@pytest.fixture
def door() -> Iterator[Door]:
    made = Door()
    yield made
    made.close()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds are shorter."""
    monkeypatch.setattr(targets, "LOOK", 0.1)
    monkeypatch.setattr(targets, "STALE", 0.8)
    monkeypatch.setattr(inventory, "SOON", 0.1)
    monkeypatch.setattr(targets, "GUESS_EVERY", 0.1)
    monkeypatch.setattr(states.ProbeState, "pause", lambda self, every, now: 0.05)


@pytest.fixture
def cloud() -> Cloud:
    return Cloud()


@pytest.fixture
def run(cloud: Cloud, quick: None) -> Iterator[Run]:
    with Run(cloud).going() as made:
        yield made
