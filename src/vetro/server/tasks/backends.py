"""Which dispatcher this installation has (setting ``dispatch.backend``), before Django knows its tables.

``embedded`` is the core's own and needs nothing. A distribution offers another one by an entry point in the group
``vetro.dispatchers`` that names a `Backend`; the name of the entry point is the value of the setting. What a plug-in
keeps in tables of its own is no data of the installation: it is made anew from tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from vetro.server.config.config import Config, ConfigError

if TYPE_CHECKING:
    from vetro.server.tasks.dispatcher import Dispatcher

EMBEDDED = "embedded"
ENTRY_POINT_GROUP = "vetro.dispatchers"
#: Backends that were part of Vetro once, and the distributions that they are now.
_MOVED_OUT = {"procrastinate": "vetro-procrastinate"}


@dataclass(frozen=True)
class Backend:
    """What an entry point names. The module that holds it must not need Django's tables when it is imported."""

    #: Makes the dispatcher, of a configuration and the name of the worker (empty in other processes).
    make: Callable[[Config, str], Dispatcher]
    #: Raises `ConfigError` where it cannot work with this configuration.
    check: Callable[[Config], None] = lambda config: None
    #: Django apps that it needs, as ``INSTALLED_APPS`` names them, and the labels under which they have migrations.
    apps: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    #: Settings of Django's for these apps.
    settings: Mapping[str, Any] = field(default_factory=dict)
    #: Routers of Django's that say in which databases its tables are made.
    routers: tuple[str, ...] = ()
    #: Connections that a worker has more because of it.
    connections: int = 0


def backend(config: Config) -> Backend | None:
    """The plug-in that carries tasks here, None for the core's own dispatcher. Raises `ConfigError`."""
    name = str(config["dispatch.backend"])
    if name == EMBEDDED:
        return None
    plugin = _load(name)
    plugin.check(config)
    return plugin


@cache
def _load(name: str) -> Backend:
    found = [point for point in entry_points(group=ENTRY_POINT_GROUP) if point.name == name]
    if not found and name in _MOVED_OUT:
        raise _unusable(name, f"needs the distribution {_MOVED_OUT[name]}: pip install 'vetro[{name}]'")
    if not found:
        raise _unusable(name, f"is offered by no distribution that is installed; '{EMBEDDED}' needs none")
    if len(found) > 1:
        names = ", ".join(sorted(point.dist.name for point in found if point.dist is not None))
        raise _unusable(name, f"is offered by several distributions: {names}")
    try:
        plugin = found[0].load()
    except Exception as error:
        raise _unusable(name, f"cannot be loaded: {type(error).__name__}: {error}") from error
    if not isinstance(plugin, Backend):
        raise _unusable(name, f"is no Backend of {__name__}: {found[0].value}")
    return plugin


def _unusable(name: str, why: str) -> ConfigError:
    return ConfigError(f"'dispatch.backend' = '{name}' {why}")


def labels_of_plugins() -> frozenset[str]:
    """Labels of the Django apps of all plug-ins that are installed, in use or not, and of those that once were part of
    Vetro: their tables hold no data."""
    found = set(_MOVED_OUT)
    for name in {point.name for point in entry_points(group=ENTRY_POINT_GROUP)}:
        try:
            found.update(_load(name).labels)
        except ConfigError:  # what cannot be used made no tables
            continue
    return frozenset(found)


def django_settings(config: Config) -> dict[str, Any]:
    """What the plug-in adds to Django's settings: apps, routers and settings of its own. Raises `ConfigError`."""
    plugin = backend(config)
    if plugin is None:
        return {"INSTALLED_APPS": [], "DATABASE_ROUTERS": []}
    return {**plugin.settings, "INSTALLED_APPS": [*plugin.apps], "DATABASE_ROUTERS": [*plugin.routers]}
