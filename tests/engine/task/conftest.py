"""What tests of task processes are given."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine.taskworld import NATIVES
from tests.support.installation import compiled
from vetro.engine.task.launcher import Launcher


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    with Launcher(cache=compiled(), natives=["hostile_natives:register"], path=[str(NATIVES)]) as made:
        yield made
