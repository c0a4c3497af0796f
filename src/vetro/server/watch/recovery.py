"""Starts servers that should run and do not, once when a worker begins: after a reboot or a power cut."""

from __future__ import annotations

import logging
from collections.abc import Collection

from vetro.server.caller import SYSTEM
from vetro.server.config import cloud_settings
from vetro.server.config.config import Config
from vetro.server.environments import power
from vetro.server.environments.errors import Busy
from vetro.server.environments.models import Environment, Session
from vetro.server.errors import ServiceError
from vetro.server.quotas.errors import QuotaBusy

_log = logging.getLogger("vetro.worker")


def start(config: Config, environment_id: str, servers: Collection[str]) -> bool | None:
    """Begins a task that starts these servers (ids) in order, where they live on a machine of ours; whether it did.

    Elsewhere the cloud itself says what runs after an outage. Not what somebody stopped, nor what somebody wanted to
    delete. No methods are called: whatever they need, the servers are to run. None while something is in the way: a
    task that works on the environment, too many tasks of its project.
    """
    row = Environment.objects.filter(id=environment_id).first()
    if row is None or row.failure == Session.DELETE_FAILED:
        return False
    kind = cloud_settings.kind(config, row.cloud)
    wanted = set(servers) - power.on_purpose(row.stopped).keys()
    if kind is None or not kind.bound or not wanted or not power.able(row):
        return False
    try:
        task = power.change(SYSTEM, environment_id, "start", only=wanted, force=True)
    except (Busy, QuotaBusy):
        return None
    except ServiceError as error:
        _log.warning("servers of environment %s do not run and are not started: %s", environment_id, error.message)
        return False
    _log.warning("%d servers of environment %s do not run: task %s starts them", len(wanted), environment_id, task.id)
    return True
