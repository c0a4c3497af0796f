"""What the end of a task leaves."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.environments.conftest import archive, plant
from vetro.engine.outcome import Outcome
from vetro.server.environments import deploy as deploying
from vetro.server.environments import outcomes, queries, search
from vetro.server.environments.models import Environment, EnvironmentPackage, Session, State
from vetro.server.setup import config
from vetro.server.tasks.models import Task


def newest(garden: Any) -> State:
    return State.objects.filter(environment_id=garden.id).order_by("-number")[0]


def test_each_end_leaves_a_state_with_the_number_of_the_version(planting: Any) -> None:
    garden = planting(plant())
    garden.deploy(garden.open())
    assert list(State.objects.filter(environment_id=garden.id).order_by("number").values_list("number", flat=True)) == [
        0,
        1,
        2,
    ]
    assert Environment.objects.get(id=garden.id).version == 2
    assert "ObjectsCopy" not in newest(garden).model


def test_a_failure_in_the_middle_keeps_what_was_made(planting: Any) -> None:
    garden = planting()
    session = garden.open()
    garden.put(session, plant(), plant("p2", wilt=True))
    assert garden.deploy(session).state == "failed"
    assert garden.show()["status"] == "deploy failure"
    assert Session.objects.get(id=session).state == "deploy failure"
    assert [s["height"] for s in garden.show()["services"]] == [1, 0]


def test_a_failure_before_anything_was_loaded_keeps_wish_and_reality_apart(planting: Any) -> None:
    garden = planting(plant())
    session = garden.open()
    garden.put(session, plant("p2", name=None))  # p1 is to go, p2 breaks its contract
    assert garden.deploy(session).state == "failed"
    model = newest(garden).model
    assert [a["?"]["id"] for a in model["Objects"]["applications"]] == ["p2"]
    assert [a["?"]["id"] for a in model["ObjectsCopy"]["applications"]] == ["p1"]
    session = garden.open()
    garden.put(session, plant("p2"))
    task = garden.deploy(session)
    assert task.state == "done"
    assert [a["?"]["id"] for a in task.spec["model"]["ObjectsCopy"]["applications"]] == ["p1"]


def test_a_reported_error_counts_as_failure_although_the_task_went_on(planting: Any) -> None:
    garden = planting(plant(complain=True))
    shown = garden.show()
    assert (shown["status"], shown["services"][0]["height"]) == ("deploy failure", 1)


def test_the_packages_of_a_deployment_are_kept_for_the_next(planting: Any) -> None:
    from vetro.server.catalog.models import Package
    from vetro.server.catalog.service import import_packages

    garden = planting(plant())
    (kept,) = EnvironmentPackage.objects.filter(environment_id=garden.id)
    assert (kept.fqn, kept.version) == ("test.garden", "1.0.0")
    assert Package.objects.get(fqn="test.garden").deployed
    import_packages(garden.caller, [archive("1.5.0")])
    garden.deploy(garden.open())
    assert garden.plant("p1")["?"]["type"] == "test.Plant/1.0.0@test.garden"


def test_packages_of_a_failed_deployment_are_kept_but_can_still_be_mended(planting: Any, drain: Any) -> None:
    from vetro.server.catalog.models import Package

    garden = planting(plant(complain=True))
    assert EnvironmentPackage.objects.filter(environment_id=garden.id).exists()
    assert not Package.objects.get(fqn="test.garden").deployed
    # An action that goes well does not make up for it.
    deploying.call_action(garden.caller, garden.id, "p1_water", {"litres": 1})
    drain()
    assert garden.show()["status"] == "ready"
    assert not Package.objects.get(fqn="test.garden").deployed


def test_a_failed_action_leaves_what_the_deployments_made_of_the_environment(planting: Any, drain: Any) -> None:
    garden = planting(plant())

    def water(litres: Any) -> tuple[str, str]:
        """The status after the action, for all others and for /v1."""
        task = deploying.call_action(garden.caller, garden.id, "p1_water", {"litres": litres})
        drain()
        row = Session.objects.get(id=Task.objects.get(id=task).session_id)
        assert row.state == ("deployed" if isinstance(litres, int) else "deploy failure")
        found = queries.get(garden.caller, garden.id)
        ((listed,),) = search.whole(garden.caller.project_id)
        assert garden.show()["status"] == listed[-1] == found.v1_status
        (shown,) = search.part(garden.caller.project_id, status=found.status)
        assert shown.status == found.status
        return found.status, found.v1_status

    assert water("much") == ("ready", "deploy failure")
    assert water(1) == ("ready", "ready")
    assert water("much") == ("ready", "deploy failure")
    session = garden.open()
    assert queries.get(garden.caller, garden.id).status == "pending"
    garden.put(session, plant(wilt=True))
    garden.deploy(session)
    assert water("much") == ("deploy failure", "deploy failure")
    session = garden.open()
    garden.put(session, plant())
    garden.deploy(session)
    assert garden.show()["status"] == queries.get(garden.caller, garden.id).status == "ready"


def test_a_failed_deletion_keeps_everything(planting: Any) -> None:
    garden = planting(plant())
    task = deploying.delete(garden.caller, garden.id)
    task.state = "failed"
    task.save()
    outcomes.task_ended(task, Outcome("failed", model={"Objects": None}, error={"message": "x"}))
    shown = garden.show()
    assert (shown["status"], shown["version"]) == ("delete failure", 2)
    assert shown["services"][0]["height"] == 1
    assert Session.objects.get(id=task.session_id).state == "delete failure"


def test_an_end_that_comes_too_late_changes_nothing(planting: Any) -> None:
    garden = planting(plant())
    task = garden.deploy(garden.open())
    garden.deploy(garden.open())
    outcomes.task_ended(task, Outcome("failed", error={"message": "late"}))
    assert (garden.show()["status"], garden.show()["version"]) == ("ready", 3)
    deploying.delete(garden.caller, garden.id, abandon=True)
    outcomes.task_ended(task, Outcome("done", model={}))


def test_old_states_and_sessions_are_dropped(planting: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(config()._values, "retention.states", _Two())
    garden = planting(plant())
    for _ in range(4):
        garden.deploy(garden.open())
    numbers = State.objects.filter(environment_id=garden.id).order_by("number").values_list("number", flat=True)
    assert list(numbers) == [4, 5]
    assert min(Session.objects.filter(environment_id=garden.id).values_list("version", flat=True)) >= 3


class _Two:
    value = 2
