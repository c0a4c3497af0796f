"""The Django app of procedures."""

from __future__ import annotations

from django.apps import AppConfig


class ProceduresConfig(AppConfig):
    """Goes on with procedures when their tasks end, and beside the tasks of workers."""

    name = "vetro.server.procedures"

    def ready(self) -> None:
        """See `vetro.server.hooks`."""
        from vetro.server.procedures.registrations import register  # there are models now

        register()
