"""`remove`: drops the rows of an environment whose deletion `deploy.delete` has decided. Those of a large one go in
steps, so that others get to the database.

The environment itself goes with the transaction of the caller; from then on nothing leads to its rows. Those of a
killed process, or of a database that failed, are found by the sweep (`drop_leftovers`).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Final

from django.db import router, transaction
from django.db.models import Exists, OuterRef

from vetro.server.config.file_folders import folder_of, remove_folder
from vetro.server.environments.models import Environment
from vetro.server.setup import config

#: Rows of a table up to which all of it goes at once, and rows of one statement beyond: each may hold a whole model.
_FEW: Final = 100
#: Environments that are looked at with one statement.
_AT_ONCE: Final = 500


def remove(id: str) -> None:
    """Removes the environment, in the caller's transaction, and after it the files of its actions; of one with many
    rows these go after it, too."""
    rows = Environment.objects.filter(id=id)
    for project in rows.values_list("project_id", flat=True):
        # What is kept of it has no other door any more, and would take its project's room for a day.
        folder = folder_of(config(), project, id)
        transaction.on_commit(partial(remove_folder, folder), robust=True)
    if all(_is_small(table, field, id) for table, field in _tables()):
        rows.delete()
        return
    rows._raw_delete(router.db_for_write(Environment))
    transaction.on_commit(partial(drop_rows, id), robust=True)


def drop_rows(id: str) -> int:
    """Drops what an environment left that is gone, a few rows at a time; how many. Of one that is there: nothing."""
    there, count = Exists(Environment.objects.filter(id=id)), 0
    for table, field in _tables():
        rows = table._default_manager.filter(~there, **{field: id}).order_by("pk")
        while ids := list(rows.values_list("pk", flat=True)[:_FEW]):
            # Without `only` each row would be read and deciphered to be deleted.
            table._default_manager.filter(~there, pk__in=ids).only("pk").delete()
            count += len(ids)
    return count


def drop_leftovers() -> int:
    """The same for all environments that are gone."""
    return sum(drop_rows(id) for id in sorted(set(_gone())))


def _gone() -> Iterable[str]:
    for table, field in _tables():
        there = Exists(Environment.objects.filter(id=OuterRef(field)))
        rows = table._default_manager.filter(~there, **{f"{field}__isnull": False}).order_by()
        yield from rows.values_list(field, flat=True).distinct()[:_AT_ONCE]


def _tables() -> list[tuple[Any, str]]:
    """The tables whose rows belong to environments, and the columns that say to which."""
    return [(found.related_model, found.field.attname) for found in Environment._meta.related_objects]


def _is_small(table: Any, field: str, id: str) -> bool:
    rows = table._default_manager.filter(**{field: id}).order_by()
    return len(rows.values_list("pk", flat=True)[: _FEW + 1]) <= _FEW
