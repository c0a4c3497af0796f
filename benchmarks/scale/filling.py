"""Rows by the hundred thousand: copies of those that one deployment left, made inside the database.

Copies have the size, the ciphertexts and the relations of real rows. A tenth of the environments belongs to the
caller's project, the others to a thousand more. Their times are spread over the last sixty days; journals, events and
audit records are copied as far back as the service keeps them.
"""

from __future__ import annotations

from typing import Any

#: Days over which deployments are spread.
DAYS = 60
PROJECTS = 1000
#: Reports of the one task that has a long log.
LONG_LOG = 20_000

_AT = f"now() - make_interval(secs => (n % 1000) * {DAYS * 86.4})"
_OF = f"CASE WHEN n % 10 = 0 THEN '{{project}}' ELSE md5('project' || n % {PROJECTS}) END"


class Filling:
    """Copies of what is there of the environment ``source``, whose only task was ``task``."""

    def __init__(self, project: str, source: str, task: str) -> None:
        self._source, self._task = source, task
        self._project = _OF.format(project=project)
        self._environments = self._reports = 0
        self._kept: dict[tuple[Any, str], str] = {}

    def grow(self, environments: int, reports: int) -> None:
        """Until there are so many environments, each deployed once, and reports of all tasks together."""
        first, last = self._environments + 1, environments
        self._copy_deployments(first, last)
        each = max(1, reports // environments)
        self._copy_reports(first, last, each)
        if not self._reports:
            self._long_log()
        self._environments, self._reports = environments, reports

    def _copy_deployments(self, first: int, last: int) -> None:
        from vetro.server.audit.models import AuditRecord
        from vetro.server.environments.models import Environment, EnvironmentPackage, Session, State
        from vetro.server.tasks.models import Event, JournalEntry, JournalNote, JournalTask, Task

        environment, task, session = "md5('e' || n)", "md5('t' || n)", "md5('s' || n)"
        times = dict.fromkeys(("created", "updated"), _AT)
        here = f"environment_id = '{self._source}'"
        copy = _Copy(self._kept, first, last)
        names = {"name": "'environment ' || n", "project_id": self._project}
        copy(Environment, f"id = '{self._source}'", {"id": environment, "task_id": task, **names, **times})
        copy(State, here, {"environment_id": environment, "created": _AT})
        copy(EnvironmentPackage, here, {"environment_id": environment})
        copy(Session, here, {"id": session, "environment_id": environment, **times})
        ids = {"id": task, "environment_id": environment, "session_id": session, "project_id": self._project}
        copy(Task, f"id = '{self._task}'", {**ids, **times, "started": _AT, "finished": _AT})
        of_task = f"task_id = '{self._task}'"
        week = f"(n % 1000) * {DAYS} < 7000"
        copy(JournalTask, of_task, {"task_id": task, "begun": f"extract(epoch FROM {_AT})"}, week)
        for table in (JournalEntry, JournalNote):
            copy(table, of_task, {"task_id": task}, week)
        about = {"environment_id": environment, "project_id": self._project}
        copy(Event, f"task_id = '{self._task}'", {**about, "task_id": task, "at": _AT}, week)
        copy(Event, f"{here} AND task_id = ''", {**about, "at": _AT}, week)
        copy(AuditRecord, f"target_id = '{self._source}'",
             {"project_id": self._project, "target_id": environment, "at": _AT})  # fmt: skip

    def _copy_reports(self, first: int, last: int, each: int) -> None:
        from vetro.server.tasks.models import Report

        cells = {"id": "md5('r' || n || '-' || m)", "task_id": "md5('t' || n)", "key": "'0/' || m",
                 "created": f"{_AT} + make_interval(secs => m)"}  # fmt: skip
        _Copy(self._kept, first, last, f", generate_series(1, {each}) m")(Report, self._one_report(), cells)

    def _long_log(self) -> None:
        from vetro.server.tasks.models import Report

        cells = {"id": "md5('long' || n)", "key": "'long/' || n", "created": _AT}
        _Copy(self._kept, 1, LONG_LOG)(Report, self._one_report(), cells)

    def _one_report(self) -> str:
        from vetro.server.tasks.models import Report

        return f"seq = {Report.objects.filter(task_id=self._task).order_by('seq').values_list('seq', flat=True)[0]}"


class _Copy:
    """Copies rows of a table for each ``n`` from ``first`` to ``last``; ``more`` multiplies.

    ``kept`` remembers which rows were copied first, and they are copied again: what is measured between writes further
    ones to the source, and the second part would have dozens of records where the first one has two.
    """

    def __init__(self, kept: dict[tuple[Any, str], str], first: int, last: int, more: str = "") -> None:
        self._kept = kept
        self._source = f"generate_series({first}, {last}) n{more}"

    def __call__(self, table: Any, which: str, cells: dict[str, str], when: str = "true") -> None:
        """``cells`` are SQL for the columns that differ; keys that the database gives are left to it."""
        columns = [f.column for f in table._meta.concrete_fields if f.get_internal_type() != "BigAutoField"]
        given = ", ".join(cells.get(column, f't."{column}"') for column in columns)
        listed = ", ".join(f'"{column}"' for column in columns)
        name = table._meta.db_table
        if (table, which) not in self._kept:
            self._kept[table, which] = _these(table, which)
        rows = self._kept[table, which]
        _run(
            f'INSERT INTO "{name}" ({listed}) SELECT {given} FROM (SELECT * FROM "{name}" WHERE {rows}) t,'
            f" {self._source} WHERE {when}"
        )


def _these(table: Any, which: str) -> str:
    """A condition that is true for the rows that fulfil another one now, and for no later ones."""
    from django.db import connection

    column = table._meta.pk.column
    with connection.cursor() as cursor:
        cursor.execute(f'SELECT "{column}" FROM "{table._meta.db_table}" WHERE {which}')
        keys = [f"'{key}'" for (key,) in cursor.fetchall()]
    if not keys:
        raise ValueError(f"there is no row of {table.__name__} to be copied, where {which}")
    return f'"{column}" IN ({", ".join(keys)})'


def _run(statement: str) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(statement)
