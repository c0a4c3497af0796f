"""`setup`: starts Django with the settings of this installation; every entry point calls it once, first."""

from __future__ import annotations

import os
from contextlib import ExitStack

import django
from django.apps import apps
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections

from vetro.server.config.config import Config
from vetro.server.database import database_settings
from vetro.server.secrets.django_key import django_secret

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
    django.setup()
    return config()


def open_with(given: Config, stack: ExitStack) -> None:
    """Starts Django with these settings. Where it has been started, it goes on with them, and comes back when the stack
    is closed."""
    if not apps.ready:
        setup(given)
        return
    before = _current
    values = {name: getattr(settings, name) for name in ("VETRO_KEY_FILE", "SECRET_KEY")}
    known, connection = connections.settings[DEFAULT_DB_ALIAS], connections[DEFAULT_DB_ALIAS]

    def back() -> None:
        global _current
        connections.close_all()
        _current = before
        for name, value in values.items():
            setattr(settings, name, value)
        connections.settings[DEFAULT_DB_ALIAS] = known
        connections[DEFAULT_DB_ALIAS] = connection

    stack.callback(back)
    move_to(given)


def move_to(given: Config) -> None:
    """Goes on with other settings in a process where Django is set up: from now on its database, keys and folders are
    those of ``given``."""
    global _current
    connections.close_all()
    _current = given
    settings.VETRO_KEY_FILE = given.path("secrets.key_file")
    settings.SECRET_KEY = django_secret(given.path("secrets.key_file"))
    known = connections.configure_settings({DEFAULT_DB_ALIAS: database_settings(given)})
    connections[DEFAULT_DB_ALIAS]  # there is none to be deleted before somebody asked for it
    connections.settings[DEFAULT_DB_ALIAS] = known[DEFAULT_DB_ALIAS]
    del connections[DEFAULT_DB_ALIAS]
