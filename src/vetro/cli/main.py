"""`vetro`: the command line. Sub-commands live in their own modules and are loaded when they are called."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from vetro import __version__

#: Command -> (module, one-line help). Modules offer the click command as `command`.
COMMANDS: dict[str, tuple[str, str]] = {
    "deploy": ("vetro.cli.commands.deploy", "Deploy an application, on this machine or on a server."),
    "env": ("vetro.cli.commands.env", "Look at environments, change and destroy them."),
    "plan": ("vetro.cli.commands.plan", "Show what deploying an environment would do."),
    "log": ("vetro.cli.commands.log", "Print what an environment reported."),
    "history": ("vetro.cli.commands.history", "List the states of an environment, compare two of them."),
    "action": ("vetro.cli.commands.action", "Run an action of an application."),
    "package": ("vetro.cli.commands.package", "Create, build and publish packages."),
    "check": ("vetro.cli.commands.check", "Find every problem of packages, with file, line and fix."),
    "form": ("vetro.cli.commands.form", "Fill in the form of a package or class, or look at it."),
    "test": ("vetro.cli.commands.test", "Run the MuranoPL tests of packages, with coverage if wanted."),
    "run": ("vetro.cli.commands.run", "Load packages and a model, call a method, print the result."),
    "schema": ("vetro.cli.commands.schema", "Print the JSON Schema of a class or of its methods."),
    "eval": ("vetro.cli.commands.eval", "Evaluate one YAQL expression over a data file."),
    "repl": ("vetro.cli.commands.repl", "Try out expressions interactively."),
    "login": ("vetro.cli.commands.login", "Sign in at a server and use it from now on."),
    "context": ("vetro.cli.commands.context", "Choose the server that commands talk to."),
    "token": ("vetro.cli.commands.token", "Make and revoke your tokens at a server."),
    "category": ("vetro.cli.commands.category", "Look at the categories of a catalog, and change them."),
    "quota": ("vetro.cli.commands.quota", "Look at the quotas of projects, and set them."),
    "session": ("vetro.cli.commands.session", "Look at drafts: changes that are not deployed yet."),
    "serve": ("vetro.cli.commands.serve", "Start the service: API, pages and workers."),
    "worker": ("vetro.cli.commands.worker", "Run tasks of a service."),
    "admin": ("vetro.cli.commands.admin", "Manage users, projects, roles and tokens of a service."),
    "db": ("vetro.cli.commands.db", "Care for a service's database: update, check, save, move it."),
    "config": ("vetro.cli.commands.config", "Show the settings and rules of a service."),
    "image": ("vetro.cli.commands.image", "Make and keep the images of local servers."),
    "cloud": ("vetro.cli.commands.cloud", "List kinds of clouds; look at the cloud of a workspace, and clean it up."),
    "doctor": ("vetro.cli.commands.doctor", "Say what is wrong with machine, installation or server."),
    "completion": ("vetro.cli.commands.completion", "Print a script that makes your shell complete vetro."),
}

EXAMPLES = """
\b
Examples:
  vetro package new com.example.Web         make a package
  vetro check com.example.Web               find every problem in it
  vetro test com.example.Web --coverage     run its tests
  vetro run com.example.Web -m model.yaml   deploy a model with it
  vetro eval '$.where($ > 2)' -d data.json  evaluate an expression

\b
Exit status: 0 all is well, 1 a package, model, expression or server is at fault,
2 the command line is wrong, 3 a defect in Vetro, 130 interrupted.
"""


class LazyGroup(click.Group):
    """Imports a sub-command only when it is asked for: `vetro --help` stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Commands in the order of the table, which is the order of a first day with Vetro."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, or None (`resolve_command` then suggests a similar name)."""
        known = COMMANDS.get(cmd_name)
        if known is None:
            return None
        command: click.Command = import_module(known[0]).command
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Completions of a command's name, without importing the commands."""
        from click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        return [CompletionItem(name, help=text) for name, (_, text) in COMMANDS.items() if name.startswith(incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Adds a suggestion to the error for an unknown command."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            from vetro.yaql.didyoumean import suggest

            close = suggest(name, COMMANDS)
            hint = f" Did you mean '{close}'?" if close else " 'vetro --help' lists the commands."
            raise click.UsageError(f"There is no command '{name}'.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; whatever escapes it ends in one line (`output.guarded`)."""
        from vetro.cli.output import guarded

        with guarded():
            return super().invoke(ctx)


@click.group(cls=LazyGroup, epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="vetro %(version)s")
def main() -> None:
    """Vetro, a self-service application catalog: write, check, test and run application packages in MuranoPL."""


if __name__ == "__main__":
    main(prog_name="vetro")
