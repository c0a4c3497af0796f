"""`vetro package diff`: what a new version of a package breaks, and the number that it needs."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from vetro.cli import output as out
from vetro.cli.client.connect import need_server
from vetro.cli.client.contexts import context_option
from vetro.cli.commands.memory import memory_option
from vetro.forms.compatibility import compare_versions
from vetro.packages.load import load_path, open_package

_COLORS = {"major": "red", "unknown": "yellow", "minor": "cyan", "patch": None}
_WORDS = {"major": "breaking", "unknown": "unknown", "minor": "compatible", "patch": "internal"}


@click.command("diff")
@click.argument("old")
@click.argument("new")
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

    OLD and NEW are package folders or archives, or NAME[/VERSION] of the server that you use: then it compares them.
    Contracts are compared by proof where that can be done, else by running both on values. Only the interface is
    compared: nobody looks at what methods do. The exit status is 1 when the number of NEW promises more than it keeps,
    so it fits into CI.

    \b
    Examples:
      vetro package diff dist/com.example.Web-1.2.0.zip ./com.example.Web
      vetro package diff com.example.Web ./com.example.Web
      vetro package diff com.example.Web/1.0.0 com.example.Web/1.2.0
      vetro package diff ./old ./new --require ./libraries -o json
    """
    with out.explained():
        away = [name for name in (old, new) if not os.path.exists(name)]
        if away and others:
            raise click.UsageError("--require is for packages that are here; the server has what its own require")
        done = _compared_there(old, new, away) if away else _compared_here(old, new, others)
    if output == "text":
        print_findings(done["findings"])
    elif output == "table":
        rows = [
            (_WORDS[f["level"]], f["code"], f["element"], out.shown(f["message"]), out.shown(f["witness"] or ""))
            for f in done["findings"]
        ]
        if rows:
            out.print_table(("level", "code", "element", "what", "example"), rows)
    else:
        out.print_data({**done, "findings": [{**f, "message": str(f["message"])} for f in done["findings"]]}, output)
    _conclude(done)


def _compared_here(old: str, new: str, others: Sequence[str]) -> dict[str, Any]:
    mates = [package for path in others for package in load_path(path)]
    done = compare_versions(open_package(old), open_package(new), mates).as_data()
    for place in (finding[side] for finding in done["findings"] for side in ("old", "new")):
        if place is not None:
            place["file"] = out.shown(place["file"])
    return done


def _compared_there(old: str, new: str, away: Sequence[str]) -> dict[str, Any]:
    """The server compares, with what it has of the packages that they require."""
    what = f"'{away[0]}' is neither a folder nor an archive here, and catalogs are those of servers"
    with need_server(what) as client:
        named = {side: name for side, name in (("old", old), ("new", new)) if name in away}
        sent = {side: name for side, name in (("old", old), ("new", new)) if name not in away}
        if not sent:
            answer: dict[str, Any] = client.upload("/packages/compare", {}, named)
        else:
            ((side, path),) = sent.items()
            archives = {f"{side}.zip": open_package(path).blob}
            answer = client.upload("/packages/compare", archives, named, f"{side}_archive")
    return answer


def print_findings(findings: Sequence[Mapping[str, Any]]) -> None:
    """Findings of a comparison, for people."""
    for finding in findings:
        label = out.style(_WORDS[finding["level"]], fg=_COLORS[finding["level"]])
        out.echo(f"{label}: {out.shown(finding['element'])} {out.shown(finding['message'])} ({finding['code']})")
        if finding["witness"] is not None:
            how = "" if finding["declared"] else " (no value that the contract names, but it was taken)"
            out.echo(f"    for example: {out.shown(finding['witness'])}{how}")
        for side in ("old", "new"):
            place = finding[side]
            if place is not None:
                out.echo(f"    {side}: {out.shown(place['file'])}:{place['line']}:{place['column']}")


def _conclude(done: Mapping[str, Any]) -> None:
    count, unknown = (sum(f["level"] == level for f in done["findings"]) for level in ("major", "unknown"))
    text = f"{done['name']} {done['old']} → {done['new']}: {out.plural(count, 'break')}"
    if unknown:
        text += f", {unknown} unknown"
    if done["sufficient"]:
        out.note(out.style(f"{text}; the number is right", fg="green"))
        return
    out.note(out.style(f"{text}; it needs version {done['required']} or a later one", fg="red"))
    sys.exit(out.FAILED)
