"""`check`: an installation's database, keys and package archives, examined: what is wrong and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, connections

from vetro.diagnostics import ERROR, OK, WARNING, Diagnostic
from vetro.engine.version import engine_version
from vetro.server.catalog import blobs
from vetro.server.catalog.models import Package
from vetro.server.config.config import Config, ConfigError
from vetro.server.environments import packages
from vetro.server.operations.database import findings
from vetro.server.operations.database.snapshot import snapshot
from vetro.server.secrets.encryption import EncryptedJSON, loads
from vetro.server.secrets.key_file import KeysUnusable, read_keys
from vetro.server.tasks import clock, labels
from vetro.server.tasks.models import Task, WorkerProcess
from vetro.yaql.errors import VetroError

#: Rows of each encrypted column that are tried, the newest, unless all are asked for.
SAMPLE = 200
#: How long a task may wait, or run without a worker, before it is mentioned.
_LONG = timedelta(hours=1)


def examine(config: Config, *, everything: bool = False) -> list[Diagnostic]:
    """All findings, in the order in which they should be mended. Changes nothing.

    ``everything``: decrypts every value and reads every archive, instead of a sample and their sizes.
    """
    found = findings.connection()
    if found[0].severity == ERROR:
        return found
    found += findings.tables()
    if any(finding.code == "schema" and finding.severity == ERROR for finding in found):
        return [*found, *_keys(config)]
    with snapshot():
        for part in (_references(), _keys(config), _encrypted(everything), _archives(everything), _work(config)):
            found += part
    return found


def _references() -> Iterator[Diagnostic]:
    """Rows that refer to rows which are gone."""
    broken = 0
    connection = connections[DEFAULT_DB_ALIAS]
    quote = connection.ops.quote_name
    with connection.cursor() as cursor:
        for model in apps.get_models(include_auto_created=True):
            fields: Sequence[Any] = model._meta.local_concrete_fields
            for field in fields:
                if field.remote_field is None:
                    continue
                other = field.target_field
                own, column = quote(model._meta.db_table), quote(field.column)
                cursor.execute(
                    f"SELECT count(*) FROM {own} a LEFT JOIN {quote(other.model._meta.db_table)} b"
                    f" ON a.{column} = b.{quote(other.column)}"
                    f" WHERE a.{column} IS NOT NULL AND b.{quote(other.column)} IS NULL"
                )
                if count := cursor.fetchone()[0]:
                    broken += 1
                    text = f"{model._meta.db_table}.{field.column}: {count} rows refer to nothing"
                    yield Diagnostic("references", ERROR, text, "restore a backup; delete these rows if there is none")
    if not broken:
        yield Diagnostic("references", OK, "all references are whole")


def _keys(config: Config) -> Iterator[Diagnostic]:
    path = config.path("secrets.key_file")
    try:
        count = len(read_keys(path, make=False))
    except KeysUnusable as error:
        yield Diagnostic("keys", ERROR, error.message, error.hint)
        return
    if path.stat().st_mode & 0o077:
        yield Diagnostic("keys", WARNING, f"others may read {path}", f"chmod go= {path}")
    yield Diagnostic("keys", OK, f"{path} holds {count} key{'s' * (count != 1)}")


def _encrypted(everything: bool) -> Iterator[Diagnostic]:
    """Values that no key opens."""
    connection = connections[DEFAULT_DB_ALIAS]
    quote = connection.ops.quote_name
    tried = lost = 0
    for model in apps.get_models():
        fields: Sequence[Any] = model._meta.local_concrete_fields
        for field in fields:
            if not isinstance(field, EncryptedJSON):
                continue
            own: Any = model._meta
            names: Sequence[Any] = (own.db_table, field.column, own.pk.column)
            table, column, key = (quote(name) for name in names)
            bad, first = 0, ""
            with connection.chunked_cursor() as cursor:
                cursor.execute(
                    f"SELECT {key}, {column} FROM {table} WHERE {column} IS NOT NULL ORDER BY {key} DESC"
                    + ("" if everything else f" LIMIT {SAMPLE}")
                )
                while rows := cursor.fetchmany(SAMPLE):
                    for id, value in rows:
                        tried += 1
                        try:
                            loads(bytes(value))
                        except (VetroError, ValueError):
                            bad += 1
                            first = first or str(id)
            if bad:
                lost += bad
                text = f"{model._meta.db_table}.{field.column}: {bad} values cannot be decrypted, row {first} for one"
                yield Diagnostic("keys", ERROR, text, "add the key that they were written with to the file of keys")
    if not lost:
        yield Diagnostic("keys", OK, f"{tried} encrypted values were read{'' if everything else ' (a sample)'}")


def _archives(everything: bool) -> Iterator[Diagnostic]:
    """Blobs that rows name and the store does not have."""
    named: dict[str, str] = {}
    for fqn, version, *digests in Package.objects.values_list(
        "fqn", "version", "digest", "ui", "logo", "supplier_logo"
    ):
        named.update({digest: f"{fqn} {version}" for digest in digests if digest})
    for package in packages.archives():
        named.setdefault(package.digest, f"{package.name} {package.version}, which an environment uses")
    try:
        there = set(blobs.store().names())
    except (OSError, ConfigError) as error:
        yield Diagnostic("archives", ERROR, f"the blob store cannot be read: {error}", "see 'storage.blobs'")
        return
    missing = sorted(what for digest, what in named.items() if digest not in there)
    if missing:
        text = f"{len(missing)} of {len(named)} blobs are missing, those of {', '.join(missing[:3])}"
        hint = "is 'storage.blobs' the store of this installation? else restore it, or import the packages again"
        yield Diagnostic("archives", ERROR, text, hint)
    damaged = []
    for digest, what in named.items() if everything else ():
        if digest in there:
            try:
                blobs.get(digest)
            except VetroError:
                damaged.append(what)
    if damaged:
        text = f"{len(damaged)} blobs are damaged, those of {', '.join(damaged[:3])}"
        yield Diagnostic("archives", ERROR, text, "restore them from a backup, or import the packages again")
    if not missing and not damaged:
        yield Diagnostic("archives", OK, f"all {len(named)} blobs are there{' and whole' if everything else ''}")


def _work(config: Config) -> Iterator[Diagnostic]:
    """Workers and tasks that are stuck."""
    lease = float(config["worker.lease_seconds"])
    alive = list(WorkerProcess.objects.filter(seen__gte=clock.after(-3 * lease)).values_list("id", "version"))
    others = sorted({version for _, version in alive if version != engine_version()})
    if others:
        text = f"workers of other versions: {', '.join(others)} (this is {engine_version()})"
        yield Diagnostic("work", WARNING, text, "restart them with this version: a task goes on only where it began")
    long = clock.after(-_LONG.total_seconds())
    if count := Task.objects.filter(state=Task.RUNNING, lease_until__lt=clock.after(-3 * lease)).count():
        hint = "a worker takes them over at once" if alive else "start a worker: 'vetro worker', or 'vetro serve'"
        yield Diagnostic("work", WARNING, f"{count} tasks run without a worker", hint, cure="queue")
    if count := Task.objects.filter(state=Task.QUEUED, created__lt=long).count():
        hint = "start more workers, look at their labels" if alive else "start a worker"
        yield Diagnostic("work", WARNING, f"{count} tasks have waited for more than an hour", hint, cure="queue")
    for label in labels.unserved(config):
        text = f"tasks wait for a worker that serves '{label}', and none lives"
        yield Diagnostic("work", WARNING, text, f"start one: 'vetro worker --label {label}', or one without labels")
    if count := Task.objects.filter(state=Task.NEEDS_PERSON).count():
        text = f"{count} tasks wait for a decision, and hold up what comes after them"
        yield Diagnostic(
            "work", WARNING, text, "the pages and 'vetro env watch NAME' show what is to be decided", cure="decide"
        )
    queued = Task.objects.filter(state=Task.QUEUED).count()
    running = Task.objects.filter(state=Task.RUNNING).count()
    yield Diagnostic("work", OK, f"{len(alive)} workers, {running} tasks running, {queued} waiting")
