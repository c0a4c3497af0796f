"""`Commands`: a command with sub-commands, whose list says of each what it does in a whole sentence."""

from __future__ import annotations

import click


class Commands(click.Group):
    """A click group; in `--help` the first sentence of each sub-command is wrapped instead of cut off."""

    group_class = type  # groups below a group are the same

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of sub-commands."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        shown = [(name, one.get_short_help_str(limit=1000)) for name, one in found if one is not None]
        with formatter.section("Commands"):
            formatter.write_dl(shown)
