"""`vetro doctor`: what this machine offers, what is missing, and what to do about it."""

from __future__ import annotations

import sys

import click

from vetro.cli import output as out


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def command(as_json: bool) -> None:
    """Examine this machine: the sandbox of tasks, Python, the drivers of the local cloud, services.

    The layers of the sandbox are those that a task process really gets, started for this as the user you are. The
    command fails when a layer is missing: tasks run all the same, with less protection.

    \b
    Examples:
      vetro doctor
      sudo vetro doctor --json
    """
    from vetro.engine.doctor import examine, healthy

    findings = examine()
    if as_json:
        out.print_data([finding.as_json() for finding in findings], "json")
    else:
        width = max(len(finding.name) for finding in findings)
        topic = None
        for finding in findings:
            if finding.topic != topic:
                topic = finding.topic
                out.echo(click.style(topic, bold=True))
            word, color = ("active ", "green") if finding.ok else ("missing", "red" if finding.needed else "yellow")
            if finding.topic != "sandbox":
                word = "found  " if finding.ok else word
            out.echo(f"  {click.style(word, fg=color)}  {finding.name.ljust(width)}  {finding.detail}")
            if finding.advice:
                out.echo(f"  {' ' * (width + 9)}  {finding.advice}")
    if not healthy(findings):
        sys.exit(out.FAILED)
