"""Settings of an installation in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vetro.server.config.config import Config


@pytest.fixture
def settings(tmp_path: Path) -> Callable[..., Config]:
    """Makes them: section_name=value."""

    def make(**values: Any) -> Config:
        data = tmp_path / "data"
        data.mkdir(mode=0o700, exist_ok=True)
        given = {name.replace("_", ".", 1): value for name, value in values.items()}
        return Config.load(data, overrides=given, environ={})

    return make
