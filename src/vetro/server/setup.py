"""`setup`: starts Django with the settings of this installation; every entry point calls it once, first."""

from __future__ import annotations

import os

from vetro.server.config.config import Config

_current: Config | None = None


def config() -> Config:
    """The settings in use; read from file and environment where nobody gave any."""
    global _current
    if _current is None:
        _current = Config.load()
    return _current


def setup(given: Config | None = None) -> Config:
    """Starts Django with these settings, once in a process; the settings in use. Raises `ConfigError`."""
    global _current
    if given is not None:
        _current = given
    os.environ["DJANGO_SETTINGS_MODULE"] = "vetro.server.settings"
    import django

    django.setup()
    return config()
