"""What docs/operations/upgrade.md promises of changes of the tables: programs of the version before go on with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import models
from django.db.migrations import operations
from django.db.migrations.loader import MigrationLoader

#: Changes that are not harmless by their kind: why programs of the version before go on all the same, or the version
#: whose notes say that everything has to be stopped. Of a migration: each of its operations that was looked at.
DECLARED: dict[str, dict[str, str]] = {
    "accounts.0003_login_failures": dict.fromkeys(
        (f"AlterField alter_loginfailure_{name}" for name in ("address", "at", "username")),
        "the column stays as it is; its index goes or comes",
    ),
    "catalog.0002_categories": {"RunPython": "adds rows of the nine categories where they are absent"},
    "catalog.0003_search": {"RunPython": "adds an index; on SQLite tables of its own, kept by triggers"},
    "catalog.0005_short_words": {"RunPython": "adds a function and an index of it"},
    "catalog.0011_searchword": {
        "RunPython": "fills the new table and adds an index, on SQLite kept by triggers; packages that the version"
        " before imports meanwhile are found, but not by misspelt words until they are imported again"
    },
    "environments.0007_lock": {
        "RunPython": "fills the new columns; states that programs of the version before write meanwhile have no lock,"
        " as those of before it, and the rows of packages that they keep go on being read"
    },
    "environments.0011_fewer_indexes": {
        "RunPython": "drops indexes for which others serve, and says how full pages are; no row changes"
    },
    "environments.0013_draft_last": {
        "RunPython": "writes drafts anew on PostgreSQL, with three columns behind the others; statements name columns"
    },
    "dispatch.0002_notify": {"RunPython": "adds triggers that only tell, after the statement"},
    "dispatch.0004_log_order": {
        "AlterField alter_report_task": "the column stays as it is and loses an index, which the new one replaces"
    },
    "dispatch.0007_log_bytes": {"RunSQL": "fills the new column, whose default is 0"},
    "dispatch.0008_long_lines": {"RunPython": "cuts lines that lists need not show whole; rows stay readable"},
    "dispatch.0011_fewer_indexes": {"RunPython": "drops indexes for which others serve; no row changes"},
    "dispatch.0012_vacuum": {"RunPython": "says when PostgreSQL cleans three tables up; no row changes"},
    "dispatch.0013_spec_last": {
        "RunPython": "writes tasks anew on PostgreSQL, with a column behind the others; statements name columns"
    },
}
#: Kinds of operations after which statements of the version before mean what they meant. Of all others, also of those
#: that a later Django brings, each is declared. An index refuses no row, and its name is in no statement.
_HARMLESS = (
    operations.AddIndex, operations.RemoveIndex, operations.RenameIndex,
    operations.AlterModelOptions, operations.AlterModelManagers, operations.AlterModelTableComment,
)  # fmt: skip


def breaking(found: Any) -> Iterator[str]:
    """Operations of a migration that a running program of the version before might not survive, each named."""
    made = {one.name.lower() for one in found.operations if isinstance(one, operations.CreateModel)}
    for one in found.operations:
        yield from _of(one, made)


def _of(one: Any, made: set[str]) -> Iterator[str]:
    if isinstance(one, operations.SeparateDatabaseAndState):
        for part in one.database_operations:  # what only the program knows changes no table
            yield from _of(part, made)
    elif not _harmless(one, made):
        yield f"{type(one).__name__} {one.migration_name_fragment or ''}".strip()


def _harmless(one: Any, made: set[str]) -> bool:
    if isinstance(one, operations.CreateModel):
        return not any(_holds(field, made) for _, field in one.fields)
    if isinstance(one, operations.AddField):
        field: Any = one.field
        if _holds(field, made):
            return False
        # Django gives the default itself: a program that does not know the column would insert nothing into it. And
        # one default for all is no value of a column where each has its own; NULL is no value, so there may be many.
        given = field.db_default is not models.NOT_PROVIDED and not field.unique
        return field.null or given or one.model_name.lower() in made
    # Nobody knows a table that this migration makes.
    return isinstance(one, _HARMLESS) or str(getattr(one, "model_name", "")).lower() in made


def _holds(field: Any, made: set[str]) -> bool:
    """Whether rows refer to those of a table there was: the version before cannot delete these then, for it is Django
    that deletes what refers to a row, and the older program does not know of it."""
    if not field.remote_field or not (field.many_to_many or field.db_constraint):
        return False
    return str(field.remote_field.model).rpartition(".")[2].lower() not in made


def changes() -> list[tuple[str, Any]]:
    """Migrations of ours after the first of each app."""
    found = MigrationLoader(None).disk_migrations
    return [
        (f"{app}.{name}", migration)
        for (app, name), migration in sorted(found.items())
        if type(migration).__module__.startswith("vetro.") and not migration.initial and not name.startswith("0001")
    ]


@pytest.mark.parametrize(("name", "migration"), changes(), ids=lambda value: value if isinstance(value, str) else "")
def test_programs_of_the_version_before_go_on(name: str, migration: Any) -> None:
    """What fails here breaks a rolling upgrade: do it in two versions, or look at it and say in DECLARED why not."""
    assert sorted(breaking(migration)) == sorted(DECLARED.get(name, {}))


def test_only_what_there_is_is_declared() -> None:
    assert set(DECLARED) <= {name for name, _ in changes()}
    assert all(reason for found in DECLARED.values() for reason in found.values())


class _Made:
    def __init__(self, *found: Any) -> None:
        self.operations = found


_TEXT = models.CharField(max_length=9, default="red")
_ROWS = models.UniqueConstraint(fields=["kind"], name="one_of_a_kind")
_TASK = models.ForeignKey("dispatch.task", models.CASCADE, null=True)


@pytest.mark.parametrize(
    ("operation", "named"),
    [
        (operations.AddField("task", "colour", _TEXT), "AddField task_colour"),
        (operations.AddField("task", "mark", models.CharField(max_length=9, unique=True, db_default="red")),
         "AddField task_mark"),
        (operations.AddField("task", "other", _TASK), "AddField task_other"),
        (operations.AddField("task", "others", models.ManyToManyField("dispatch.task")), "AddField task_others"),
        (operations.RemoveField("task", "kind"), "RemoveField remove_task_kind"),
        (operations.AlterField("task", "kind", models.CharField(max_length=4)), "AlterField alter_task_kind"),
        (operations.RenameField("task", "kind", "sort"), "RenameField rename_kind_task_sort"),
        (operations.CreateModel("Part", [("task", _TASK)]), "CreateModel part"),
        (operations.DeleteModel("Task"), "DeleteModel delete_task"),
        (operations.RenameModel("Task", "Job"), "RenameModel rename_task_job"),
        (operations.AlterModelTable("Task", "jobs"), "AlterModelTable alter_task_table"),
        (operations.AlterUniqueTogether("Task", {("kind", "state")}),
         "AlterUniqueTogether alter_task_unique_together"),
        (operations.AddConstraint("task", _ROWS), "AddConstraint task_one_of_a_kind"),
        (operations.RemoveConstraint("task", "one_of_a_kind"), "RemoveConstraint remove_task_one_of_a_kind"),
        (operations.RunSQL("DELETE FROM dispatch_task"), "RunSQL"),
        (operations.RunPython(operations.RunPython.noop), "RunPython"),
        (operations.SeparateDatabaseAndState([operations.RemoveField("task", "kind")], []),
         "RemoveField remove_task_kind"),
    ],
    ids=lambda value: value.partition(" ")[0] if isinstance(value, str) else "",
)  # fmt: skip
def test_what_may_break_is_seen(operation: Any, named: str) -> None:
    assert list(breaking(_Made(operation))) == [named]


def test_what_cannot_break_is_left_alone() -> None:
    table = operations.CreateModel(
        "Colour", [("name", _TEXT), ("like", models.ForeignKey("dispatch.colour", models.CASCADE))]
    )
    found = _Made(
        operations.AddField("task", "size", models.IntegerField(null=True)),
        operations.AddField("task", "weight", models.IntegerField(db_default=0)),
        operations.AddField("task", "loose", models.ForeignKey("task", models.CASCADE, null=True, db_constraint=False)),
        operations.AddField("task", "mark", models.CharField(max_length=9, null=True, unique=True)),
        operations.AddIndex("task", models.Index(fields=["kind"], name="by_kind")),
        operations.RemoveIndex("task", "by_kind"),
        operations.SeparateDatabaseAndState([], [operations.RemoveField("task", "kind")]),
        table,
        operations.AddField("colour", "shade", _TEXT),
        operations.AddConstraint("colour", _ROWS),
    )
    assert list(breaking(found)) == []
