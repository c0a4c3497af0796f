"""`RecordedCloud`: an environment on the record driver, in this process: deployments without servers, for tests."""

from __future__ import annotations

import tempfile
from typing import Any

from vetro.clouds import kinds
from vetro.clouds.interface import Owner


class RecordedCloud:
    """``effects`` for an engine, ``cloud`` and ``owner`` to look at what was made; `close` removes everything."""

    def __init__(self, environment: str = "0123456789abcdef0123456789abcdef", **record: Any) -> None:
        """``record``: settings of the recording cloud. An empty environment has the agents of all."""
        from vetro.engine.host.config import build_host

        self._folder = tempfile.TemporaryDirectory(prefix="vetro-recorded-")
        self.owner = Owner("project", environment)
        config = {
            "cloud": {"kind": kinds.RECORD, "directory": self._folder.name, **record},
            "owner": {"project": self.owner.project, "environment": self.owner.environment},
        }
        self.effects = build_host(config)
        self.cloud: Any = self.effects.cloud

    def plans(self) -> list[dict[str, Any]]:
        """What agents were asked, oldest first: server, name of the plan, its texts (scripts, files, commands) and
        parameters."""
        return [
            {
                "server": plan.server,
                "name": plan.name,
                "texts": plan.texts,
                "parameters": plan.body.get("Parameters") or {},
            }
            for plan in self.cloud.driver.plans()
        ]

    def __enter__(self) -> RecordedCloud:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends threads and removes the folder."""
        self.effects.close()
        self._folder.cleanup()
