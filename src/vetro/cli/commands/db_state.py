"""`vetro db migrate|check|move|reopen`: tables brought up to date, examined, and moved to another database."""

from __future__ import annotations

import click

from vetro.cli import output as out
from vetro.cli.arguments import settings_options
from vetro.cli.commands.db_backup import plain
from vetro.cli.installation import installation
from vetro.server.operations.database import schema
from vetro.server.operations.database.repair import repair


@click.command("migrate")
@settings_options
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@out.output_option("table", "json", "yaml")
def migrate(data: str | None, config: str | None, database: str | None, dry_run: bool, output: str) -> None:
    """Bring the tables up to this version of Vetro; make them in an empty database.

    'vetro serve' does the same when it starts. Several at once wait for each other. A database that a newer Vetro
    made is refused. Make a backup before.

    \b
    Examples:
      vetro db migrate --dry-run
      vetro db migrate --database postgresql://vetro:SECRET@db/vetro
    """
    with installation(data, config, {"database.url": database}, make=True):
        if dry_run:
            found = schema.state()
            schema.refuse_foreign(found)
            done = list(found.missing)
        else:
            done = schema.migrate()
    if output != "table":
        out.print_data({"migrations": done, "done": not dry_run}, output)
        return
    for name in done:
        out.echo(name)
    word = "to be done" if dry_run else "done"
    out.note(f"{out.plural(len(done), 'migration')} {word}" if done else "the tables are up to date")


@click.command("check")
@settings_options
@click.option("--all", "everything", is_flag=True, help="Read every encrypted value and archive, not a sample.")
@click.option("--repair", "mend", is_flag=True, help="First make triggers and indexes of search that are missing.")
@out.output_option("table", "json", "yaml")
def check(
    data: str | None, config: str | None, database: str | None, everything: bool, mend: bool, output: str
) -> None:
    """Examine an installation: database, tables, references, keys, package archives, tasks that are stuck.

    Changes nothing, but for --repair, which changes no data either. May run beside the service. The exit status is 1
    when something is an error.

    \b
    Examples:
      vetro db check
      vetro db check --all -o json
      vetro db check --repair
    """
    with installation(data, config, {"database.url": database}) as settings:
        from vetro.server.operations.database.check import examine

        if mend:
            for text in repair():
                out.note(f"made: {text}")
        found = examine(settings, everything=everything)
    if output == "table":
        colors = {"ok": "green", "warning": "yellow", "error": "red"}
        topics = max(len(finding.code) for finding in found)
        for finding in found:
            level = out.style(finding.severity.ljust(7), fg=colors[finding.severity])
            out.echo(f"{level}  {finding.code.ljust(topics)}  {finding.message}")
            if finding.hint:
                out.echo(f"{' ' * (topics + 11)}{finding.hint}")
    else:
        out.print_data([plain(finding) for finding in found], output)
    if any(finding.severity == "error" for finding in found):
        raise SystemExit(out.FAILED)


@click.command("move")
@click.option("--from", "source", metavar="URL", help="The database that is in use [setting database.url].")
@click.option("--to", "target", metavar="URL", required=True, help="An empty one: postgresql://… or sqlite:///PATH.")
@click.option("--dry-run", is_flag=True, help="Copy and compare, then undo it.")
@click.option(
    "--data",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Data directory [$VETRO_DATA, else ~/.local/share/vetro/server].",
)
@click.option("--config", type=click.Path(dir_okay=False), metavar="FILE", help="File of settings.")
@out.output_option("table", "json", "yaml")
def move(
    source: str | None,
    target: str,
    dry_run: bool,
    data: str | None,
    config: str | None,
    output: str,
) -> None:
    """Move an installation to another database, with everything in it.

    Stop the service and its workers before, and make a backup. All is written in one transaction; if anything fails,
    or the command is interrupted, the target is as empty as it was and the move can be begun again. Afterwards the old
    database is kept, and marked so that no service starts on it by mistake. Keys and package archives stay where they
    are.

    \b
    Examples:
      vetro db move --to postgresql://vetro:SECRET@db/vetro --dry-run
      vetro db move --to postgresql://vetro:SECRET@db/vetro
      vetro db move --from postgresql://vetro:SECRET@db/vetro --to sqlite:////srv/vetro/vetro.db
    """
    # Jobs of another dispatcher are no data, and only PostgreSQL has tables for them: the move knows of tasks only.
    with installation(data, config, {"database.url": source, "dispatch.backend": "embedded"}) as settings:
        from vetro.server.operations.database import move as moving

        moving.add_target(settings, target)
        moved = moving.move(moving.named(target), dry_run=dry_run, say=out.note)
    keys = settings.path("secrets.key_file")
    store = str(settings["storage.blobs"])
    archives = store if "://" in store else str(settings.path("storage.blobs"))
    if output != "table":
        out.print_data(
            {"tables": moved.counts, "rows": moved.rows, "seconds": round(moved.seconds, 2), "dry_run": dry_run,
             "keys": str(keys), "archives": archives},
            output,
        )  # fmt: skip
        return
    out.echo(f"{moved.rows} rows of {len(moved.counts)} tables were {'tried' if dry_run else 'moved'}"
             f" in {moved.seconds:.1f} s")  # fmt: skip
    if not dry_run:
        out.note(f"the keys stay in {keys}, the package archives in {archives}")
        out.note(f"now set 'database.url' to {moving.named(target)}, run 'vetro db migrate' and 'vetro db check',")
        out.note("and start the service")


@click.command("reopen")
@settings_options
def reopen(data: str | None, config: str | None, database: str | None) -> None:
    """Make a database that was moved away the installation again.

    What was done in the other one since then is not in here: to keep it, move from there into an empty database.
    """
    with installation(data, config, {"database.url": database}):
        moved = schema.reopen()
    out.echo(f"no longer moved to {moved}" if moved else "this database was not moved")
