"""What tests of the procrastinate plug-in have the nursery do with its jobs (`tests.server.tasks.fleet`)."""

from __future__ import annotations

from typing import Any

from django.db import connection


def jobs() -> list[list[Any]]:
    """Queue and status of each."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT queue_name, status::text FROM procrastinate_jobs ORDER BY id")
        return [list(row) for row in cursor.fetchall()]


def forget_jobs() -> int:
    """Loses every job."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM procrastinate_jobs")
        return int(cursor.rowcount)


def defer_strangers(count: int) -> None:
    """Jobs of tasks that there are not."""
    from vetro.server.tasks.models import Task
    from vetro_procrastinate import jobs

    jobs.defer([jobs.job_of(Task(id=f"stranger{number}", kind="deploy")) for number in range(count)])


def cut() -> int:
    """Cuts the connections of procrastinate's workers; how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE application_name = 'vetro jobs' AND datname = current_database()"
        )
        return int(cursor.fetchone()[0])
