"""What tests of the watcher are given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from tests.server.watch.world import (
    Process,
)
from vetro.server.setup import config
from vetro.server.tasks import members
from vetro.server.watch import watcher
from vetro.server.watch.watcher import Watcher


@pytest.fixture
def watching(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], tuple[Watcher, list[Process]]]]:
    """Makes watchers that do one round when they are told to."""
    monkeypatch.setattr(watcher, "TARGETS", 0.0)
    monkeypatch.setattr(watcher, "LEAD", 0.0)
    monkeypatch.setattr(watcher, "_COLLECT", 0.0)
    made: list[Watcher] = []

    def make() -> tuple[Watcher, list[Process]]:
        processes: list[Process] = []

        def process(settings: Mapping[str, Any]) -> Process:
            processes.append(Process(settings))
            return processes[-1]

        found = Watcher(config(), members.join([]), None, process)  # type: ignore[arg-type]
        made.append(found)
        return found, processes

    yield make
    for one in made:
        one._end()
