"""`vetro db backup` and `vetro db restore`: an installation in one file, and out of it again."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from typing import Any

import click

from vetro.cli import output as out
from vetro.cli.arguments import settings_options
from vetro.cli.installation import installation
from vetro.server.config.config import Config
from vetro.server.operations.database.backup_file import KEYS, examine, opened


@click.command("backup")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--with-keys", is_flag=True, help="Also the keys: whoever has the file can then read everything in it.")
@click.option("--replace", is_flag=True, help="Replace an existing file.")
@settings_options
@out.output_option("table", "json", "yaml")
def backup(
    file: str, with_keys: bool, replace: bool, data: str | None, config: str | None, database: str | None, output: str
) -> None:
    """Save an installation into one file, while it runs: its database and its package archives.

    The file holds everything as it was at one moment, and is whole when it appears. Encrypted values stay encrypted:
    without --with-keys keep the file of keys elsewhere, or nothing can be read. FILE may be '-' for a pipe. A
    PostgreSQL is read by pg_dump, which has to be installed. Not in the file: settings, and servers of the local
    cloud. The exit status is 1 when archives that the catalog names were missing.

    \b
    Examples:
      vetro db backup /backups/vetro-$(date +%F).tar
      vetro db backup - --with-keys | gpg --encrypt --recipient ops@example.org > vetro.tar.gpg
    """
    if file == "-" and output != "table":
        raise click.UsageError("'-' writes the backup to standard output; '-o' would, too")
    if file == "-" and sys.stdout.isatty():
        raise click.UsageError("'-' writes the backup to standard output, which is a terminal: name a file, or a pipe")
    with installation(data, config, {"database.url": database}) as settings:
        from vetro.server.operations.database.backup import backup as save

        saved = save(settings, file, with_keys=with_keys, replace=replace, say=out.note)
        keys = settings.path("secrets.key_file")
    if output != "table":
        out.print_data({**asdict(saved), "seconds": round(saved.seconds, 2), "file": file}, output)
    else:
        told = (
            f"a database of {_size(saved.database_bytes)} and {out.plural(saved.blobs, 'archive')} were"
            f" saved in {saved.seconds:.1f} s: {_size(saved.size)}"
        )
        out.echo(told, err=file == "-")
        if with_keys:
            out.note("the file holds the keys: keep it where nobody else can read it")
        else:
            out.note(f"the keys are not in it: keep a copy of {keys} elsewhere")
    if saved.missing:
        out.note(f"warning: {out.plural(len(saved.missing), 'archive')} that the catalog names are not in the store;"
                 " 'vetro db check' says which")  # fmt: skip
        raise SystemExit(out.FAILED)


@click.command("restore")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--dry-run", is_flag=True, help="Only read the file and say whether it is whole.")
@settings_options
@out.output_option("table", "json", "yaml")
def restore(file: str, dry_run: bool, data: str | None, config: str | None, database: str | None, output: str) -> None:
    """Make an installation out of a backup, in an empty database.

    The database has to be of the kind that was saved: 'vetro db move' brings an installation from SQLite to PostgreSQL.
    It is filled in one transaction; if anything fails, or the command is interrupted, begin it again. A backup of an
    older version is brought up to date. Bring the file of keys along (setting secrets.key_file) unless the backup holds
    it. Tasks that were running are continued once a worker starts: see that those of the old installation do not.

    \b
    Examples:
      vetro db restore vetro.tar --dry-run
      vetro db restore vetro.tar --data /srv/vetro
      gpg --decrypt vetro.tar.gpg | vetro db restore - --database postgresql://vetro:SECRET@db/vetro
    """
    problems: list[Any] = []
    with out.explained(), opened(file) as opened_file:
        if dry_run:
            found = _examined(opened_file)
        else:
            found, problems = _restored(opened_file, data, config, database)
    if output != "table":
        shown = {**found, "seconds": round(found["seconds"], 2), "file": file, "dry_run": dry_run}
        out.print_data({**shown, "findings": [plain(finding) for finding in problems]}, output)
    else:
        word = "are whole" if dry_run else "were restored"
        out.echo(f"a database of {_size(found['database_bytes'])} and {out.plural(found['blobs'], 'archive')}"
                 f" of {found['made']}, Vetro {found['version']}, {word}")  # fmt: skip
        for text in (*found["notes"], *(f"{finding.severity}: {finding.message}" for finding in problems)):
            out.note(text)
        if dry_run:
            out.note("the keys are in it" if found["keys"] else "the keys are not in it: bring the file of keys along")
    if any(finding.severity == "error" for finding in problems):
        raise SystemExit(out.FAILED)


def _examined(file: Any) -> dict[str, Any]:
    """What is in a backup that is whole."""
    began = time.monotonic()
    head, end = examine(file)
    return {
        "made": head.made, "version": head.version, "database_bytes": end.size, "blobs": end.blobs,
        "missing": end.missing, "keys": KEYS in end.digests, "migrations": [], "notes": [],
        "seconds": time.monotonic() - began,
    }  # fmt: skip


def _restored(file: Any, data: str | None, config: str | None, database: str | None) -> tuple[dict[str, Any], Any]:
    """What was restored, and what is wrong with the installation now."""
    fresh = not Config.load(data, config).path("secrets.key_file").exists()
    with installation(data, config, {"database.url": database}, make=True) as settings:
        from vetro.server.operations.database import restore as restoring
        from vetro.server.operations.database.check import examine

        found = restoring.restore(settings, file, fresh_keys=fresh, say=out.note)
        return asdict(found), [finding for finding in examine(settings) if finding.severity != "ok"]


def plain(found: Any) -> dict[str, str]:
    """A finding of `vetro db check` for programs."""
    return {"topic": found.code, "level": found.severity, "text": found.message, "hint": found.hint or ""}


def _size(count: int) -> str:
    return f"{count / (1 << 20):.1f} MiB" if count >= 1 << 20 else f"{count / 1024:.0f} KiB"
