"""`vetro doctor`: what is wrong with this machine, an installation or a server, and what to do about it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click

from vetro.cli import output as out
from vetro.cli.commands.serve import settings_options

#: Exit status when something does not work; 1: it works, but is not as it should be.
PROBLEM = 2
_COLORS = {"ok": "green", "note": "yellow", "warning": "yellow", "error": "red"}


@dataclass(frozen=True, slots=True)
class Line:
    """One finding. ``about``: machine, installation or server; ``level``: ok, note, warning or error."""

    about: str
    topic: str
    name: str
    level: str
    text: str
    hint: str

    def as_json(self) -> dict[str, str]:
        """Plain data."""
        return {name: getattr(self, name) for name in ("about", "topic", "name", "level", "text", "hint")}


@click.command("doctor")
@click.option("--server", "url", metavar="URL", help="Only ask this server, from here.")
@click.option("--machine", "only_machine", is_flag=True, help="Only look at this machine.")
@settings_options
@out.output_option("table", "json", "yaml")
@click.option("--json", "as_json", is_flag=True, help="The same as '-o json'.")
def command(
    url: str | None,
    only_machine: bool,
    data: str | None,
    config: str | None,
    database: str | None,
    output: str,
    as_json: bool,
) -> None:
    """Examine this machine and, where there is one, the installation of a service; say what to do.

    Of the machine: the sandbox of tasks (the layers that a task process really gets), Python, the drivers of the local
    cloud, services. Of the installation: settings, folders, keys, database, workers, archives, cloud, broker, Keystone,
    growth, backups. Run it on the machine of the service, as its user. It changes nothing.

    Exit status: 0 all is well, 1 there are warnings, 2 something does not work.

    \b
    Examples:
      vetro doctor
      sudo -u vetro vetro doctor --config /etc/vetro/vetro.toml -o json
      vetro doctor --server https://vetro.example.org
    """
    lines: list[Line] = []
    if url:
        lines += _server(url)
    else:
        lines += _machine()
        if not only_machine and _installed(data, config, database):
            from vetro.server.operations.doctor.installation import findings

            found = findings(data, config, {"database.url": database})
            lines += [Line("installation", f.topic, "", f.level, f.text, f.hint) for f in found]
    if as_json or output != "table":
        out.print_data([line.as_json() for line in lines], "json" if as_json else output)
    else:
        _print(lines)
    levels = {line.level for line in lines}
    sys.exit(PROBLEM if "error" in levels else out.FAILED if "warning" in levels else 0)


def _machine() -> list[Line]:
    """A layer of the sandbox that is missing makes tasks less safe; everything else is a choice."""
    from vetro.engine.doctor import examine

    return [
        Line(
            "machine", found.topic, found.name, "ok" if found.ok else "warning" if found.needed else "note",
            found.detail, found.advice or "",
        )
        for found in examine()
    ]  # fmt: skip


def _server(url: str) -> list[Line]:
    from vetro.server.operations.doctor.remote import ask

    return [Line("server", found.topic, "", found.level, found.text, found.hint) for found in ask(url)]


def _installed(
    data: str | None, config: str | None, database: str | None, environ: Mapping[str, str] | None = None
) -> bool:
    """Whether somebody names an installation, or there is one in the usual place."""
    environ = os.environ if environ is None else environ
    if data or config or database or any(environ.get(n) for n in ("VETRO_DATA", "VETRO_CONFIG", "VETRO_DATABASE__URL")):
        return True
    from vetro.server.config.config import default_data

    place = os.path.expanduser(default_data(environ))
    return any(os.path.exists(os.path.join(place, name)) for name in ("vetro.toml", "vetro.db"))


def _print(lines: list[Line]) -> None:
    width = max((len(line.name) for line in lines if line.about == "machine"), default=0)
    topics = max((len(line.topic) for line in lines if line.about != "machine"), default=0)
    before: Any = None
    for line in lines:
        machine = line.about == "machine"
        title = line.topic if machine else line.about
        if title != before:
            before = title
            out.echo(out.style(title, bold=True))
        words = {"warning": "missing", "note": "missing", "ok": "active" if line.topic == "sandbox" else "found"}
        word = words[line.level] if machine else line.level
        color = "red" if machine and line.level == "warning" else _COLORS[line.level]
        label = line.name.ljust(width) if machine else line.topic.ljust(topics)
        out.echo(f"  {out.style(word.ljust(7), fg=color)}  {label}  {line.text}")
        if line.hint:
            out.echo(f"  {' ' * (len(label) + 11)}{line.hint}")
