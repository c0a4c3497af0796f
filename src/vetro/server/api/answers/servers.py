"""Servers of environments, and what these say."""

from __future__ import annotations

from typing import IO, Any

from vetro.server.caller import Caller
from vetro.server.servers import logs, report


def list_servers(caller: Caller, environment_id: str) -> dict[str, Any]:
    """The servers of an environment as its cloud has them, and what can be read of them."""
    return {
        "items": [server_json(server) for server in logs.servers(caller, environment_id)],
        "sources": list(logs.sources(caller, environment_id)),
    }


def read_server_log(
    caller: Caller,
    environment_id: str,
    server: str,
    *,
    source: logs.Source = "console",
    lines: int = 200,
    after: str = "",
) -> dict[str, Any]:
    """The end of what a server said. See `vetro.server.servers.logs.read`."""
    found = logs.read(caller, environment_id, server, source, most=lines, after=after)
    return {
        "server": server_json(found.server),
        "source": found.source,
        "lines": found.lines,
        "next": found.next,
        "missed": found.missed,
    }


def server_json(server: logs.Server) -> dict[str, Any]:
    """A server as clients see it."""
    id, name = server.component or (None, None)
    return {
        "id": server.id,
        "name": server.name,
        "status": server.status,
        "region": server.region or None,
        "component_id": id,
        "component": name,
    }


def report_environment(caller: Caller, environment_id: str) -> IO[bytes]:
    """What helps to find out what is wrong with an environment, as a ZIP archive without secrets."""
    return report.write(caller, environment_id)
