"""The world of `tests.faults.world` as a cloud that the settings of a service name (``cloud.kind``)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.faults.world import WorldChannel, WorldCloud


def make(settings: Mapping[str, Any], owner: Any) -> tuple[Any, Any]:
    """Cloud and channel over the file that the setting ``path`` names."""
    path = Path(settings["path"])
    return WorldCloud(path), WorldChannel(path)
