"""`check`: an installation's database, keys and package archives, examined: what is wrong and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, connections

from vetro.diagnostics import ERROR, OK, WARNING, Diagnostic, Text
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
                    text = Text(
                        "{db_table}.{column}: {count} rows refer to nothing",
                        db_table=model._meta.db_table,
                        column=field.column,
                        count=count,
                    )
                    yield Diagnostic(
                        "references", ERROR, text, Text("restore a backup; delete these rows if there is none")
                    )
    if not broken:
        yield Diagnostic("references", OK, Text("all references are whole"))


def _keys(config: Config) -> Iterator[Diagnostic]:
    path = config.path("secrets.key_file")
    try:
        count = len(read_keys(path, make=False))
    except KeysUnusable as error:
        yield Diagnostic("keys", ERROR, error.message, error.hint)
        return
    if path.stat().st_mode & 0o077:
        yield Diagnostic(
            "keys", WARNING, Text("others may read {path}", path=path), Text("chmod go= {path}", path=path)
        )
    yield Diagnostic("keys", OK, Text("keys in {path}: {count}", path=path, count=count))


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
                text = Text(
                    "{db_table}.{column}: {bad} values cannot be decrypted, row {first} for one",
                    db_table=model._meta.db_table,
                    column=field.column,
                    bad=bad,
                    first=first,
                )
                yield Diagnostic(
                    "keys", ERROR, text, Text("add the key that they were written with to the file of keys")
                )
    if not lost:
        text = Text("{tried} encrypted values were read", tried=tried)
        yield Diagnostic(
            "keys", OK, text if everything else Text("{tried} encrypted values were read (a sample)", tried=tried)
        )


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
        yield Diagnostic(
            "archives", ERROR, Text("the blob store cannot be read: {error}", error=error), Text("see 'storage.blobs'")
        )
        return
    missing = sorted(what for digest, what in named.items() if digest not in there)
    if missing:
        text = Text(
            "{count} of {all} blobs are missing, those of {missing}",
            count=len(missing),
            all=len(named),
            missing=", ".join(missing[:3]),
        )
        hint = Text("is 'storage.blobs' the store of this installation? else restore it, or import the packages again")
        yield Diagnostic("archives", ERROR, text, hint)
    damaged = []
    for digest, what in named.items() if everything else ():
        if digest in there:
            try:
                blobs.get(digest)
            except VetroError:
                damaged.append(what)
    if damaged:
        text = Text("{count} blobs are damaged, those of {damaged}", count=len(damaged), damaged=", ".join(damaged[:3]))
        yield Diagnostic("archives", ERROR, text, Text("restore them from a backup, or import the packages again"))
    if not missing and not damaged:
        text = Text("all {count} blobs are there", count=len(named))
        whole = Text("all {count} blobs are there and whole", count=len(named))
        yield Diagnostic("archives", OK, whole if everything else text)


def _work(config: Config) -> Iterator[Diagnostic]:
    """Workers and tasks that are stuck."""
    lease = float(config["worker.lease_seconds"])
    alive = list(WorkerProcess.objects.filter(seen__gte=clock.after(-3 * lease)).values_list("id", "version"))
    others = sorted({version for _, version in alive if version != engine_version()})
    if others:
        text = Text(
            "workers of other versions: {others} (this is {own})",
            others=", ".join(others),
            own=engine_version(),
        )
        yield Diagnostic(
            "work", WARNING, text, Text("restart them with this version: a task goes on only where it began")
        )
    long = clock.after(-_LONG.total_seconds())
    if count := Task.objects.filter(state=Task.RUNNING, lease_until__lt=clock.after(-3 * lease)).count():
        hint = (
            Text("a worker takes them over at once")
            if alive
            else Text("start a worker: 'vetro worker', or 'vetro serve'")
        )
        yield Diagnostic("work", WARNING, Text("{count} tasks run without a worker", count=count), hint, cure="queue")
    if count := Task.objects.filter(state=Task.QUEUED, created__lt=long).count():
        hint = Text("start more workers, look at their labels") if alive else Text("start a worker")
        yield Diagnostic(
            "work", WARNING, Text("{count} tasks have waited for more than an hour", count=count), hint, cure="queue"
        )
    for label in labels.unserved(config):
        text = Text("tasks wait for a worker that serves '{label}', and none lives", label=label)
        yield Diagnostic(
            "work", WARNING, text, Text("start one: 'vetro worker --label {label}', or one without labels", label=label)
        )
    if count := Task.objects.filter(state=Task.NEEDS_PERSON).count():
        text = Text("{count} tasks wait for a decision, and hold up what comes after them", count=count)
        yield Diagnostic(
            "work",
            WARNING,
            text,
            Text("the pages and 'vetro env watch NAME' show what is to be decided"),
            cure="decide",
        )
    queued = Task.objects.filter(state=Task.QUEUED).count()
    running = Task.objects.filter(state=Task.RUNNING).count()
    yield Diagnostic(
        "work",
        OK,
        Text(
            "workers: {count}; tasks that run: {running}, that wait: {queued}",
            count=len(alive),
            running=running,
            queued=queued,
        ),
    )
