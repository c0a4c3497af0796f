"""Deploying, deleting, actions: what is started, what is refused, what an environment is while it runs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.environments.conftest import plant
from vetro.clouds import kinds
from vetro.server import setup
from vetro.server.config import cloud_settings
from vetro.server.environments import deploy as deploying
from vetro.server.environments import exports, history, imports, queries, service, sessions, simulation
from vetro.server.environments.errors import Busy, NotYours
from vetro.server.environments.models import Environment, Session
from vetro.server.errors import Conflict, Forbidden, NotFound
from vetro.server.tasks.models import Report, Task


def test_a_deployment_from_draft_to_state(planting: Any) -> None:
    garden = planting()
    session = garden.open()
    garden.put(session, plant())
    task = deploying.deploy(garden.caller, garden.id, session)
    shown = garden.show()
    assert (shown["status"], shown["acquired_by"], shown["services"]) == ("deploying", session, [])
    assert Session.objects.get(id=session).state == "deploying"
    garden.drain()
    shown = garden.show()
    assert (shown["status"], shown["acquired_by"], shown["version"]) == ("ready", None, 1)
    assert shown["services"][0]["height"] == 1
    assert shown["services"][0]["?"]["type"] == "test.Plant/1.0.0@test.garden"
    assert Session.objects.get(id=session).state == "deployed"
    task.refresh_from_db()
    assert task.state == "done"


def test_it_stays_where_it_was_deployed_first(planting: Any, monkeypatch: Any) -> None:
    """What was only written down does not count as real once an image was built; a clone of it is."""
    garden = planting()

    def works(name: str) -> None:
        monkeypatch.setattr(cloud_settings, "_chosen", {})
        monkeypatch.setattr(kinds, "choose", lambda place: kinds.ChosenKind(kinds.find(name)))

    def kept() -> Any:
        session = garden.open()
        garden.put(session, plant())
        task = deploying.deploy(garden.caller, garden.id, session)
        garden.drain()
        return Environment.objects.get(id=garden.id).cloud, task.spec.get("cloud")

    monkeypatch.setattr(setup, "_current", setup.config().changed({"cloud.kind": "auto"}))
    works("record")
    assert kept() == ({"kind": "record"}, {"kind": "record"})
    works("nspawn")
    assert kept() == ({"kind": "record"}, {"kind": "record"})
    copy = history.clone(garden.caller, garden.id, "copy")["environment_id"]
    assert simulation.of_environments([garden.id, copy]) == {garden.id}


def test_it_stays_simulated_when_the_settings_name_another_cloud(planting: Any, ann: Any, monkeypatch: Any) -> None:
    """It was shown as real, with links to addresses that nobody has, and its servers were started after outages."""
    garden = planting()
    monkeypatch.setattr(setup, "_current", setup.config().changed({"cloud.kind": "record"}))
    session = garden.open()
    garden.put(session, plant())
    deploying.deploy(garden.caller, garden.id, session)
    garden.drain()
    monkeypatch.setattr(setup, "_current", setup.config().changed({"cloud.kind": "nspawn"}))
    assert ann.get(f"/v2/environments/{garden.id}").json()["simulated"] is True
    with exports.export_environment(garden.caller, garden.id) as file:
        archive = file.read()
    deploying.delete(garden.caller, garden.id, abandon=True)
    back = imports.import_environment(garden.caller, archive)
    assert back["environment_id"] == garden.id
    assert ann.get(f"/v2/environments/{garden.id}").json()["simulated"] is True


def test_while_a_task_works_everything_else_is_refused(planting: Any, bob: Any) -> None:
    garden = planting(plant())
    session, other = garden.open(), garden.open()
    deploying.deploy(bob.caller, garden.id, session)  # anybody of the project may deploy it
    for refused in (
        lambda: deploying.deploy(garden.caller, garden.id, session),
        lambda: deploying.deploy(garden.caller, garden.id, other),
        lambda: deploying.delete(garden.caller, garden.id),
        lambda: deploying.call_action(garden.caller, garden.id, "p1_water", {"litres": 1}),
        lambda: sessions.open_session(garden.caller, garden.id),
        lambda: sessions.close(garden.caller, garden.id, session),
        lambda: garden.put(session),
        lambda: garden.put(other),
        lambda: sessions.show(garden.caller, garden.id, other),
    ):
        with pytest.raises(Forbidden):
            refused()
    assert sessions.show(garden.caller, garden.id, session)["state"] == "deploying"
    assert garden.show(session)["services"][0]["?"]["status"] == "deploying"
    service.rename(garden.caller, garden.id, {"name": "renamed"})
    sessions.close(garden.caller, garden.id, other)
    assert Task.objects.filter(environment_id=garden.id, state="queued").count() == 1
    garden.drain()
    assert garden.show()["status"] == "ready"


def test_a_class_that_nobody_has_fails_at_once_and_can_be_mended(planting: Any) -> None:
    garden = planting()
    session = garden.open()
    garden.put(session, {"?": {"type": "test.Nope", "id": "x"}})
    task = deploying.deploy(garden.caller, garden.id, session)
    assert task.state == "failed"
    shown = garden.show()
    assert (shown["status"], shown["version"]) == ("deploy failure", 1)
    assert [s["?"]["id"] for s in shown["services"]] == ["x"]
    levels = list(Report.objects.filter(task=task).order_by("seq").values_list("level", flat=True))
    assert levels == ["info", "error", "info"]
    assert "test.Nope" in str(Report.objects.get(task=task, level="error").text)
    session = garden.open()
    garden.put(session, plant())
    assert garden.deploy(session).state == "done"
    assert garden.show()["status"] == "ready"


def test_nothing_happens_when_the_transaction_fails(planting: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    garden = planting()
    session = garden.open()

    def broken(*args: Any, **more: Any) -> None:
        raise RuntimeError("no disk")

    monkeypatch.setattr(deploying, "record", broken)
    with pytest.raises(RuntimeError):
        deploying.deploy(garden.caller, garden.id, session)
    assert Task.objects.count() == 0
    assert Session.objects.get(id=session).state == "opened"
    assert garden.show()["status"] == "pending"


def test_an_environment_that_was_never_deployed_goes_at_once(planting: Any) -> None:
    garden = planting()
    garden.open()
    assert deploying.delete(garden.caller, garden.id) is None
    with pytest.raises(NotFound):
        garden.show()


def test_a_deployed_environment_is_destroyed_by_a_task(planting: Any) -> None:
    garden = planting(plant())
    task = deploying.delete(garden.caller, garden.id)
    shown = garden.show()
    assert task.kind == "destroy"
    assert (shown["status"], shown["acquired_by"], len(shown["services"])) == ("deleting", None, 1)
    with pytest.raises(Busy):
        deploying.delete(garden.caller, garden.id)
    garden.drain()
    with pytest.raises(NotFound):
        garden.show()
    assert Task.objects.get(id=task.id).state == "done"


def test_abandoning_works_in_any_state_and_ends_the_task(planting: Any) -> None:
    garden = planting(plant())
    task = deploying.deploy(garden.caller, garden.id, garden.open())
    deploying.delete(garden.caller, garden.id, abandon=True)
    assert not Environment.objects.filter(id=garden.id).exists()
    assert Task.objects.get(id=task.id).state == "cancelled"


def test_actions_are_deployments_of_their_own(planting: Any) -> None:
    garden = planting(plant())
    session = garden.open()
    task_id = deploying.call_action(garden.caller, garden.id, "p1_water", {"litres": 4})
    assert garden.show()["acquired_by"] == Task.objects.get(id=task_id).session_id != session
    garden.drain()
    task = Task.objects.get(id=task_id)
    assert (task.state, task.result) == ("done", 5)
    assert task.action == {"object_id": "p1", "method": "water", "args": {"litres": 4}}
    assert garden.show()["version"] == 2
    with pytest.raises(Forbidden):
        garden.deploy(session)


def test_a_failed_action_shows_and_the_next_good_one_clears_it(planting: Any) -> None:
    garden = planting(plant())
    deploying.call_action(garden.caller, garden.id, "p1_water", {})
    garden.drain()
    assert garden.show()["status"] == "deploy failure"
    listed = deploying.call_action(garden.caller, garden.id, "p1_water", [1])  # recorded: accepted, then fails
    assert Task.objects.get(id=listed).state == "failed"
    deploying.call_action(garden.caller, garden.id, "p1_water", {"litres": 1})
    garden.drain()
    assert (garden.show()["status"], garden.show()["version"]) == ("ready", 4)


def test_unknown_actions_and_foreign_environments(planting: Any, eve: Any) -> None:
    garden = planting(plant())
    for action in ("nosuch", "p1_deploy2", "x_water"):
        with pytest.raises(NotFound):
            deploying.call_action(garden.caller, garden.id, action, {})
    for refused in (
        lambda: deploying.call_action(eve.caller, garden.id, "p1_water", {}),
        lambda: deploying.delete(eve.caller, garden.id),
        lambda: deploying.delete(eve.caller, garden.id, abandon=True),
        lambda: deploying.deploy(eve.caller, garden.id, garden.open()),
    ):
        with pytest.raises(NotYours):
            refused()


def test_a_failed_task_can_be_done_again_until_something_else_was_done(planting: Any) -> None:
    garden = planting()
    session = garden.open()
    garden.put(session, plant(wilt=True))
    failed = garden.deploy(session)
    assert failed.state == "failed"
    again = deploying.again(garden.caller, failed)
    garden.drain()
    again.refresh_from_db()
    assert (again.kind, again.state, garden.show()["version"]) == ("deploy", "failed", 2)
    with pytest.raises(Conflict):
        deploying.again(garden.caller, failed)


def test_status_follows_the_task_and_cannot_hang(planting: Any) -> None:
    garden = planting()
    task = deploying.deploy(garden.caller, garden.id, garden.open())
    assert queries.get(garden.caller, garden.id).status == "deploying"
    # Whatever became of the task, without it nothing holds the environment.
    Task.objects.filter(id=task.id).delete()
    assert queries.get(garden.caller, garden.id).status != "deploying"
    assert sessions.open_session(garden.caller, garden.id).state == "opened"
