"""Which statements find the next task, and what they look at."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from vetro.engine.worker.ports import LeaseLost
from vetro.server.tasks import clock
from vetro.server.tasks.claim import SHORT, claim
from vetro.server.tasks.claim_queries import ClaimQueries
from vetro.server.tasks.models import Task

pytestmark = [pytest.mark.database, pytest.mark.django_db]


def tasks(count: int, state: str = "queued", **more: Any) -> None:
    made = {"user_id": "u", "kind": "deploy", "state": state, "spec": {}, **more}
    project = made.pop("project_id", "p")
    Task.objects.bulk_create([Task(id=f"{project}-{number:05}", project_id=project, **made) for number in range(count)])


def claimed() -> list[str]:
    found = []
    while (lease := claim("me", 60.0)) is not None:
        found.append(lease.task_id)
    return found


def test_projects_take_turns_whatever_their_names_and_numbers() -> None:
    tasks(5, project_id="b")
    tasks(2, project_id="c")
    tasks(1, project_id="a", priority=-1)
    assert claimed() == ["b-00000", "c-00000", "a-00000", "b-00001", "c-00001", "b-00002", "b-00003", "b-00004"]


def test_what_waits_behind_many_of_its_project_that_may_not_run_yet_is_found() -> None:
    tasks(150, environment_id="e")
    Task.objects.filter(id="p-00000").update(state="running", lease_until=clock.after(60))
    tasks(1, project_id="q", environment_id="f")
    tasks(1, project_id="p-other", environment_id="g")
    Task.objects.filter(project_id="p-other").update(project_id="p")
    assert claimed() == ["q-00000", "p-other-00000"]


def test_a_lapsed_task_comes_in_the_turn_of_its_project() -> None:
    tasks(1, state="running", lease_until=clock.after(-5))
    tasks(1, project_id="q")
    assert claimed() == ["q-00000", "p-00000"]


@pytest.mark.parametrize("kinds", [None, SHORT])
def test_a_look_that_finds_nothing_reads_no_table_as_a_whole(kinds: frozenset[str] | None) -> None:
    tasks(300, state="done")
    queries = _queries(kinds, "gpu")
    plan = _explained(queries.waits(), queries)
    if clock.on_postgresql():
        assert "Index" in plan and "Seq Scan on dispatch_task" not in plan
    else:
        assert f"INDEX {'kinds_that_wait' if kinds else 'tasks_that_wait'}" in plan and "SCAN t\n" not in plan


def test_a_claim_on_sqlite_follows_the_index_of_what_waits() -> None:
    if clock.on_postgresql():
        pytest.skip("PostgreSQL tells how much it reads")
    tasks(300, state="done")
    plan = _explained(_queries().claims()[0])
    assert plan.count("USING INDEX tasks_that_wait") + plan.count("USING COVERING INDEX tasks_that_wait") == 3
    assert "SCAN dispatch_task" not in plan


def test_a_claim_is_not_compiled_to_machine_code_first() -> None:
    """With a long history and many queued tasks the planner takes a claim for so dear that this seems to pay: it took
    100 ms instead of 2. Here it is told to find that early."""
    if not clock.on_postgresql():
        pytest.skip("SQLite has no such thing")
    given = {"user_id": "u", "kind": "deploy", "spec": {}}
    Task.objects.bulk_create(
        [Task(id=f"t{n:03}", project_id=f"p{n % 20}", environment_id=f"e{n}", **given) for n in range(200)]
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        cursor.execute("SET LOCAL jit_above_cost = 1000")
        queries = _queries()
        for statement in queries.claims():
            cursor.execute(f"EXPLAIN (ANALYZE) {statement}", queries.values)
            assert "JIT" not in "\n".join(row[0] for row in cursor.fetchall())


def test_a_claim_reads_little_where_many_wait() -> None:
    if not clock.on_postgresql():
        pytest.skip("SQLite does not tell how much it reads")
    tasks(5000)
    tasks(5, project_id="q")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE dispatch_task")
        cursor.execute("SET LOCAL enable_seqscan = off")  # it reads as a whole what is as small as here
    first, all_of_them = (_most_rows(statement) for statement in _queries().claims())
    assert first < 200
    assert all_of_them >= 5000


def test_a_claim_finds_others_of_an_environment_by_it_and_not_by_their_states() -> None:
    """The index of states has an entry of each task that ran since the table was cleaned up, and all are read."""
    if not clock.on_postgresql():
        pytest.skip("plans of PostgreSQL")
    given = {"project_id": "p", "user_id": "u", "kind": "deploy", "spec": {}}
    history = [Task(id=f"d{n}", environment_id=f"e{n % 100}", state="done", **given) for n in range(4000)]
    waiting = [Task(id=f"q{n}", environment_id=f"e{n}", **given) for n in range(5)]
    Task.objects.bulk_create([*history, *waiting])
    plan = _explained(_queries().claims()[0])
    conditions = [line for line in plan.splitlines() if "Index Cond" in line]
    assert conditions and not [line for line in conditions if "needs_person" in line], plan


def test_commits_lock_a_lease_and_renew_it_once_in_a_third_of_it() -> None:
    tasks(1)
    lease = claim("me", 60.0)
    assert lease is not None
    until = Task.objects.get().lease_until
    lease.hold()
    assert Task.objects.get().lease_until == until
    lease._renewed -= 20.0
    lease.hold()
    renewed = Task.objects.get().lease_until
    assert until is not None and renewed is not None and renewed > until
    Task.objects.update(fence=lease.fence + 1)
    for late in (0.0, 20.0):
        lease._renewed -= late
        with pytest.raises(LeaseLost):
            lease.hold()


def _queries(kinds: frozenset[str] | None = None, *labels: str) -> ClaimQueries:
    return ClaimQueries("me", "1", kinds, labels, until=60.0, waited=-60.0, heard=-60.0)


def _most_rows(statement: str) -> float:
    """How many rows the busiest step of its plan gives."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {statement}", _queries().values)
        left: list[Any] = [cursor.fetchone()[0][0]["Plan"]]
    most = 0.0
    while left:
        node = left.pop()
        left += node.get("Plans", ())
        most = max(most, node["Actual Rows"] * node["Actual Loops"])
    return most


def _explained(statement: str, queries: ClaimQueries | None = None) -> str:
    explain = "EXPLAIN" if clock.on_postgresql() else "EXPLAIN QUERY PLAN"
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        cursor.execute(f"{explain} {statement}", (queries or _queries()).values)
        return "".join(f"{row[-1]}\n" for row in cursor.fetchall())
