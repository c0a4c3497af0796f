"""The workers: whether there are any, where they are, whether the database has room for their connections.

Tasks that are stuck are among the findings of `vetro.server.operations.database.check`.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.db import connection

from vetro.diagnostics import ERROR, OK, WARNING, Diagnostic, Text
from vetro.server.config import cloud_settings
from vetro.server.config.config import Config, http_processes
from vetro.server.database import SERVER
from vetro.server.tasks import clock
from vetro.server.tasks.backends import backend
from vetro.server.tasks.claim import LEASES
from vetro.server.tasks.models import WorkerProcess


def examine(config: Config) -> Iterator[Diagnostic]:
    """All of it."""
    heard = clock.after(-LEASES * float(config["worker.lease_seconds"]))
    living = list(WorkerProcess.objects.filter(seen__gte=heard).order_by("started"))
    ready = [worker for worker in living if not worker.draining]
    if not living:
        hint = Text("start 'vetro serve' with 'worker.embedded' above 0, or 'vetro worker'")
        yield Diagnostic("work", WARNING, Text("no worker lives: nothing is deployed"), hint)
    elif not ready:
        text = Text("all {count} workers drain: nothing is begun", count=len(living))
        yield Diagnostic("work", WARNING, text, Text("start another worker, or restart these"), cure="workers")
    machines = {worker.host.partition("/")[0] for worker in living}
    if len(machines) > 1 and _bound(config):
        places = ", ".join(sorted(machines))
        text = Text("the cloud makes servers on the machine of the worker, and workers are on {places}", places=places)
        yield Diagnostic("work", ERROR, text, Text("run workers on one machine, or use another cloud"))
    if connection.vendor == "postgresql":
        yield from _connections(config, len(living))
    elif len(machines) > 1:
        hint = Text("use PostgreSQL for workers on several machines: docs/database.md")
        yield Diagnostic(
            "work", ERROR, Text("workers on {count} machines share a file of SQLite", count=len(machines)), hint
        )


def _bound(config: Config) -> bool:
    """Whether servers of the cloud belong to the machine of a worker."""
    kind = cloud_settings.kind(config)
    return kind is not None and kind.bound


def _connections(config: Config, workers: int) -> Iterator[Diagnostic]:
    """Those of the servers that run, as if all had this configuration, and of all workers, when all are busy.

    See docs/database.md. Where a pooler keeps the names of sessions, one server is counted.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,"
            " current_setting('server_version_num')::int,"
            " (SELECT count(DISTINCT application_name) FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name LIKE %s)",
            [f"{SERVER}%"],
        )
        most, version, servers = cursor.fetchone()
    servers = max(servers, 1)
    if version < 140000:
        text = Text("PostgreSQL {version} is too old", version=version // 10000)
        yield Diagnostic("connection", ERROR, text, Text("Vetro needs 14 or newer: upgrade it, or move to another one"))
    tasks = int(config["worker.tasks"])
    pool = int(config["database.pool"]) or int(config["server.threads"]) + int(config["server.streams"])
    plugin = backend(config)
    more = 0 if plugin is None else plugin.connections
    wanted = servers * http_processes(config) * (pool + 1) + max(workers, 1) * (tasks * 3 // 2 + 3 + more)
    if wanted > most:
        text = Text(
            "servers ({servers}) and workers ({workers}) may want {wanted} connections; the database grants {most}",
            servers=servers, workers=max(workers, 1), wanted=wanted, most=most,
        )  # fmt: skip
        yield Diagnostic(
            "connection", WARNING, text, Text("raise max_connections, or lower database.pool and worker.tasks")
        )
    else:
        yield Diagnostic(
            "connection",
            OK,
            Text(
                "at most {wanted} of {most} connections for servers ({servers}) and workers ({workers})",
                wanted=wanted,
                most=most,
                servers=servers,
                workers=workers,
            ),
        )
