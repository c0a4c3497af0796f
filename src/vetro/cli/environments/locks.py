"""What `vetro env lock` and `vetro env why` print."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from vetro.cli import output as out
from vetro.cli.client import find
from vetro.cli.client.requests import Client

#: Characters of a digest that a table shows.
_SHOWN = 12


def show(client: Client, name: str, number: int | None, output: str) -> None:
    """`vetro env lock`."""
    environment = find.environment(client, name)
    found = client.get(f"/environments/{environment['id']}/lock", state=number)
    if output != "table":
        out.print_data(found, output)
        return
    lock = found["lock"]
    out.echo(f"lock {found['digest']} of state {found['state']}, engine {lock['engine'] or 'not known'}")
    rows = [(p["name"], p["version"], p["digest"][:_SHOWN], p["source"]) for p in lock["packages"]]
    if rows:
        out.print_table(("package", "version", "SHA-256", "source"), rows)


def why(client: Client, name: str, package: str | None, output: str) -> None:
    """`vetro env why`."""
    environment = find.environment(client, name)
    wanted, _, version = (package or "").partition("/")
    found = client.get(f"/environments/{environment['id']}/why", package=wanted, version=version)
    if output != "text":
        out.print_data(found, output)
        return
    for item in found["packages"]:
        out.echo(f"{item['name']} {item['version']}")
        for line in _reasons(item):
            out.echo(f"  {line}")
    obstacle = found["obstacle"]
    if obstacle is not None:
        place = f" ({obstacle['file']}, line {obstacle['line']})" if obstacle["line"] else ""
        out.echo(f"not {wanted} {version}: {out.shown(obstacle['text'])}{place}")


def _reasons(item: Mapping[str, Any]) -> Iterator[str]:
    if not item["reasons"]:
        yield "nothing that is deployed asks for it"
    for reason in item["reasons"]:
        first, *rest = reason["choices"]
        names = ", ".join(f"'{one['name']}'" for one in reason["objects"])
        more = reason["count"] - len(reason["objects"])
        whose = f"{names}{f' and {more} more' if more else ''}: " if names else ""
        steps = [f"{whose}class {first['name']} -> {_told(first['chosen'])}"]
        steps += [f"requires {step['name']} {step['spec']} -> {_told(step['chosen'])}" for step in rest]
        yield ", ".join(steps)


def _told(chosen: str) -> str:
    return chosen.replace("/", " ")
