"""The Django app of notices."""

from __future__ import annotations

from django.apps import AppConfig


class NoticesConfig(AppConfig):
    """Has what happens written down for those who want to know, and workers send it."""

    name = "vetro.server.notices"

    def ready(self) -> None:
        """See `vetro.server.hooks`."""
        from vetro.server.notices.registrations import register  # there are models now

        register()
