"""`vetro env metrics`: what the servers of an environment used in the last hour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from vetro.cli import output as out
from vetro.cli.client.connect import need_server
from vetro.cli.client.contexts import context_option
from vetro.cli.client.find import environment
from vetro.cli.watch import watch_option

_WHAT = "servers are measured by the worker of a server"
_HEAD = ("server", "processors", "most", "memory", "of", "disk", "samples")


@click.command("metrics")
@click.argument("name")
@context_option
@out.output_option("table", "json", "yaml")
@watch_option
def metrics_command(name: str, output: str) -> None:
    """Show what the servers of an environment on a server used in the last hour.

    Processors, memory and disk of each server of NAME, measured once a minute; '-o json' has all samples.
    """
    with out.explained(), need_server(_WHAT) as client:
        found = client.get(f"/environments/{environment(client, name)['id']}/metrics")
    if output != "table":
        out.print_data(found, output)
    elif found["reason"]:
        out.note(found["reason"])
    else:
        out.print_table(_HEAD, [_row(server) for server in found["servers"]])


def _row(server: Mapping[str, Any]) -> list[str]:
    samples = server["samples"]
    if not samples:
        return [server["name"], "not told", "", "", "", "", "0"]
    newest = samples[-1]
    busy = [one["processors"] for one in samples if one["processors"] is not None]
    return [
        server["name"],
        _number(newest["processors"]),
        _number(max(busy, default=None)),
        _size(newest["memory"]),
        _size(newest["memory_limit"]),
        _size(newest["disk"]),
        str(len(samples)),
    ]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _size(value: int | None) -> str:
    return "" if value is None else f"{value / (1 << 20):,.1f} MiB"
