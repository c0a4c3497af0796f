"""What the watcher writes while nothing changes: less than 5 rows a second for 5,000 components."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from vetro.engine.watching.inventory import EVERY
from vetro.engine.watching.looks import MEASURE
from vetro.server.environments.models import Environment
from vetro.server.tasks import clock
from vetro.server.watch import drift, metrics, service, watcher
from vetro.server.watch.models import Inventory

pytestmark = pytest.mark.django_db

ENVIRONMENTS, EACH = 1000, 5


def rows_of(sql: str) -> bool:
    return sql.startswith(("INSERT", "UPDATE", "DELETE"))


@pytest.mark.campaign
def test_while_nothing_changes_few_rows_are_written(ann: Any) -> None:
    """A minute of a watcher, second for second, with all that its process tells meanwhile."""
    made = Environment.objects.bulk_create(
        Environment(project_id=ann.caller.project_id, name=f"e{number}", version=1) for number in range(ENVIRONMENTS)
    )
    content = {"number": 1, "stacks": {"web": "digest"}, "servers": {}}
    drift.note([{"id": row.id, **content} for row in made])
    reports = [
        (row.id, 1, [{"id": f"a{place}", "state": "running", "text": "", "checks": []} for place in range(EACH)])
        for row in made
    ]
    service.record(reports, "mark")
    service.believe(["mark"], "w", service.BELIEVED)
    pending, statements, told, rows = metrics.Pending(), 0, 0.0, 0
    counted = connection.connection.total_changes if connection.vendor == "sqlite" else None
    for second in range(60):
        if second % MEASURE == 0:
            for row in made:
                servers = {f"{row.id} {place}": [0.1, 1, 2, 3] for place in range(EACH)}
                pending.add(row.id, int(clock.read().timestamp()), servers)
        told += ENVIRONMENTS / EVERY
        with CaptureQueriesContext(connection) as done:
            rows += pending.write()
            listed, told = int(told), told - int(told)
            drift.note([{"id": row.id, **content} for row in made[second * 2 : second * 2 + listed]])
            rows += listed
            # A round of reports in which nothing is another one.
            rows += service.record([reports[second]], "mark").rows
            if second % watcher.MARK == 0:
                service.believe(["mark"], "w", service.BELIEVED)
                rows += 1
        statements += sum(rows_of(query["sql"]) for query in done.captured_queries)
    if counted is not None:
        assert connection.connection.total_changes - counted == rows, "what is counted is what was written"
    print(f"{rows / 60:.1f} rows and {statements / 60:.1f} statements that write a second")
    assert rows / 60 <= 5 and statements / 60 <= 4
    assert Inventory.objects.count() == ENVIRONMENTS
