"""The lines of a task's log, in their order, as many as an answer may hold; and one line as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from django.db.models import QuerySet

from vetro.server.tasks.models import Report, ReportPart

#: Characters of texts of one page; the rows after them are another page's. Their details may be as many again.
BUDGET: Final = 1 << 20
#: Characters of texts that a list without pages has (/v1).
UNPAGED: Final = 4 << 20

#: Names of the lines of the service itself with which the log of a deployment begins and ends (`reports.add`).
BEGIN: Final = "begin"
END: Final = "end"


def lines(task_id: str) -> QuerySet[Report]:
    """The lines of a task, oldest first; what is asked further is asked of the result."""
    # A range of one: for `task_id = … ORDER BY seq LIMIT …` PostgreSQL walks through the lines of all tasks where one
    # has a good part of them. This order only the index of a task's log has.
    return Report.objects.filter(task_id__gte=task_id, task_id__lte=task_id).order_by("task_id", "seq")


def within(rows: QuerySet[Report], limit: int, budget: int = BUDGET) -> tuple[list[Report], bool]:
    """The first ``limit`` rows, fewer where their texts are longer than ``budget`` together, one at least; and whether
    there are more. No more is read from the database than a few rows beyond."""
    found: list[Report] = []
    used = 0
    for row in rows[: limit + 1].iterator(chunk_size=50):
        used += len(row.text) + len(row.entity_id)
        if len(found) == limit or (found and used > budget):
            return found, True
        found.append(row)
    return found, False


def whole(row: Report) -> Iterator[str]:
    """The text of a line as it was reported, with its details where those were cut, part by part."""
    if not row.cut:
        yield str(row.text)
        return
    parts = ReportPart.objects.filter(report_id=row.id).order_by("number")
    for text in parts.values_list("text", flat=True).iterator(chunk_size=1):
        yield str(text)
