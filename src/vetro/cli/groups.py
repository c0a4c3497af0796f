"""Commands with sub-commands. Those in other modules are loaded when they are called: `--help` stays quick."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

#: Command -> (``module:attribute`` of the click command in `vetro.cli.commands`, what it does in one sentence).
Table = Mapping[str, tuple[str, str]]
#: Tables by the title under which `--help` lists them.
Sections = Mapping[str, Table]


class Commands(click.Group):
    """A click group; in `--help` the first sentence of each sub-command is wrapped instead of cut off.

    ``sections`` name sub-commands of other modules. They are listed and completed without importing them.
    ``short`` names those which `vetro` itself has, too: they work and are completed, and are listed there only.
    """

    group_class = type  # groups below a group are the same

    def __init__(
        self,
        *args: Any,
        table: Table | None = None,
        sections: Sections | None = None,
        short: Table | None = None,
        **more: Any,
    ) -> None:
        super().__init__(*args, **more)
        self.sections: Sections = sections or {"Commands": table or {}}
        self.short: Table = short or {}
        listed = {name: one for section in self.sections.values() for name, one in section.items()}
        self.table: Table = {**listed, **self.short}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names: in the order of the sections, or sorted where there are none."""
        names = [*self.table, *(name for name in self.commands if name not in self.table)]
        return names if len(self.sections) > 1 else sorted(names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, or None."""
        if cmd_name not in self.table:
            return super().get_command(ctx, cmd_name)
        module, _, name = self.table[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(f"vetro.cli.commands.{module}"), name)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Completions of a command's name, or of options."""
        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        return [CompletionItem(name, help=text) for name, text in self._told(ctx) if name.startswith(incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The sub-commands, section by section."""
        told = dict(self._told(ctx))
        for title, section in self.sections.items():
            names = [*section] if len(self.sections) > 1 else [name for name in told if name not in self.short]
            with formatter.section(title):
                formatter.write_dl([(name, told[name]) for name in names])
        if self.short:
            *first, last = [f"'vetro {name}'" for name in self.short]
            formatter.write_paragraph()
            formatter.write_text(f"{', '.join(first)} and {last} work here, too.")

    def _told(self, ctx: click.Context) -> list[tuple[str, str]]:
        """Name and sentence of each sub-command."""
        told = []
        for name in self.list_commands(ctx):
            if name in self.table:
                told.append((name, self.table[name][1]))
            else:
                one = self.commands[name]
                told.append((name, one.get_short_help_str(limit=1000)))
        return told
