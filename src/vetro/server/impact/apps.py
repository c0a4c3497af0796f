"""The Django app of impact."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class ImpactConfig(AppConfig):
    """Does the work of tasks of kind ``plans``."""

    name = "vetro.server.impact"

    def ready(self) -> None:
        """See `vetro.server.hooks`."""
        import_module("vetro.server.impact.registrations").register()  # there are models now
