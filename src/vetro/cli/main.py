"""`vetro`: the command line. Sub-commands live in their own modules and are loaded when they are called."""

from __future__ import annotations

from typing import Any

import click

from vetro import __version__
from vetro.cli.groups import Commands, Sections, Table

#: Commands by what somebody is about to do, in the order of a first day with Vetro.
SECTIONS: Sections = {
    "Applications": {
        "deploy": ("deploy:command", "Deploy an application, on this machine or on a server."),
        "env": ("env:command", "Look at environments, change and destroy them."),
        "plan": ("env_history:plan_command", "Show what deploying an environment would do."),
        "upgrade": ("upgrade:command", "Move what runs to newer versions of its packages."),
        "action": ("env_lifecycle:action_command", "Run an action of an application."),
        "log": ("env_tasks:log_command", "Print what an environment reported."),
        "history": ("env_history:history_command", "List the states of an environment, compare two of them."),
        "session": ("session:command", "Look at drafts: changes that are not deployed yet."),
    },
    "Servers of an environment": {
        "logs": ("logs:command", "Print what the servers of an environment say: console, journal."),
        "exec": ("exec:exec_command", "Run a command in a server."),
        "ssh": ("exec:ssh_command", "Open a terminal in a server."),
        "cp": ("cp:command", "Copy files and folders from a server, or to it."),
        "port-forward": ("port_forward:command", "Make ports of a server ports of this machine, until Ctrl-C."),
        "start": ("env_power:start_command", "Start servers that do not run, those first that others need."),
        "stop": ("env_power:stop_command", "Stop servers, those last that others need; they keep their disks."),
        "restart": ("env_power:restart_command", "Restart servers: all are stopped before the first is started."),
    },
    "Packages": {
        "catalog": ("catalog:command", "Add the applications that come with Vetro to a server's catalog."),
        "package": ("package:command", "Create, build and publish packages."),
        "check": ("check:command", "Find every problem of packages, with file, line and fix."),
        "impact": ("impact:command", "Say what a new version of a package would change in environments."),
        "test": ("test:command", "Run the MuranoPL tests of packages, with coverage if wanted."),
        "form": ("form:command", "Fill in the form of a package or class, or look at it."),
        "run": ("run:command", "Load packages and a model, call a method, print the result."),
        "explain": ("explain:command", "Explain a class or a member of it: what it takes, defaults, who uses it."),
        "schema": ("schema:command", "Print the JSON Schema of a class or of its methods."),
        "eval": ("eval:command", "Evaluate one YAQL expression over a data file."),
        "repl": ("repl:command", "Try out expressions interactively."),
    },
    "Working with a server": {
        "login": ("login:command", "Sign in at a server and use it from now on."),
        "context": ("context:command", "Choose the server that commands talk to."),
        "token": ("token:command", "Make and revoke your tokens at a server."),
        "notice": ("notice:command", "Say who is told what happens: webhooks, chats, e-mail."),
        "category": ("category:command", "Look at the categories of a catalog, and change them."),
        "quota": ("quota:command", "Look at the quotas of projects, and set them."),
    },
    "Running a service": {
        "serve": ("serve:command", "Start the service: API, pages and workers."),
        "worker": ("worker:command", "Run tasks of a service."),
        "admin": ("admin:command", "Manage users, projects, roles and tokens of a service."),
        "db": ("db:command", "Care for a service's database: update, check, save, move it."),
        "config": ("config:command", "Show the settings and rules of a service."),
    },
    "This machine": {
        "doctor": ("doctor:command", "Say what is wrong with machine, installation or server."),
        "image": ("image:command", "Make and keep the images of local servers."),
        "cloud": ("cloud:command", "List kinds of clouds; look at the cloud of a workspace, and clean it up."),
        "completion": ("completion:command", "Print a script that makes your shell complete vetro."),
    },
}
COMMANDS: Table = {name: command for section in SECTIONS.values() for name, command in section.items()}

EXAMPLES = """
\b
Examples:
  vetro deploy ./apps --env shop            deploy an application
  vetro env show shop                       look at what became of it
  vetro package new com.example.Web         make a package
  vetro check com.example.Web               find every problem in it
  vetro test com.example.Web --coverage     run its tests
  vetro run com.example.Web -m model.yaml   deploy a model with it
  vetro eval '$.where($ > 2)' -d data.json  evaluate an expression

\b
Exit status: 0 all is well, 1 a package, model, expression or server is at fault,
2 the command line is wrong, 3 a defect in Vetro, 130 interrupted.
"""


class Program(Commands):
    """`vetro` itself."""

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
        from vetro.cli.output import guarded  # vetro --help does without

        with guarded():
            return super().invoke(ctx)


@click.group(cls=Program, sections=SECTIONS, epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="vetro %(version)s")
def main() -> None:
    """Vetro, a self-service application catalog: write, check, test and run application packages in MuranoPL."""


if __name__ == "__main__":
    main(prog_name="vetro")
