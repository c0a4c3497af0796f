"""Lines of a log: in order, and found by its own index however large a part of all lines they are."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.db import connection

from vetro.server.tasks import log
from vetro.server.tasks.models import Report, Task

pytestmark = pytest.mark.django_db


def written(task: Task, count: int) -> None:
    """Lines of a task."""
    at = datetime.now(UTC)
    Report.objects.bulk_create(Report(task=task, key=f"0/{n}", text=f"line {n}", created=at) for n in range(count))


@pytest.fixture
def tasks() -> list[Task]:
    """The lines of the last one follow on those of the others, and are a third of them."""
    made = [Task.objects.create(project_id="p", user_id="u", kind="deploy", state="done", spec={}) for _ in range(9)]
    for task in made[:-1]:
        written(task, 250)
    written(made[-1], 1000)
    return made


def test_the_lines_of_one_task_in_order(tasks: list[Task]) -> None:
    own = log.lines(tasks[-1].id)
    assert [row.text for row in own[:3]] == ["line 0", "line 1", "line 2"]
    assert [row.text for row in own.reverse()[:2]] == ["line 999", "line 998"]
    last = own.reverse()[0]
    assert list(own.filter(seq__gte=last.seq)) == [last] and own.count() == 1000
    assert log.lines("nobody").count() == 0


def test_lines_of_others_are_not_looked_at(tasks: list[Task]) -> None:
    rows = log.lines(tasks[-1].id).filter(seq__gt=0)[:100]
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE dispatch_report")
    plan = rows.explain()
    assert "log_of_a_task" in plan, plan
