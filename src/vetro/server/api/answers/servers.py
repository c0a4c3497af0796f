"""Servers of environments, and what these say."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import IO, Any, TypeAlias

from vetro.diagnostics import Text
from vetro.server.caller import Caller
from vetro.server.environments import lookup
from vetro.server.errors import Invalid
from vetro.server.servers import commands, logs, report

#: Kind and data of each.
Events: TypeAlias = Generator[tuple[str, dict[str, Any]], None, None]


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


def run_command(
    caller: Caller,
    environment_id: str,
    server: str,
    *,
    command: Sequence[str] = (),
    terminal: Mapping[str, int] | None = None,
    input: bool = False,
    still: Callable[[], Any] | None = None,
) -> Events:
    """Starts a command (`vetro.server.servers.commands.start`); its events: kind and data, '' for nothing.

    ``still``: as for `ServerCommand.events`; without, the environment has to be there and the caller's.
    """
    started = commands.start(caller, environment_id, server, command, terminal=_size(terminal), takes_input=input)
    return _events(started, still or (lambda: lookup.environment(caller, environment_id)))


def _events(started: commands.ServerCommand, still: Callable[[], Any]) -> Events:
    for event in started.events(still):
        if event.kind in ("stdout", "stderr"):
            yield event.kind, {"data": base64.b64encode(event.data).decode("ascii")}
        elif event.kind == "begin":
            yield "begin", {"id": started.id, "server": server_json(started.server)}
        elif event.kind == "exit":
            yield "exit", {"code": event.code}
        elif event.kind == "end":
            yield "end", {"reason": event.reason}
        else:
            yield event.kind, {}


def send_input(
    caller: Caller,
    environment_id: str,
    command: str,
    *,
    data: str = "",
    end: bool = False,
    terminal: Mapping[str, int] | None = None,
) -> None:
    """Gives a command input (base64). See `vetro.server.servers.commands.send`."""
    try:
        given = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise Invalid(Text("'data' is not base64")) from None
    commands.send(caller, environment_id, command, given, end=end, size=_size(terminal))


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


def _size(terminal: Mapping[str, int] | None) -> tuple[int, int] | None:
    return None if terminal is None else (terminal["columns"], terminal["rows"])
