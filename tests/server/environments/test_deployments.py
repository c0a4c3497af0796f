"""Deployments and reports as clients see them."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models.signals import post_init

from tests.server.environments.conftest import plant
from vetro.server.environments import deploy, deployments, service
from vetro.server.environments.errors import NotYours
from vetro.server.errors import Invalid, NotFound
from vetro.server.tasks.models import Report, Task


def test_deployments_are_listed_newest_first_with_what_was_deployed(planting: Any) -> None:
    garden = planting(plant())
    deploy.call_action(garden.caller, garden.id, "p1_water", {"litres": 2})
    newest, oldest = deployments.of_environment(garden.caller, garden.id)
    assert (newest["state"], newest["result"], newest["finished"]) == ("running", {}, None)
    assert newest["action"] == {"object_id": "p1", "method": "water", "args": {"litres": 2}}
    assert oldest["description"]["services"] == [plant()]
    assert (oldest["state"], oldest["result"]) == ("success", {"result": None, "isException": False})
    garden.drain()
    assert deployments.of_project(garden.caller)[0]["result"] == {"result": 3, "isException": False}


def test_a_failure_tells_where_it_came_from(planting: Any) -> None:
    garden = planting(plant(wilt=True))
    (failed,) = deployments.of_environment(garden.caller, garden.id)
    assert failed["state"] == "completed_w_errors"
    told = failed["result"]["result"]
    assert failed["result"]["isException"] and told["message"].endswith("no water")
    assert "in method deploy of type test.Plant" in told["details"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"state": "queued"}, "running"),
        ({"state": "running", "warnings": True}, "running_w_warnings"),
        ({"state": "needs_person", "errors": True}, "running_w_errors"),
        ({"state": "done"}, "success"),
        ({"state": "done", "warnings": True}, "completed_w_warnings"),
        ({"state": "done", "errors": True}, "completed_w_errors"),
        ({"state": "cancelled"}, "completed_w_errors"),
        ({"state": "killed"}, "completed_w_errors"),
    ],
)
def test_states(fields: Any, expected: str) -> None:
    assert deployments.state_of(Task(**fields)) == expected


def test_reports_of_a_deployment_and_of_one_application(planting: Any) -> None:
    garden = planting(plant(pot={"?": {"type": "test.Pot", "id": "pot"}}), plant("p2"))
    (one,) = deployments.of_environment(garden.caller, garden.id)
    told = deployments.reports(garden.caller, garden.id, one["id"])
    assert (told[0]["text"], told[-1]["text"]) == ("Action deploy is scheduled", "Deployment finished")
    assert told[0]["entity_id"] is None
    own = deployments.reports(garden.caller, garden.id, one["id"], "p1")
    assert {r["entity_id"] for r in own} == {"p1", "pot"}
    assert deployments.reports(garden.caller, garden.id, one["id"], "nosuch") == []


def test_reports_are_for_the_own_project(planting: Any, eve: Any) -> None:
    garden = planting(plant())
    (one,) = deployments.of_environment(garden.caller, garden.id)
    theirs = service.create(eve.caller, {"name": "e"})["id"]
    with pytest.raises(NotYours):
        deployments.reports(eve.caller, garden.id, one["id"])
    with pytest.raises(NotFound):
        deployments.reports(eve.caller, theirs, one["id"])
    other = service.create(garden.caller, {"name": "other"})["id"]
    with pytest.raises(Invalid):
        deployments.reports(garden.caller, other, one["id"])
    for bad in ("nosuch", "\0"):
        with pytest.raises(NotFound):
            deployments.reports(garden.caller, garden.id, bad)
    assert deployments.of_project(eve.caller) == []


def test_the_last_report_of_each_application(planting: Any) -> None:
    garden = planting(plant(pot={"?": {"type": "test.Pot", "id": "pot"}}))
    session = garden.open()
    garden.put(session, garden.plant("p1"), plant("p2"))
    told = deployments.last_statuses(garden.caller, garden.id, session)
    assert told["p2"] is None and told["p1"] is not None and told["p1"]["text"] == "filled"
    assert list(deployments.last_statuses(garden.caller, garden.id)) == ["p1"]


def test_an_application_that_told_much_costs_its_last_report(planting: Any) -> None:
    garden = planting(plant())
    session = garden.open()
    garden.put(session, garden.plant("p1"), plant("p2"))
    first = Report.objects.filter(entity_id="p1").order_by("seq").last()
    assert first is not None
    Report.objects.bulk_create(
        Report(task_id=first.task_id, key=f"more/{n}", entity_id="p1", text=f"told {n}", created=first.created)
        for n in range(150)
    )
    read: list[Any] = []

    def note(instance: Report, **_: Any) -> None:
        read.append(instance)

    post_init.connect(note, sender=Report)
    try:
        told = deployments.last_statuses(garden.caller, garden.id, session)
    finally:
        post_init.disconnect(note, sender=Report)
    assert told["p2"] is None and told["p1"] is not None and told["p1"]["text"] == "told 149"
    assert len(read) == 1


def test_deployments_of_removed_environments_are_gone(planting: Any) -> None:
    garden = planting(plant())
    deploy.delete(garden.caller, garden.id, abandon=True)
    assert deployments.of_project(garden.caller) == []
