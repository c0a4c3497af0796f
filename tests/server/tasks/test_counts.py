"""Tasks are counted as they are, although those that ended long ago are not counted again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from vetro.server.tasks import counts
from vetro.server.tasks.models import Task

pytestmark = [pytest.mark.database, pytest.mark.django_db]


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    counts.ended.forget()
    yield
    counts.ended.forget()


def task(kind: str, state: str, ago: float | None = None) -> Task:
    """One that ended so many seconds ago."""
    finished = None if ago is None else datetime.now(UTC) - timedelta(seconds=ago)
    return Task.objects.create(project_id="p", user_id="u", kind=kind, state=state, spec={}, finished=finished)


def test_all_are_counted_at_first_and_what_changes_afterwards() -> None:
    task("deploy", "done", 10 * counts.LATE)
    task("deploy", "done", 1)
    task("action", "failed", 2 * counts.LATE)
    waiting = task("deploy", "queued")
    task("destroy", "needs_person")
    whole = {("deploy", "done"): 2, ("action", "failed"): 1, ("deploy", "queued"): 1, ("destroy", "needs_person"): 1}
    assert counts.tasks() == whole == counts.tasks()
    Task.objects.filter(id=waiting.id).update(state="done", finished=datetime.now(UTC))
    del whole["deploy", "queued"]
    assert counts.tasks() == {**whole, ("deploy", "done"): 3}


def test_one_that_is_seen_later_than_it_ended_is_counted_once() -> None:
    assert not counts.tasks()
    task("deploy", "done", counts.LATE / 2)  # its transaction took long
    assert counts.tasks() == counts.tasks() == {("deploy", "done"): 1}


def test_what_ended_long_ago_is_not_looked_at_again() -> None:
    task("deploy", "done", 10 * counts.LATE)
    counts.tasks()
    Task.objects.all().delete()  # at once, as nobody does it: it shows that these rows are not asked for
    with CaptureQueriesContext(connection) as seen:
        assert counts.tasks() == {("deploy", "done"): 1}
    asked = [query["sql"] for query in seen.captured_queries if '"finished"' in query["sql"]]
    assert len(asked) == 2 and all('"finished" >' in sql for sql in asked)
    counts.ended.forget()
    assert not counts.tasks()
