"""`vetro check`: every problem of packages."""

from __future__ import annotations

import sys
from typing import Any

import click

from vetro.cli import output as out


@click.command("check")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--require", "others", multiple=True, metavar="PATH", help="Packages that the checked ones may require. Repeatable.")
@click.option("--strict", is_flag=True, help="Warnings fail the check, too.")
@out.output_option("table", "json", "yaml")
def command(paths: tuple[str, ...], others: tuple[str, ...], strict: bool, output: str) -> None:
    """Check packages without running them: manifest, files, classes, contracts, methods.

    Packages given together may require each other. The exit status is 1 when there are errors, so it fits into CI.

    \b
    Examples:
      vetro check ./my.app
      vetro check ./apps/* -o json
    """
    from vetro.packages.check_all import check_paths

    findings = check_paths(paths, others)
    errors = sum(1 for _, p in findings if p.severity == "error")
    warnings = len(findings) - errors
    if output != "table":
        out.print_data([_plain(path, p) for path, p in findings], output)
    else:
        console = out.stdout()
        for _, p in findings:
            style = "red" if p.severity == "error" else "yellow"
            console.print(f"[bold]{_escape(str(p.position))}[/]: [{style}]{p.severity}[/] {p.code}: ", end="")
            console.print(p.message, markup=False)
            if p.hint:
                console.print(f"    hint: {p.hint}", markup=False)
        count = len(paths)
        words = f"{count} path{'s' if count != 1 else ''} checked: {errors} errors, {warnings} warnings"
        out.stderr().print(words, style="green" if not errors else "red")
    if errors or (strict and warnings):
        sys.exit(out.FAILED)


def _escape(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def _plain(path: str, p: Any) -> dict[str, Any]:
    return {
        "path": path,
        "file": p.position.file,
        "line": p.position.line,
        "column": p.position.column,
        "severity": p.severity,
        "code": p.code,
        "message": p.message,
        "hint": p.hint,
    }
