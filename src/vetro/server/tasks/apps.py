"""The Django app of tasks. Its tables keep the name that the first databases have."""

from __future__ import annotations

from django.apps import AppConfig


class TasksConfig(AppConfig):
    """Migrations and tables are called by ``label``."""

    name = "vetro.server.tasks"
    label = "dispatch"

    def ready(self) -> None:
        """Registers what the catalog has written or asks of tasks (`vetro.server.hooks`)."""
        from vetro.server.tasks.registrations import register  # there are models now

        register()
