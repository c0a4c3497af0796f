from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.installation import compiled
from vetro.engine.task.launcher import Launcher


@pytest.fixture(scope="session")
def launcher() -> Iterator[Launcher]:
    """A warm zygote whose tasks may perform any effect."""
    root = str(Path(__file__).parents[2])
    with Launcher(cache=compiled(), natives=["tests.faults.natives:register"], path=[root]) as made:
        made.start().close()  # it is ready: workers that are forked from here find it so
        yield made
