"""`vetro package diff`: what a new version of a package breaks, and the number that it needs."""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any

import click

from vetro.cli import output as out
from vetro.cli.client import find
from vetro.cli.client.connect import need_server
from vetro.cli.client.contexts import context_option
from vetro.cli.commands.memory import memory_option
from vetro.cli.package_transfer import fetch
from vetro.packages.compat.comparison import compare_paths
from vetro.packages.compat.findings import Comparison, Finding, Level

_COLORS = {Level.MAJOR: "red", Level.UNKNOWN: "yellow", Level.MINOR: "cyan", Level.PATCH: None}
_WORDS = {Level.MAJOR: "breaking", Level.UNKNOWN: "unknown", Level.MINOR: "compatible", Level.PATCH: "internal"}


@click.command("diff")
@click.argument("old")
@click.argument("new", metavar="NEW", type=click.Path(exists=True))
@click.option(
    "--require",
    "others",
    multiple=True,
    metavar="PATH",
    type=click.Path(),
    help="Packages that both versions may require. Repeatable.",
)
@memory_option(2048)
@context_option
@out.output_option("text", "table", "json", "yaml")
def command(old: str, new: str, others: tuple[str, ...], output: str) -> None:
    """Say what a new version of a package breaks, with a value for each break, and which number it needs.

    NEW is a package folder or an archive; OLD is one, too, or NAME[/VERSION] of the server that you use. Contracts are
    compared by proof where that can be done, else by running both on values. Only the interface is compared: nobody
    looks at what methods do. The exit status is 1 when the number of NEW promises more than it keeps, so it fits
    into CI.

    \b
    Examples:
      vetro package diff dist/com.example.Web-1.2.0.zip ./com.example.Web
      vetro package diff com.example.Web ./com.example.Web
      vetro package diff ./old ./new --require ./libraries -o json
    """
    with out.explained(), tempfile.TemporaryDirectory() as folder:
        done = compare_paths(old if os.path.exists(old) else _fetched(old, folder), new, others)
    if output == "text":
        for finding in done.findings:
            _print(finding)
    elif output == "table":
        rows = [
            (_WORDS[f.level], f.code, f.element, out.shown(f.message), out.shown(f.witness or ""))
            for f in done.findings
        ]
        if rows:
            out.print_table(("level", "code", "element", "what", "example"), rows)
    else:
        out.print_data(_plain(done), output)
    _conclude(done)


def _fetched(name: str, folder: str) -> str:
    """The archive of a package of the server, in ``folder``."""
    with need_server(f"'{name}' is neither a folder nor an archive here, and catalogs are those of servers") as client:
        row = find.package(client, name)
        path = os.path.join(folder, "old.zip")
        with open(path, "wb") as file:
            file.write(fetch(client, row))
    return path


def _print(finding: Finding) -> None:
    label = out.style(_WORDS[finding.level], fg=_COLORS[finding.level])
    out.echo(f"{label}: {out.shown(finding.element)} {out.shown(finding.message)} ({finding.code})")
    if finding.witness is not None:
        how = "" if finding.declared else " (no value that the contract names, but it was taken)"
        out.echo(f"    for example: {out.shown(finding.witness)}{how}")
    for word, place in (("old", finding.old), ("new", finding.new)):
        if place is not None:
            out.echo(f"    {word}: {out.shown(str(place))}")


def _conclude(done: Comparison) -> None:
    count = sum(1 for finding in done.findings if finding.level is Level.MAJOR)
    unknown = sum(1 for finding in done.findings if finding.level is Level.UNKNOWN)
    text = f"{done.name} {done.old} → {done.new}: {out.plural(count, 'break')}"
    if unknown:
        text += f", {unknown} unknown"
    if done.sufficient:
        out.note(out.style(f"{text}; the number is right", fg="green"))
        return
    out.note(out.style(f"{text}; it needs version {done.required} or a later one", fg="red"))
    sys.exit(out.FAILED)


def _plain(done: Comparison) -> dict[str, Any]:
    return {
        "name": done.name,
        "old": str(done.old),
        "new": str(done.new),
        "level": done.level.name.lower(),
        "required": str(done.required),
        "sufficient": done.sufficient,
        "findings": [
            {
                "level": finding.level.name.lower(),
                "code": finding.code,
                "element": finding.element,
                "message": str(finding.message),
                "old": None if finding.old is None else out.shown(str(finding.old)),
                "new": None if finding.new is None else out.shown(str(finding.new)),
                "witness": finding.witness,
                "declared": finding.declared,
            }
            for finding in done.findings
        ],
    }
