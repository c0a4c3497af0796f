"""What is written of an environment, and what is told while nobody looks."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.server.watch.world import (
    PRETENDED,
    app,
    component,
    instance,
    made,
    watched,
)
from vetro.engine.watching.states import State
from vetro.server.environments.models import Environment
from vetro.server.tasks import clock
from vetro.server.tasks.models import Event
from vetro.server.watch import queries, service
from vetro.server.watch.models import HealthChange, WatchMark

pytestmark = pytest.mark.django_db


def test_only_changes_are_written_and_the_worst_is_the_environments(ann: Any) -> None:
    row = made(ann)
    watched(row)
    service.record([(row.id, 1, [component("a", "running"), component("b", "running")])], "")
    told = queries.of_environment(row.id)
    assert told is not None and told.state is State.RUNNING and told.since is not None
    assert service.record([(row.id, 1, [component("a", "running")])], "").rows == 0
    service.record([(row.id, 1, [component("b", "down", "server 'x' is gone")])], "")
    told = queries.of_environment(row.id)
    assert told is not None and (told.state, told.text) == (State.DOWN, "server 'x' is gone")
    assert [(one.id, one.told.state) for one in queries.components(row.id, None, None)] == [
        ("a", "running"),
        ("b", "down"),
    ]
    changed = [(c["component_id"], c["state"]) for c in queries.changes(row.id)]
    assert changed == [(None, "down"), ("b", "down"), (None, "running"), ("b", "running"), ("a", "running")]
    events = Event.objects.filter(environment_id=row.id, kind="health").values_list("data", flat=True)
    assert [data["change"] for data in events.order_by("seq")] == ["running", "down"]


def test_the_time_of_a_state_stays_while_only_its_reason_changes(ann: Any) -> None:
    row = made(ann)
    watched(row)
    service.record([(row.id, 1, [component("a", "down", "one")])], "")
    since = queries.components(row.id, None, None)[0].told.since
    service.record([(row.id, 1, [component("a", "down", "two")])], "")
    told = queries.components(row.id, None, None)[0].told
    assert (told.text, told.since) == ("two", since) and HealthChange.objects.filter(component="a").count() == 1


def test_reports_about_another_version_or_of_nobody_are_dropped(ann: Any) -> None:
    row = made(ann)
    watched(row)
    assert (
        service.record([(row.id, 0, [component("a", "down")]), ("0" * 32, 1, [component("a", "down")])], "").rows == 0
    )
    assert queries.components(row.id, None, None) == []


def test_many_changes_take_few_statements(ann: Any) -> None:
    rows = [made(ann, name=f"e{n}") for n in range(60)]
    reports = [(row.id, 1, [component("a", "running"), component("b", "running")]) for row in rows]
    with CaptureQueriesContext(connection) as first:
        assert service.record(reports, "").rows == 60 * 6
    changes = [(id, number, [component("a", "down", "x")]) for id, number, _ in reports]
    with CaptureQueriesContext(connection) as second:
        service.record(changes, "")

    def writes(context: CaptureQueriesContext) -> int:
        told = [query["sql"] for query in context.captured_queries if "dispatch_event" not in query["sql"]]
        return sum(sql.startswith(("INSERT", "UPDATE", "DELETE")) for sql in told)

    assert writes(first) <= 4 and writes(second) <= 4  # SQLite takes so many values in one


def test_components_that_went_are_forgotten(ann: Any) -> None:
    row = made(ann)
    watched(row)
    service.record([(row.id, 1, [component("a", "running"), component("b", "down")])], "")
    assert set(service.retarget(row.id, "", ["a"])) == {"a"}
    service.retarget(row.id, "", [])
    assert queries.of_environment(row.id) is None and queries.components(row.id, None, None) == []


def test_history_is_bounded(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MOST_CHANGES", 10)
    row = made(ann)
    now = clock.read()
    for n in range(30):
        at = now - timedelta(days=91 if n < 5 else 0)
        HealthChange.objects.create(environment=row, component="a", state="down", at=at)
    assert service.forget(now - timedelta(days=90)) == 20
    assert HealthChange.objects.filter(environment=row).count() == 10


def test_nothing_is_green_while_nobody_looks(ann: Any) -> None:
    row = made(ann)
    told = queries.of_environment(row.id)
    assert told is not None and told.state is State.UNKNOWN
    watched(row)
    service.record([(row.id, 1, [component("a", "running")])], "")
    assert queries.of_environments([row.id])[row.id].state is State.RUNNING
    WatchMark.objects.update(until=clock.read() - timedelta(seconds=1))
    told = queries.of_environment(row.id)
    assert told is not None and told.state is State.UNKNOWN and "nobody looks" in told.text
    assert [one.told.state for one in queries.components(row.id, None, None)] == [State.UNKNOWN]
    answer = ann.get(f"/v2/environments/{row.id}").json()
    assert answer["health"]["state"] == "unknown"


def test_what_its_cloud_only_writes_down_is_simulated(ann: Any) -> None:
    row = made(ann, app("a", instance("i")), cloud=PRETENDED)
    watched(row)
    service.record([(row.id, 1, [component("a", "running")])], {})  # whatever anybody says
    answer = ann.get(f"/v2/environments/{row.id}/health").json()
    assert answer["health"]["state"] == "simulated"
    assert [(one["name"], one["health"]["state"]) for one in answer["components"]] == [("the a", "simulated")]
    never = Environment.objects.create(project_id=ann.caller.project_id, name="never", cloud=PRETENDED)
    assert ann.get(f"/v2/environments/{never.id}").json()["health"] is None


def test_lists_tell_it_and_others_learn_nothing(ann: Any, eve: Any) -> None:
    row = made(ann, app("a", instance("i")))
    watched(row)
    failing = {"key": "k", "name": "page", "state": "down", "text": "no answer", "reached": True}
    service.record([(row.id, 1, [component("a", "down", "page: no answer", [failing])])], "")
    (listed,) = ann.get("/v2/environments").json()["items"]
    assert (listed["health"]["state"], listed["health"]["text"]) == ("down", "page: no answer")
    answer = ann.get(f"/v2/environments/{row.id}/health").json()
    (one,) = answer["components"]
    said = {"name": "page", "guessed": False, "state": "down", "text": "no answer"}
    assert one["name"] == "the a" and one["checks"] == [said]
    assert len(answer["changes"]) == 2
    assert eve.get(f"/v2/environments/{row.id}/health").status_code == 404
