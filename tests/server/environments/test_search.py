"""Lists of environments: what is found, in which order, by how many statements."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from vetro.server.environments import queries, service, sessions
from vetro.server.environments import search as listing
from vetro.server.environments.models import Environment
from vetro.server.tasks.models import Task

pytestmark = pytest.mark.database


@pytest.fixture
def made(ann: Any, eve: Any) -> dict[str, str]:
    """Names and ids of ann's environments; eve has one, too."""
    service.create(eve.caller, {"name": "shop of eve"})
    found = {}
    for name, text in (("Shop", ""), ("apple 100%", "a SHÖP"), ("öl_shop", ""), ("zoo", "animals")):
        found[name] = str(service.create(ann.caller, {"name": name, "description_text": text})["id"])
    return found


def names(person: Any, **wanted: Any) -> list[str]:
    project = person.caller.project_id
    found = [row.name for row in listing.part(project, **wanted)]
    conditions = {name: value for name, value in wanted.items() if name in ("search", "in_text", "status")}
    if "most" not in wanted:
        assert listing.count(project, **conditions) == len(found)
    return found


def test_what_is_searched_for_is_found_whatever_its_case(ann: Any, made: dict[str, str]) -> None:
    assert names(ann, search="SHOP") == ["Shop", "öl_shop"]
    assert names(ann, search="shöp", in_text=True) == ["apple 100%"]
    assert names(ann, search="ÖL") == ["öl_shop"]
    assert names(ann, search="0%") == ["apple 100%"] and names(ann, search="l_") == ["öl_shop"]
    assert names(ann, search="animals") == [] == names(ann, search="\0") == names(ann, search="\ud800")
    assert len(listing.part(None, search="shop")) == listing.count(None, search="shop") == 3


def test_parts_follow_on_each_other(ann: Any, made: dict[str, str]) -> None:
    whole = names(ann)
    assert whole[:3] == ["apple 100%", "Shop", "zoo"] and set(whole) == set(made)
    assert names(ann, sort="exact name")[0] == "Shop"
    assert [name for skip in range(5) for name in names(ann, skip=skip, most=1)] == whole
    for sort in ("-created", "-changed"):
        assert names(ann, sort=sort) == list(reversed(made))
    with pytest.raises(KeyError):
        names(ann, sort="name; DROP TABLE")


def test_status_and_change_are_those_that_are_shown(ann: Any, made: dict[str, str]) -> None:
    sessions.open_session(ann.caller, made["zoo"])
    Environment.objects.filter(id=made["Shop"]).update(failure="deploy failure")
    kinds = {"apple 100%": ("destroy", "running"), "öl_shop": ("deploy", "done"), "Shop": ("deploy", "failed")}
    for number, (name, (kind, state)) in enumerate(kinds.items()):
        task = Task.objects.create(
            project_id="p", user_id="u", environment_id=made[name], kind=kind, state=state, spec={},
            started=datetime.now(UTC) + timedelta(hours=number + 1),
        )  # fmt: skip
        Environment.objects.filter(id=made[name]).update(task_id=task.id)
    shown = {found.name: found.status for found in queries.of_project(ann.caller.project_id)}
    assert shown == {"Shop": "deploy failure", "apple 100%": "deleting", "öl_shop": "ready", "zoo": "pending"}
    for name, status in shown.items():
        assert names(ann, status=status) == [name]
    assert names(ann, status="deploying") == [] == names(ann, status="' OR 1 = 1")
    assert names(ann, sort="-changed") == ["Shop", "öl_shop", "apple 100%", "zoo"]


def test_the_whole_list_is_as_each_is_described(ann: Any, eve: Any, made: dict[str, str]) -> None:
    Environment.objects.filter(id=made["Shop"]).update(failure="deploy failure", description_text="é", version=2**40)
    Environment.objects.filter(id=made["zoo"]).update(created=datetime(2026, 1, 2, 3, 4, 5, 999_999, tzinfo=UTC))
    sessions.open_session(ann.caller, made["zoo"])
    Environment.objects.filter(id=made["apple 100%"]).update(failure=Environment.ACTION_FAILED)
    project = ann.caller.project_id
    each = [{**service.described(found), "status": found.v1_status} for found in queries.of_project(project)]
    assert {row["name"]: row["status"] for row in each} == {
        "Shop": "deploy failure", "apple 100%": "deploy failure", "öl_shop": "ready", "zoo": "pending",
    }  # fmt: skip
    assert names(ann, status="deploy failure") == ["Shop"] and names(ann, status="ready") == ["apple 100%", "öl_shop"]
    answered = ann.get("/v1/environments").json()["environments"]
    assert answered == each and len(each) == len(made)
    assert [list(row) for row in answered] == [list(row) for row in each]
    assert [row["created"] for row in each if row["name"] == "zoo"] == ["2026-01-02T03:04:05"]
    assert sum(map(len, listing.whole(None))) == len(made) + 1
    assert [*listing.whole("\0")] == [] == [*listing.whole("nobody")]


def test_the_whole_list_tells_what_tasks_and_procedures_do(ann: Any, made: dict[str, str]) -> None:
    for name, kind, state in (
        ("Shop", "destroy", "queued"), ("apple 100%", "plan", "running"), ("zoo", "deploy", "done"),
    ):  # fmt: skip
        task = Task.objects.create(
            project_id="p", user_id="u", environment_id=made[name], kind=kind, state=state, spec={}
        )
        Environment.objects.filter(id=made[name]).update(task_id=task.id, failure="deploy failure")
    Environment.objects.filter(id=made["öl_shop"]).update(procedure_id="p", failure="deploy failure")
    ((*rows,),) = listing.whole(ann.caller.project_id)
    assert {name: status for _, name, *_, status in rows} == {
        "Shop": "deleting", "apple 100%": "deploying", "öl_shop": "deploying", "zoo": "deploy failure",
    }  # fmt: skip


def test_two_statements_however_many_there_are(ann: Any, made: dict[str, str]) -> None:
    with CaptureQueriesContext(connection) as seen:
        assert len(names(ann, most=2)) == 2
    assert len(seen) == 2


def test_the_list_by_name_is_read_from_its_index(ann: Any, made: dict[str, str]) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("plans of PostgreSQL")
    with CaptureQueriesContext(connection) as seen:
        names(ann, most=50)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_sort = off")
        cursor.execute(f"EXPLAIN {seen.captured_queries[0]['sql']}")
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "environments_by_name" in plan and "Sort" not in plan
