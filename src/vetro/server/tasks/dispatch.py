"""`dispatcher`: who carries tasks to workers in this installation, the core or a plug-in."""

from __future__ import annotations

from vetro.server.config.config import Config
from vetro.server.setup import config as current
from vetro.server.tasks.backends import backend
from vetro.server.tasks.dispatcher import DatabaseDispatcher, Dispatcher


def dispatcher(config: Config | None = None, name: str = "") -> Dispatcher:
    """The one of this installation; ``name`` is that of a worker. Raises `ConfigError`."""
    config = config or current()
    plugin = backend(config)
    return DatabaseDispatcher(config, name) if plugin is None else plugin.make(config, name)
