"""The Django app of environments."""

from __future__ import annotations

from django.apps import AppConfig


class EnvironmentsConfig(AppConfig):
    """Registers what the ends of tasks mean for environments, and which packages these use."""

    name = "vetro.server.environments"

    def ready(self) -> None:
        """See `vetro.server.hooks`."""
        from vetro.server.environments.registrations import register  # there are models now

        register()
