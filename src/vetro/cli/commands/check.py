"""`vetro check`: every problem of packages."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import click

from vetro.cli import output as out
from vetro.cli.commands.memory import memory_option


@click.command("check")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path())
@click.option(
    "--require",
    "others",
    multiple=True,
    metavar="PATH",
    type=click.Path(),
    help="Packages that the checked ones may require. Repeatable.",
)
@click.option(
    "--media",
    "media",
    multiple=True,
    metavar="DIR",
    type=click.Path(),
    help="Folder with files that UI definitions name in widgetMedia. Repeatable.",
)
@click.option("--strict", is_flag=True, help="Warnings fail the check, too.")
@memory_option(2048)
@out.output_option("text", "table", "json", "yaml")
def command(paths: tuple[str, ...], others: tuple[str, ...], media: tuple[str, ...], strict: bool, output: str) -> None:
    """Check packages without running them: manifest, files, classes, contracts, methods, UI definitions.

    PATH is a package folder, an archive, a folder of packages, or the file of a UI definition. Packages given together
    may require each other. The exit status is 1 when there are errors, so it fits into CI; '-o table' prints one line
    a problem.

    \b
    Examples:
      vetro check ./my.app
      vetro check ./my.app --require ./libraries
      vetro check ./apps -o json
      vetro check ./my.app/UI/ui.yaml --media ./static
    """
    from vetro.cli.forms.check import findings_of  # packages and forms: vetro check --help does without

    with out.explained():
        findings = findings_of(paths, others, media)
    errors = sum(1 for _, p in findings if p.severity == "error")
    warnings = len(findings) - errors
    if output == "text":
        _print_text([p for _, p in findings])
    elif output == "table":
        rows = [(out.shown(str(p.place)), p.severity, p.code, out.shown(p.message)) for _, p in findings]
        if rows:
            out.print_table(("place", "severity", "code", "message"), rows)
    else:
        out.print_data([_plain(path, p) for path, p in findings], output)
    failed = bool(errors or (strict and warnings))
    words = f"{out.plural(errors, 'error')}, {out.plural(warnings, 'warning')}" if findings else "no problems found"
    out.note(out.style(words, fg="red" if failed else "yellow" if findings else "green"))
    if failed:
        sys.exit(out.FAILED)


def _print_text(problems: list[Any]) -> None:
    from vetro.cli.problems import render_problem, stored_text

    text_of = cache(stored_text)
    color = out.colored(sys.stdout)
    for problem in problems:
        out.echo(out.rendered(out.shown(render_problem(problem, text_of, color=color))) + "\n")


def _plain(path: str, p: Any) -> dict[str, Any]:
    return {
        "path": path,
        "file": out.shown(p.place.file),
        "line": p.place.line,
        "column": p.place.column,
        "severity": p.severity,
        "code": p.code,
        "message": out.shown(p.message),
        "hint": p.hint,
    }
