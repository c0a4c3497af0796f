"""How many statements a trivial deployment and each of its effects take: counted, so whatever the machine does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.server.tasks import shop
from vetro.engine.worker import commits
from vetro.server.environments.models import Environment, Session
from vetro.server.tasks.models import JournalTask, Task

pytestmark = [pytest.mark.database, pytest.mark.django_db]

#: Two reports, and an effect that waits for each pause.
TRIVIAL = """\
Name: Shop
Namespaces: {=: test, std: io.murano}
Extends: std:Application
Properties:
  title: {Contract: $.string().notNull()}
  pauses: {Contract: $.int().notNull(), Default: 0}
Methods:
  deploy:
    Body:
      - $.find(std:Environment).reporter.report($this, 'deploying')
      - For: number
        In: range($.pauses)
        Do: sleep(0)
      - $.find(std:Environment).reporter.report($this, 'deployed')
"""


@pytest.fixture(autouse=True)
def together(monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody waits for is committed with the next commit, however slow the machine is."""
    monkeypatch.setattr(commits, "SOON", 600.0)
    monkeypatch.setattr(commits, "BEGIN", 600.0)


Counted = Callable[..., tuple[int, int, str]]


@pytest.fixture
def counted(ann: Any, drain: Callable[..., int]) -> Counted:
    """Deploys another environment: the worker's statements, its transactions (here savepoints), and what it asked."""
    package = shop.add_package(ann.caller, shop.archive({"Classes/Shop.yaml": TRIVIAL}))

    def count(name: str, **properties: Any) -> tuple[int, int, str]:
        task = shop.deploy(ann.caller, shop.add_environment(ann.caller, name), package, **properties)
        with CaptureQueriesContext(connection) as done:
            assert drain() == 1
        task.refresh_from_db()
        assert task.state == "done"
        texts = [query["sql"] for query in done.captured_queries]
        words = Counter(text.split()[0] for text in texts)
        marks = ("SAVEPOINT", "RELEASE", "BEGIN", "COMMIT")
        return len(texts) - sum(words[word] for word in marks), words["SAVEPOINT"], "\n".join(texts)

    return count


def test_a_trivial_deployment_takes_few_statements_and_commits(counted: Counted) -> None:
    counted("first")
    statements, commits, texts = counted("second")
    assert statements <= 22 and commits <= 2, texts


def test_a_further_effect_takes_one_commit_of_three_statements(counted: Counted) -> None:
    few, commits, _ = counted("few", pauses=1)
    more, later, texts = counted("more", pauses=6)
    assert later - commits <= 5 and more - few <= 15, texts


#: What a deployment changes in rows that are there: where an index has one of these, PostgreSQL writes all indexes of
#: the row (no update is HOT), and dead rows stay until it cleans up.
CHANGING = (
    (Session, {"state", "draft", "answers", "revision", "updated"}),
    (Environment, {"version", "failure", "offered", "task_id", "cloud", "updated"}),
    (JournalTask, {"attempts", "deaths", "ended", "model", "model_at"}),
)


@pytest.mark.parametrize(("model", "changing"), CHANGING, ids=lambda value: getattr(value, "__name__", ""))
def test_no_index_has_what_each_deployment_changes(model: Any, changing: set[str]) -> None:
    with connection.cursor() as cursor:
        found = connection.introspection.get_constraints(cursor, model._meta.db_table)
    columns = {column for each in found.values() if each["index"] or each["unique"] for column in each["columns"]}
    assert columns and not columns & changing
    conditions = [each.condition for each in model._meta.indexes + model._meta.constraints]
    assert not any(f"'{name}'" in str(condition) for condition in conditions for name in changing)


#: What is large and stays, from the first of them to the end of the row: PostgreSQL logs what lies between the first
#: and the last byte that a new version of a row changes.
LAST = ((Task, ["spec"]), (Session, ["upgrade", "answers", "draft"]))


@pytest.mark.parametrize(("model", "last"), LAST, ids=lambda value: getattr(value, "__name__", ""))
def test_what_is_large_stands_after_all_that_each_deployment_changes(model: Any, last: list[str]) -> None:
    """A column that a later migration adds stands behind them: where deployments change it, they have to move."""
    if connection.vendor != "postgresql":
        pytest.skip("SQLite writes whole pages")
    with connection.cursor() as cursor:
        columns = [
            column.name for column in connection.introspection.get_table_description(cursor, model._meta.db_table)
        ]
    assert columns[-len(last) :] == last
