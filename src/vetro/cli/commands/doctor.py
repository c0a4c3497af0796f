"""`vetro doctor`: what is wrong with this machine, an installation or a server, and what to do about it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from vetro.cli import output as out
from vetro.cli.arguments import settings_options
from vetro.diagnostics import ERROR, NOTE, OK, WARNING, Diagnostic
from vetro.server.config import cloud_settings
from vetro.server.config.config import Config, default_data
from vetro.yaql.errors import VetroError

#: Exit status when something does not work; 1: it works, but is not as it should be.
PROBLEM = 2
_COLORS = {"ok": "green", "note": "yellow", "warning": "yellow", "error": "red"}


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
    lines: list[tuple[str, Diagnostic]] = []
    if url:
        from vetro.server.operations.doctor.remote import ask

        lines += [("server", found) for found in ask(url)]
    else:
        from vetro.engine.doctor import examine

        lines += [("machine", found) for found in examine()]
        if not only_machine and _installed(data, config, database):
            from vetro.server.operations.doctor.installation import findings

            lines += [("installation", found) for found in findings(data, config, {"database.url": database})]
        if not only_machine and all(found.code != "cloud" for _, found in lines):
            lines += [("machine", found) for found in _chosen_cloud(data, config)]
    if as_json or output != "table":
        out.print_data(
            [
                {"about": about, "topic": found.code, "name": found.subject or "", "level": found.severity}
                | {"text": found.message, "hint": found.hint or ""}
                for about, found in lines
            ],
            "json" if as_json else output,
        )
    else:
        _print(lines)
    levels = {found.severity for _, found in lines}
    sys.exit(PROBLEM if ERROR in levels else out.FAILED if WARNING in levels else 0)


def _chosen_cloud(data: str | None, config: str | None) -> list[Diagnostic]:
    """Which cloud a service with these settings takes; nothing for settings that are wrong."""
    try:
        found = cloud_settings.selection(Config.load(data, config, {}))
    except VetroError:
        return []
    return [Diagnostic("cloud", OK if found.executes else NOTE, found.text, subject="chosen")]


def _installed(
    data: str | None, config: str | None, database: str | None, environ: Mapping[str, str] | None = None
) -> bool:
    """Whether somebody names an installation, or there is one in the usual place."""
    environ = os.environ if environ is None else environ
    if data or config or database or any(environ.get(n) for n in ("VETRO_DATA", "VETRO_CONFIG", "VETRO_DATABASE__URL")):
        return True
    place = os.path.expanduser(default_data(environ))
    return any(os.path.exists(os.path.join(place, name)) for name in ("vetro.toml", "vetro.db"))


def _print(lines: list[tuple[str, Diagnostic]]) -> None:
    width = max((len(found.subject or "") for about, found in lines if about == "machine"), default=0)
    topics = max((len(found.code) for about, found in lines if about != "machine"), default=0)
    before: Any = None
    for about, found in lines:
        machine = about == "machine"
        title = found.code if machine else about
        if title != before:
            before = title
            out.echo(out.style(title, bold=True))
        words = {"warning": "missing", "note": "missing", "ok": "active" if found.code == "sandbox" else "found"}
        word = found.severity if found.code == "cloud" or not machine else words[found.severity]
        color = "red" if machine and found.severity == WARNING else _COLORS[found.severity]
        label = (found.subject or "").ljust(width) if machine else found.code.ljust(topics)
        out.echo(f"  {out.style(word.ljust(7), fg=color)}  {label}  {found.message}")
        if found.hint:
            out.echo(f"  {' ' * (len(label) + 11)}{found.hint}")
    out.echo(_verdict([found.severity for _, found in lines]))


def _verdict(levels: Sequence[Any]) -> str:
    """What all of it comes to."""
    told = []
    if errors := levels.count(ERROR):
        told.append(f"{errors} of these does not work" if errors == 1 else f"{errors} of these do not work")
    if warnings := levels.count(WARNING):
        told.append(f"{warnings} warning{'s' * (warnings > 1)}: the line below says what to do")
    return "; ".join(told) or "all is well"
