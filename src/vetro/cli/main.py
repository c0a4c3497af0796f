"""`vetro`: the command line. Sub-commands live in their own modules and are loaded when they are called."""

from __future__ import annotations

from importlib import import_module

import click

from vetro import __version__

#: Command -> (module, one-line help). Modules offer the click command as `command`.
COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("vetro.cli.run", "Run a model: load packages and objects, call a method, print the result."),
    "check": ("vetro.cli.check", "Check packages and list every problem with file, line and fix."),
    "schema": ("vetro.cli.schema", "Print the JSON Schema of a class or of its public methods."),
    "test": ("vetro.cli.test", "Run the MuranoPL tests of a package, with coverage if wanted."),
    "eval": ("vetro.cli.eval", "Evaluate one YAQL expression over a data file."),
    "repl": ("vetro.cli.repl", "Try out YAQL and MuranoPL expressions interactively."),
    "package": ("vetro.cli.package", "Create and build packages."),
}

EXAMPLES = """
\b
Examples:
  vetro package new com.example.Web        make a package skeleton
  vetro check com.example.Web              find every problem in it
  vetro run com.example.Web --model m.yaml deploy a model with it
  vetro eval '$.items.where($ > 2)' --data data.json
"""


class LazyGroup(click.Group):
    """Imports a sub-command only when it is asked for: `vetro --help` stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Commands in the order of the table, which is the order of a first day with Vetro."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, or None (click then suggests similar names)."""
        known = COMMANDS.get(cmd_name)
        if known is None:
            return None
        command: click.Command = import_module(known[0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Adds a suggestion to the error for an unknown command."""
        from vetro.yaql.didyoumean import suggest

        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            close = suggest(name, COMMANDS)
            hint = f" Did you mean '{close}'?" if close else " 'vetro --help' lists the commands."
            raise click.UsageError(f"There is no command '{name}'.{hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="vetro %(version)s")
def main() -> None:
    """Vetro, a self-service application catalog: write, check, test and run application packages in MuranoPL."""


if __name__ == "__main__":
    main(prog_name="vetro")
