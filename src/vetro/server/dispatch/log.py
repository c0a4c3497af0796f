"""The lines of a task's log, in their order."""

from __future__ import annotations

from django.db.models import QuerySet

from vetro.server.dispatch.models import Report


def lines(task_id: str) -> QuerySet[Report]:
    """The lines of a task, oldest first; what is asked further is asked of the result."""
    # A range of one: for `task_id = … ORDER BY seq LIMIT …` PostgreSQL walks through the lines of all tasks where one
    # has a good part of them. This order only the index of a task's log has.
    return Report.objects.filter(task_id__gte=task_id, task_id__lte=task_id).order_by("task_id", "seq")
