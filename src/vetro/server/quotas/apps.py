"""The Django app of quotas, and what it does for the apps below."""

from __future__ import annotations

from django.apps import AppConfig

from vetro.server.requests import hooks


class QuotasConfig(AppConfig):
    """Registers how many streams a project may have (`vetro.server.hooks`)."""

    name = "vetro.server.quotas"

    def ready(self) -> None:
        """Called by Django once."""
        hooks.most_streams.register(_most_streams)


def _most_streams(project_id: str) -> int:
    from vetro.server.quotas.limits import limit

    return limit(project_id, "streams")
