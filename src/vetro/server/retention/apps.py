"""The Django app of what is dropped after a while. It has no tables."""

from __future__ import annotations

from threading import Thread

from django.apps import AppConfig

from vetro.server.config.config import Config


class RetentionConfig(AppConfig):
    """Each worker calls it once an hour (`vetro.server.tasks.pool`)."""

    name = "vetro.server.retention"

    def ready(self) -> None:
        """Registers what this app does for others."""
        from vetro.server.tasks import hooks

        hooks.aged.register(_begin)


def _begin(config: Config) -> Thread:
    from vetro.server.retention import sweep  # workers need it; commands begin without

    return sweep.begin(config)
