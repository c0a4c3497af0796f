"""How large the installation is, how fast it grows, and whether what is old is dropped (settings ``retention.*``)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.db import connection

from vetro.diagnostics import OK, WARNING, Diagnostic, Text
from vetro.server.config.config import Config
from vetro.server.tasks.models import JournalTask, Report, Task

#: Days over which growth is counted, and for which there should be room.
_WEEK, _MONTHS = 7, 60
#: Bytes of a write-ahead log that somebody must be holding back.
_LOG = 1 << 30
#: Bytes below which growth is not projected.
_SMALL = 50 << 20


def examine(config: Config) -> Iterator[Diagnostic]:
    """All of it."""
    now = datetime.now(UTC)
    size = database_size()
    week = now - timedelta(days=_WEEK)
    reports = Report.objects.count()
    lately = Report.objects.filter(created__gte=week).count()
    tasks = Task.objects.filter(created__gte=week).count()
    daily = size * lately / reports / _WEEK if reports else 0.0
    yield Diagnostic(
        "growth",
        OK,
        Text(
            "the database has {size}; {tasks} tasks and {lately} reports in the last {days} days",
            size=_shown(size),
            tasks=tasks,
            lately=lately,
            days=_WEEK,
        ),
    )
    old = now - timedelta(days=int(config["retention.journal_days"]) + 2)
    kept = JournalTask.objects.filter(task__state__in=Task.FINAL, task__finished__lt=old).count()
    if kept:
        text = Text("{kept} journals are older than retention.journal_days", kept=kept)
        yield Diagnostic(
            "growth", WARNING, text, Text("workers drop them: see whether one lives, and what it logs"), cure="sweep"
        )
    if not int(config["retention.states"]):
        text = Text("all states of environments are kept for ever (retention.states = 0)")
        yield Diagnostic("growth", WARNING, text, Text("set a number, unless that is what you want"))
    if connection.vendor == "sqlite":
        yield from _disk(Path(str(connection.settings_dict["NAME"])), size, daily)


def _disk(path: Path, size: int, daily: float) -> Iterator[Diagnostic]:
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size > _LOG:
        text = Text("the write-ahead log has {size}", size=_shown(log.stat().st_size))
        hint = Text("a program holds a transaction open, or the service was killed often: restart it")
        yield Diagnostic("growth", WARNING, text, hint)
    if not path.exists():
        return
    disk = os.statvfs(path.parent)
    free = disk.f_bavail * disk.f_frsize
    if size > _SMALL and daily * _MONTHS > free:
        text = Text(
            "it grows by about {daily} a day; the disk is full in about {days} days",
            daily=_shown(daily),
            days=f"{free / daily:.0f}",
        )
        yield Diagnostic("growth", WARNING, text, Text("make room, lower retention.*, or move to PostgreSQL elsewhere"))


def database_size() -> int:
    """Bytes of the database, as it counts itself."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_database_size(current_database())")
            found: Any = cursor.fetchone()[0]
            return int(found)
    with connection.cursor() as cursor:
        cursor.execute("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")
        return int(cursor.fetchone()[0])


def _shown(size: float) -> str:
    return f"{size / (1 << 30):.1f} GiB" if size >= 1 << 30 else f"{size / (1 << 20):.1f} MiB"
