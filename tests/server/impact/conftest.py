"""A recording cloud for environments whose upgrades are looked at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a recording cloud of its own."""
    from vetro.server import setup
    from vetro.server.config.config import Config

    place = tmp_path / "cloud"
    given = {"cloud.driver": "record", "cloud.directory": str(place)}
    monkeypatch.setattr(setup, "_current", Config.load(setup.config().data, overrides=given))
    yield place
