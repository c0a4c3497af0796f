"""`vetro notice`: who is told what happens in a project of a server, and what became of it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from vetro.cli import output as out
from vetro.cli.client.connect import need_server
from vetro.cli.client.contexts import context_option
from vetro.cli.client.find import by_name, by_prefix, environment
from vetro.cli.client.requests import Client
from vetro.cli.groups import Commands
from vetro.cli.rows import print_one, print_rows

_WHAT = "notices are sent by a server"
#: Seconds that a test is waited for, and between two looks.
_PATIENCE, _PAUSE = 30.0, 0.5
_SHOWN = ("name", "kind", "url", "to", "form", "language", "enabled", "rules", "dead", "failing", "id")


@click.group("notice", cls=Commands)
def command() -> None:
    """Say who is told what happens: by webhook, in a chat, by e-mail.

    \b
    Examples:
      vetro notice target add ops --webhook https://ops.example.com/vetro
      vetro notice rule add ops --kind deployment.failed --kind health.changed --least warning
      vetro notice test ops
      vetro notice deliveries
    """


@command.group("target", cls=Commands)
def target() -> None:
    """Where notices go."""


@target.command("add")
@click.argument("name")
@click.option("--webhook", metavar="URL", help="A program that takes signed webhooks.")
@click.option("--slack", metavar="URL", help="Incoming webhook of a room in Slack.")
@click.option("--mattermost", metavar="URL", help="Incoming webhook of a room in Mattermost.")
@click.option("--chat", metavar="URL", help="Another chat, with --template.")
@click.option(
    "--template", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File with JSON in which {{title}} and others are filled in.",
)  # fmt: skip
@click.option("--mail", metavar="ADDRESS", multiple=True, help="An address of e-mail; may be repeated.")
@click.option("--language", type=click.Choice(["en", "de"]), help="Of what people read.  [default: en]")
@context_option
@out.output_option("table", "json", "yaml", "value")
def add_command(
    name: str,
    webhook: str | None,
    slack: str | None,
    mattermost: str | None,
    chat: str | None,
    template: Path | None,
    mail: tuple[str, ...],
    language: str | None,
    output: str,
) -> None:
    """Add the target NAME. The secret of a webhook is printed now and never again; '-o value' prints nothing else."""
    ways: list[dict[str, Any]] = [
        {"kind": kind, "url": url, **({"form": form} if form else {})}
        for kind, form, url in (
            ("webhook", "", webhook), ("chat", "slack", slack), ("chat", "mattermost", mattermost),
            ("chat", "template", chat),
        )
        if url
    ]  # fmt: skip
    if mail:
        ways.append({"kind": "mail", "to": list(mail)})
    if len(ways) != 1:
        raise click.UsageError("give one of --webhook, --slack, --mattermost, --chat and --mail")
    if (template is not None) != (chat is not None):
        raise click.UsageError("--chat and --template belong together")
    body = {"name": name, **ways[0], **({"language": language} if language else {})}
    if template is not None:
        body["template"] = template.read_text(encoding="utf-8")
    with out.explained(), need_server(_WHAT) as client:
        made = client.post("/notices/targets", body)
    if output == "value":
        out.echo(str(made["secret"] or ""))
    else:
        print_one(made, output, (*_SHOWN, "secret"))


@target.command("list")
@context_option
@out.output_option("table", "json", "yaml")
def list_command(output: str) -> None:
    """List where notices go, and whether they arrive."""
    with out.explained(), need_server(_WHAT) as client:
        rows = list(client.items("/notices/targets"))
    shown = [{**row, "where": row["url"] or ", ".join(row["to"] or ())} for row in rows] if output == "table" else rows
    print_rows(
        shown,
        ("name", "kind", "where", "enabled", "rules", "dead", "failing"),
        output,
        empty="no targets",
        wide=("id",),
    )


@target.command("remove")
@click.argument("name")
@context_option
def remove_command(name: str) -> None:
    """Remove the target NAME, with its rules and deliveries."""
    with out.explained(), need_server(_WHAT) as client:
        row = _target(client, name)
        client.delete(f"/notices/targets/{row['id']}")
    out.note(f"target '{row['name']}' is removed")


@target.command("switch")
@click.argument("name")
@click.argument("state", type=click.Choice(["on", "off"]))
@context_option
def switch_command(name: str, state: str) -> None:
    """Switch the target NAME on or off; what waits for it is sent when it is on again."""
    with out.explained(), need_server(_WHAT) as client:
        row = _target(client, name)
        client.patch(f"/notices/targets/{row['id']}", {"enabled": state == "on"})
    out.note(f"target '{row['name']}' is switched {state}")


@target.command("secret")
@click.argument("name")
@click.option("--hours", type=click.IntRange(0, 168), default=24, show_default=True, help="How long both secrets sign.")
@context_option
def secret_command(name: str, hours: int) -> None:
    """Make a new secret for the webhook NAME, and print it: now and never again."""
    with out.explained(), need_server(_WHAT) as client:
        row = _target(client, name)
        made = client.post(f"/notices/targets/{row['id']}/secret", {"hours": hours})
    out.echo(str(made["secret"]))


@command.command("test")
@click.argument("name")
@context_option
@out.output_option("table", "json", "yaml")
def test_command(name: str, output: str) -> None:
    """Send a test to the target NAME and say whether it arrived."""
    with out.explained(), need_server(_WHAT) as client:
        row = _target(client, name)
        sent = client.post(f"/notices/targets/{row['id']}/test")
        until = time.monotonic() + _PATIENCE
        while sent["state"] == "waiting" and not sent["problem"] and time.monotonic() < until:
            time.sleep(_PAUSE)
            sent = client.get(f"/notices/deliveries/{sent['id']}")
    if sent["state"] != "delivered":
        out.fail(f"the test has not arrived: {sent['problem'] or 'no worker has sent it yet'}")
    if output != "table":
        out.print_data(sent, output)
    else:
        out.note(f"the test has arrived at '{row['name']}'")


@command.command("deliveries")
@click.option("--target", "name", metavar="NAME", help="Those of one target.")
@click.option(
    "--state", type=click.Choice(["waiting", "delivered", "dead", "dropped"]), multiple=True, help="May be repeated."
)
@click.option("-n", "most", type=click.IntRange(1, 1000), default=50, show_default=True, help="How many.")
@context_option
@out.output_option("table", "json", "yaml")
def deliveries_command(name: str | None, state: tuple[str, ...], most: int, output: str) -> None:
    """List what was sent in the last 30 days, the newest first, and what became of it."""
    with out.explained(), need_server(_WHAT) as client:
        id = _target(client, name)["id"] if name is not None else None
        rows = list(client.items("/notices/deliveries", most=most, target=id, state=list(state) or None))
    print_rows(rows, ("created", "target", "title", "state", "attempts", "problem"), output, empty="nothing was sent")


@command.group("rule", cls=Commands)
def rule() -> None:
    """What targets are told."""


@rule.command("add")
@click.argument("target_name", metavar="TARGET")
@click.option("--environment", "-e", "environment_name", metavar="NAME", help="One environment.  [default: all]")
@click.option("--kind", "kinds", multiple=True, help="Like deployment.failed; may be repeated.  [default: all]")
@click.option(
    "--least", type=click.Choice(["info", "warning", "error"]), default="info", show_default=True,
    help="At least how bad it has to be.",
)  # fmt: skip
@context_option
@out.output_option("table", "json", "yaml")
def rule_add_command(
    target_name: str, environment_name: str | None, kinds: tuple[str, ...], least: str, output: str
) -> None:
    """Have TARGET told what happens from now on."""
    with out.explained(), need_server(_WHAT) as client:
        body: dict[str, Any] = {"target_id": _target(client, target_name)["id"], "kinds": list(kinds), "least": least}
        if environment_name is not None:
            body["environment_id"] = environment(client, environment_name)["id"]
        made = client.post("/notices/rules", body)
    print_one(made, output, ("id", "target", "environment", "kinds", "least"))


@rule.command("list")
@context_option
@out.output_option("table", "json", "yaml")
def rule_list_command(output: str) -> None:
    """List the rules of the project."""
    with out.explained(), need_server(_WHAT) as client:
        rows = list(client.items("/notices/rules"))
    print_rows(rows, ("id", "target", "environment", "kinds", "least"), output, empty="no rules")


@rule.command("remove")
@click.argument("id")
@context_option
def rule_remove_command(id: str) -> None:
    """Remove a rule by its id, or the first letters of it."""
    with out.explained(), need_server(_WHAT) as client:
        row = by_prefix(list(client.items("/notices/rules")), id, "rule")
        client.delete(f"/notices/rules/{row['id']}")
    out.note("the rule is removed")


def _target(client: Client, name: str) -> dict[str, Any]:
    return by_name(list(client.items("/notices/targets")), name, "target")
