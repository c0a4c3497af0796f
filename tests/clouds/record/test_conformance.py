"""The kind `record` is what every kind around a driver is."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from vetro.clouds.drivers.conformance import DriverConformance
from vetro.clouds.kind_protocols import Place
from vetro.clouds.record.kind import KIND


class TestRecord(DriverConformance):
    kind = KIND

    @pytest.fixture(autouse=True)
    def _folders(self) -> None:
        self.folders: set[Path] = set()

    def place(self, directory: Path) -> Place:
        self.folders.add(directory)
        return super().place(directory)

    def listing(self) -> Collection[str]:
        """What the files of all clouds of this test hold."""
        found: list[Any] = []
        for folder in self.folders:
            file = folder / "record.db"
            if file.exists():
                with sqlite3.connect(file) as database:
                    found += database.execute("SELECT id FROM servers WHERE status != 'DELETED'").fetchall()
                    found += database.execute("SELECT id FROM things").fetchall()
                database.close()
        return [json.dumps(row) for row in found]
