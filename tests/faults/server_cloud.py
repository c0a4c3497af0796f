"""The world of `tests.faults.world` as a cloud that the settings of a service name (``cloud.kind``)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.faults.world import WorldCloud


class ServiceCloud(WorldCloud):
    """Has networks, but nothing that environments of the service would set up by themselves."""

    def network(self, owner: Any, region: str, query: str, args: Mapping[str, Any]) -> Any:
        return [] if query == "extensions" else super().network(owner, region, query, args)


def make(settings: Mapping[str, Any], owner: Any) -> ServiceCloud:
    """The cloud over the file that the setting ``path`` names."""
    return ServiceCloud(Path(settings["path"]))
