"""`vetro form`: a form filled in at the terminal or by a script, or shown without a server."""

from __future__ import annotations

import os
from typing import Any

import click

from vetro.cli import output as out
from vetro.cli.client.connect import signed_in
from vetro.cli.client.contexts import chosen, context_option
from vetro.cli.commands.memory import memory_option
from vetro.cli.name_completion import environments
from vetro.cli.task_run import workspace_option


@click.command("form")
@click.argument("targets", nargs=-1, metavar="[PATH|CLASS]...")
@click.option("--require", "others", multiple=True, metavar="PATH", help="More packages that are needed. Repeatable.")
@click.option(
    "--form",
    "source",
    type=click.Choice(("auto", "definition", "class")),
    default="auto",
    show_default=True,
    help="The package's own form, or the one generated from the class.",
)
@click.option("--answers", metavar="FILE", type=click.Path(), help="Answers (JSON or YAML); '-': standard input.")
@click.option(
    "--set",
    "pairs",
    multiple=True,
    metavar="NAME=VALUE",
    help="One answer: PAGE.FIELD=TEXT, or PROPERTY=YAML in the form of a class. Repeatable.",
)
@click.option(
    "--ask/--no-ask", default=None, help="Ask, or take the answers as they are.  [default: ask on a terminal]"
)
@click.option("--all", "everything", is_flag=True, help="Ask for what only the full form has, too.")
@click.option("--into", "env_name", metavar="ENV", shell_complete=environments, help="Put the object into this one.")
@click.option("--edit", metavar="NAME", help="Change this application of the environment instead of adding one.")
@click.option("--start-from", metavar="BUILDER", help="Begin with what this model builder of the class makes.")
@click.option(
    "--with", "arguments", multiple=True, metavar="NAME=YAML", help="One argument of that builder. Repeatable."
)
@click.option("--preset", metavar="NAME", help="Begin with the values of this preset of the class.")
@click.option("--preview", metavar="FILE.html|-", help="Only show the form: as text, or in an HTML file.")
@workspace_option
@context_option
@memory_option(2048)
@out.output_option("json", "yaml")
def command(targets: tuple[str, ...], output: str, **options: Any) -> None:
    """Fill in a form; print the object that it makes.

    PATH is a package folder, an archive, a folder of packages, or the file of a UI definition; CLASS one of their
    classes, where there are several. Answers that are given are suggested, and without a terminal they are all there
    is. The result is an object model, for 'vetro run', or goes into an environment of this machine (--into), where
    'vetro env deploy' deploys it. When you interrupt it, the answers are written to the file of --answers, or a new
    one, to go on with. In the context of a server a package or class of its catalog is named, the form is the server's,
    with lists of its clouds, and the object goes into an environment there (--into).

    \b
    Examples:
      vetro form ./my.app
      vetro form ./apps com.example.Web --into shop
      vetro form ./my.app --answers answers.yaml --set main.port=8080 --no-ask
      vetro form --into shop --edit Web
      vetro form ./my.app --form class --start-from large --with seats=80
      vetro form ./my.app --preset large
      vetro form ./my.app --preview form.html
      vetro form ./my.app/UI/ui.yaml --preview -
    """
    if options["preview"] and (options["env_name"] and options["edit"] is None and not targets):
        raise click.UsageError("say which form: PATH or CLASS")
    if options["edit"] is not None and options["env_name"] is None:
        raise click.UsageError("--edit needs --into: which environment holds it?")
    if options["edit"] is None and not targets:
        raise click.UsageError("say which form: PATH or CLASS")
    if options["arguments"] and options["start_from"] is None:
        raise click.UsageError("--with needs --start-from: which model builder takes it?")
    from vetro.cli.forms import on_server, run

    context = chosen(options["workspace"])
    if context is None or options["preview"] is not None or options["others"] or any(map(os.path.exists, targets)):
        run.run(targets, output=output, **options)
        return
    given = {name: value for name, value in options.items() if name not in ("others", "preview", "workspace")}
    with out.explained(), signed_in(context) as client:
        on_server.run(client, targets, output=output, **given)
