"""The toy is what every kind around a driver is."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection
from pathlib import Path

from vetro.clouds.drivers.conformance import DriverConformance
from vetro_toy import KIND


class TestToy(DriverConformance):
    kind = KIND

    def listing(self) -> Collection[str]:
        """Folders of toys, and processes that were started for one."""
        clouds = Path(tempfile.gettempdir()).glob("vetro-conformance-*/toy/*/*")
        return [*map(str, clouds), *_served()]


def _served() -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().decode("utf-8", "replace")
        except OSError:
            continue
        found += [
            f"processes of {folder}" for folder in re.findall("/vetro-conformance-[^/]+/toy/servers/[^/\0]+", words)
        ]
    return found
