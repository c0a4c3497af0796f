"""`vetro config show|policy`: settings and rules of a service, as they are and where they come from."""

from __future__ import annotations

import json
from typing import Any

import click

from vetro.cli import output as out
from vetro.cli.arguments import settings_options
from vetro.server.config import display
from vetro.server.config.config import Config, ConfigError, variable_of
from vetro.server.config.table import SETTINGS
from vetro.server.setup import setup
from vetro.yaql.didyoumean import suggest


@click.command("show")
@click.argument("names", nargs=-1)
@settings_options
@click.option("--markdown", is_flag=True, help="Print the table of docs/settings.md: names, defaults, meanings.")
@out.output_option("table", "json", "yaml")
def show(
    names: tuple[str, ...], data: str | None, config: str | None, database: str | None, markdown: bool, output: str
) -> None:
    """Show each setting with its value, where the value comes from, and what it means.

    NAMES: settings or sections; all without. Passwords are not shown.
    """
    if markdown:
        out.echo(markdown_table(), nl=False)
        return
    with out.explained():
        settings = Config.load(data, config, {"database.url": database})
        known = [value.setting.name for value in settings.values()]
        for name in names:
            if not any(name == one or one.startswith(name + ".") for one in known):
                close = suggest(name, known)
                raise ConfigError(f"there is no setting '{name}'" + (f"; did you mean '{close}'?" if close else ""))
    rows = [
        row
        for row in display.shown(settings)
        if not names or any(row["name"] == name or row["name"].startswith(name + ".") for name in names)
    ]
    if output != "table":
        out.print_data(rows, output)
        return
    columns = ("name", "value", "source", "meaning")
    out.print_table(
        columns, [[_cell(row[column]) if column == "value" else row[column] for column in columns] for row in rows]
    )


@click.command("policy")
@settings_options
@out.output_option("table", "json", "yaml")
def policy(data: str | None, config: str | None, database: str | None, output: str) -> None:
    """Show the rules in force: name, expression, where it comes from, what it is about."""
    with out.explained():
        setup(Config.load(data, config, {"database.url": database}))
        from vetro.server.accounts.policy import describe

        columns = ("rule", "expression", "source", "meaning")
        rows = [dict(zip(columns, row, strict=True)) for row in describe()]
    if output != "table":
        out.print_data(rows, output)
        return
    out.print_table(columns, [[row[column] if row[column] != "" else '""' for column in columns] for row in rows])


def markdown_table() -> str:
    """The table of docs/settings.md."""
    lines = ["| setting | variable | default | meaning | Murano |", "|---|---|---|---|---|"]
    for setting in SETTINGS:
        default = f"`{_cell(setting.default)}`" if setting.default not in ("", None) else "-"
        meaning = setting.meaning.replace("|", "\\|")
        if setting.choices:
            meaning += f" ({', '.join(choice or 'empty' for choice in setting.choices)})"
        murano = f"`{setting.murano}`" if setting.murano else "-"
        lines.append(f"| `{setting.name}` | `{variable_of(setting.name)}` | {default} | {meaning} | {murano} |")
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
