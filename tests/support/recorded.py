"""`RecordedCloud`: an environment on the record driver, in this process: deployments without servers."""

from __future__ import annotations

import tempfile
from typing import Any

from vetro.clouds.interface import Owner


class RecordedCloud:
    """``effects`` for an engine, ``cloud`` and ``owner`` to look at what was made; `close` removes everything."""

    def __init__(self, **record: Any) -> None:
        from vetro.engine.host import build_host

        self._folder = tempfile.TemporaryDirectory(prefix="vetro-recorded-")
        self.owner = Owner("project", "0123456789abcdef0123456789abcdef")
        config = {
            "cloud": {"kind": "local", "driver": "record", "directory": self._folder.name, **record},
            "owner": {"project": self.owner.project, "environment": self.owner.environment},
        }
        self.effects = build_host(config)
        self.cloud: Any = self.effects.cloud

    def close(self) -> None:
        """Ends threads and removes the folder."""
        self.effects.close()
        self._folder.cleanup()
