"""`vetro logs`: what the servers of an environment say, once or as it comes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from vetro.cli import output as out
from vetro.cli.client import find
from vetro.cli.client.requests import Client

#: Seconds between two looks.
_PAUSE = 1.0


def show(client: Client, name: str, server: str, source: str, lines: int, follow: bool, output: str) -> None:
    """`vetro logs`."""
    environment = find.environment(client, name)
    path = f"/environments/{environment['id']}/servers"
    there = [server] if server else [row["id"] for row in client.get(path)["items"]]
    if not there:
        out.note(f"environment '{environment['name']}' has no servers")
        return
    # A server that comes later is not followed: who wants that follows the deployment.
    logs = [client.get(f"{path}/{quote(one, safe='')}/log", source=source, lines=lines) for one in there]
    if output != "text":
        out.print_data([{key: log[key] for key in ("server", "source", "lines")} for log in logs], output)
        return
    width = max(len(log["server"]["name"]) for log in logs) if len(logs) > 1 else 0
    for log in logs:
        _print(log, width)
    while follow:
        time.sleep(_PAUSE)
        logs = [_more(client, path, log) for log in logs]
        for log in logs:
            _print(log, width)


def _more(client: Client, path: str, log: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = client.get(
        f"{path}/{quote(log['server']['id'])}/log", source=log["source"], lines=2000, after=log["next"]
    )
    return found


def _print(log: Mapping[str, Any], width: int) -> None:
    name = log["server"]["name"]
    if log["missed"]:
        out.note(f"lines of {name} are left out: there were too many")
    lines: Sequence[str] = log["lines"]
    for line in lines:
        out.echo(f"{name:{width}} | {line}" if width else line, raw=True)
