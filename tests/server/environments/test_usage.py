"""Statistics of instances."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.server.environments.conftest import plant
from vetro.engine.worker.journal import Note
from vetro.server import setup
from vetro.server.environments import usage
from vetro.server.environments.errors import NotYours
from vetro.server.environments.models import Environment, InstanceUsage
from vetro.server.tasks import reports
from vetro.server.tasks.models import Event, JournalNote, Report, Task

TRACK, UNTRACK = "murano.track_instance", "murano.untrack_instance"


def test_what_a_deployment_tracks_is_counted_once(planting: Any) -> None:
    garden = planting(plant())
    garden.deploy(garden.open())
    (row,) = usage.raw(garden.caller, garden.id)
    assert (row["instance_id"], row["type"], row["type_name"], row["type_title"]) == (
        "p1",
        100,
        "test.Plant",
        "A plant",
    )
    assert (row["active"], row["destroyed"], row["unit_count"]) == (True, None, 2)
    assert usage.raw(garden.caller, garden.id, "nosuch") == usage.raw(garden.caller, garden.id, "\0") == []


def test_sums_by_type(planting: Any) -> None:
    garden = planting()
    begun = datetime.now(UTC) - timedelta(hours=1)
    for number, kind in enumerate((200, 200, 100)):
        InstanceUsage.objects.create(
            environment_id=garden.id, instance_id=str(number), instance_type=kind, created=begun, unit_count=1,
            destroyed=begun + timedelta(seconds=60),
        )  # fmt: skip
    assert usage.aggregated(garden.caller, garden.id) == [
        {"type": 100, "count": 1, "duration": 60},
        {"type": 200, "count": 2, "duration": 120},
    ]


def test_they_are_for_the_own_project(planting: Any, eve: Any) -> None:
    garden = planting()
    with pytest.raises(NotYours):
        usage.raw(eve.caller, garden.id)
    with pytest.raises(NotYours):
        usage.aggregated(eve.caller, garden.id)


@pytest.mark.attack("effects", "another project's ids")
def test_what_a_task_says_counts_for_its_own_environment_only(planting: Any) -> None:
    """Whatever environment, instance and entity its effects name."""
    garden = planting(plant())
    garden.deploy(garden.open())
    before = counted(garden)
    other = Environment.objects.create(project_id="p", name="other").id
    task = Task.objects.create(project_id="p", user_id="u", environment_id=other, kind="deploy", spec={})
    named = {"environment": garden.id, "environment_id": garden.id, "instance": "p1", "id": "p1", "text": "forged"}
    for number, event in enumerate(("murano.untrack_instance", "murano.track_instance")):
        args = {**named, "event": event, "type_name": "x", "instance_type": 10**400, "unit_count": -(10**400)}
        JournalNote.objects.create(task=task, key=str(number), kind="track", args=args, digest="x", at=1.0)
    usage.count(task.environment_id, task)
    told = Report.objects.count(), Event.objects.filter(environment_id=garden.id).count()
    reports.store(task.id, [Note("9", "report", named, "x", 1.0)])
    assert counted(garden) == before
    assert Event.objects.filter(environment_id=garden.id).count() == told[1]
    assert Report.objects.filter(task=task).count() == Report.objects.count() - told[0] == 1


def counted(garden: Any) -> list[dict[str, Any]]:
    """What is counted of an environment, but for how long: that grows all the time."""
    return [{**entry, "duration": None} for entry in usage.raw(garden.caller, garden.id)]


@pytest.mark.attack("database", "M6")
def test_a_flood_of_what_a_task_tracks_takes_few_statements(planting: Any, django_assert_max_num_queries: Any) -> None:
    """It is counted in the transaction that ends the task."""
    garden = planting()
    begun = InstanceUsage(environment_id=garden.id, instance_id="before", instance_type=1, created=datetime.now(UTC))
    begun.save()
    task = Task.objects.create(project_id="p", user_id="u", environment_id=garden.id, kind="deploy", spec={})
    story = [(f"i{n}", event) for n in range(1500) for event in (TRACK, UNTRACK, TRACK)]
    story += [("before", TRACK), ("before", UNTRACK), ("never", UNTRACK), *(("again", TRACK) for _ in range(500))]
    notes = [
        JournalNote(
            task=task,
            key=str(n),
            kind="track",
            args={"event": event, "instance": id, "instance_type": 7},
            digest="x",
            at=float(n),
        )
        for n, (id, event) in enumerate(story)
    ]
    JournalNote.objects.bulk_create(notes)
    with django_assert_max_num_queries(40):
        usage.count(garden.id, task)
    rows = InstanceUsage.objects.filter(environment_id=garden.id).order_by("instance_id", "created", "id")
    found = {}
    for row in rows:
        found.setdefault(row.instance_id, []).append(
            (row.created.timestamp(), row.destroyed and row.destroyed.timestamp())
        )
    assert found["i7"] == [(21.0, 22.0), (23.0, None)]
    assert found["before"] == [(begun.created.timestamp(), 4501.0)]
    assert found["again"] == [(4503.0, None)]
    assert len(found) == 1502 and "never" not in found


@pytest.mark.attack("database", "statistics of many tasks")
def test_many_tasks_leave_as_many_rows_as_are_kept(planting: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is still there stays as long as anything else can go."""
    monkeypatch.setattr(setup, "_current", setup.config().changed({"retention.statistics": 10}))
    garden, other = planting(), planting(name="other")
    at = datetime.now(UTC)
    for id, environment in (("there", garden.id), ("foreign", other.id)):
        InstanceUsage.objects.create(environment_id=environment, instance_id=id, instance_type=1, created=at)

    def track(*story: tuple[str, str]) -> list[str]:
        task = Task.objects.create(project_id="p", user_id="u", environment_id=garden.id, kind="deploy", spec={})
        begun = 1000.0 * Task.objects.count()
        for n, (id, event) in enumerate(story):
            args = {"event": event, "instance": id, "instance_type": 7}
            JournalNote.objects.create(task=task, key=str(n), kind="track", args=args, digest="x", at=begun + n)
        usage.count(garden.id, task)
        rows = InstanceUsage.objects.filter(environment_id=garden.id)
        return sorted(rows.values_list("instance_id", flat=True))

    for n in range(4):
        found = track(*((f"{n}-{m}", event) for m in range(6) for event in (TRACK, UNTRACK)))
    assert len(found) == 10 and "there" in found and {"3-0", "3-5"} <= set(found)
    found = track(*((f"live-{m:02}", TRACK) for m in range(20)))
    assert found == [f"live-{m:02}" for m in range(10, 20)]
    assert InstanceUsage.objects.filter(environment_id=other.id).count() == 1
