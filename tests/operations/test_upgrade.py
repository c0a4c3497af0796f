"""What docs/operations/upgrade.md promises of changes of the tables: programs of the version before go on with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import models
from django.db.migrations import operations
from django.db.migrations.loader import MigrationLoader

#: Changes after which an older program would fail, each with the version whose notes say so.
ANNOUNCED: dict[str, str] = {}
_BREAKING = (
    operations.DeleteModel, operations.RemoveField, operations.RenameField, operations.RenameModel,
    operations.AlterModelTable,
)  # fmt: skip


def breaking(found: Any) -> Iterator[str]:
    """Operations of a migration that a running program of the version before does not survive."""
    made = {one.name.lower() for one in found.operations if isinstance(one, operations.CreateModel)}
    for one in found.operations:
        if isinstance(one, _BREAKING):
            yield one.describe()
        elif isinstance(one, operations.AddField) and one.model_name.lower() not in made:
            field: Any = one.field
            # Django gives the default itself: a program that does not know the column would insert nothing into it.
            if not (field.null or field.db_default is not models.NOT_PROVIDED):
                yield f"{one.describe()} (neither null nor db_default)"


def changes() -> list[tuple[str, Any]]:
    """Migrations of ours after the first of each app."""
    found = MigrationLoader(None).disk_migrations
    return [
        (f"{app}.{name}", migration)
        for (app, name), migration in sorted(found.items())
        if type(migration).__module__.startswith("vetro.") and not migration.initial and "0001" not in name
    ]


@pytest.mark.parametrize(("name", "migration"), changes(), ids=lambda value: value if isinstance(value, str) else "")
def test_programs_of_the_version_before_go_on(name: str, migration: Any) -> None:
    assert name in ANNOUNCED or list(breaking(migration)) == []


def test_what_breaks_is_seen() -> None:
    class Migration:
        operations = (
            operations.AddField("task", "colour", models.CharField(max_length=9, default="red")),
            operations.AddField("task", "size", models.IntegerField(null=True)),
            operations.AddField("task", "weight", models.IntegerField(db_default=0)),
            operations.RemoveField("task", "kind"),
        )

    assert [text.split(" ")[0] for text in breaking(Migration)] == ["Add", "Remove"]
