"""Environments of before the kind of their cloud was kept (`Environment.cloud`), and that were only written down.

With the settings of today they would count as real. What the recorder wrote down knows their servers.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from contextlib import closing, suppress

from vetro.clouds import kinds
from vetro.clouds.interface import CloudError, ListsServers, Owner
from vetro.engine.host.config import cloud_of
from vetro.server.config import cloud_settings
from vetro.server.config.config import Config, ConfigError
from vetro.server.environments.models import Environment

_log = logging.getLogger("vetro.worker")
#: The state of a server that a driver does not know.
_UNKNOWN = "ERROR"


def keep_kind(config: Config, row: Environment, servers: Collection[str]) -> bool:
    """Notes that an environment was only written down, if all of its servers (ids) are in what was; whether it did."""
    if row.cloud or not servers:
        return False
    kind = next((name for name in _writing(config) if _knows(config, name, row, servers)), None)
    if kind is None:
        return False
    row.cloud = {"kind": kind}
    Environment.objects.filter(id=row.id).update(cloud=row.cloud)
    _log.warning("environment %s was only written down, by an earlier version: it is simulated", row.id)
    return True


def _writing(config: Config) -> Iterator[str]:
    """The kinds that execute nothing and were used here: they keep what they wrote down in a file of their name."""
    for kind in kinds.usable():
        if (config.path("cloud.directory") / f"{kind.name}.db").exists():
            with suppress(CloudError, ConfigError):
                if not kind.capabilities(cloud_settings.kind_settings(config, kind)).executes:
                    yield kind.name


def _knows(config: Config, kind: str, row: Environment, servers: Collection[str]) -> bool:
    """Whether all of these servers are in what was written down."""
    owner = Owner(row.project_id, row.id, "system")
    try:
        with closing(cloud_of(cloud_settings.cloud(config, {"kind": kind}), owner, sweeps=False)) as cloud:
            there = cloud.seen_servers({owner: servers})[owner] if isinstance(cloud, ListsServers) else {}
    except CloudError as error:
        _log.warning("nobody knows whether environment %s was only written down: %s", row.id, error.message)
        return False
    return set(servers) <= {id for id, server in there.items() if server.status != _UNKNOWN}
