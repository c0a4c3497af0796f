"""What happens becomes deliveries."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection, transaction

from tests.server.notices.conftest import Notices, later, minutes_until
from vetro.engine.outcome import Outcome
from vetro.engine.watching.states import State
from vetro.server import setup
from vetro.server.environments.models import Environment
from vetro.server.environments.models import State as Model
from vetro.server.notices import outbox, service
from vetro.server.notices.changes import Changes
from vetro.server.notices.models import Delivery
from vetro.server.quotas import limits
from vetro.server.tasks import completion
from vetro.server.tasks.models import Task
from vetro.server.watch import service as watch
from vetro.server.watch.models import HealthChange

pytestmark = [pytest.mark.database, pytest.mark.django_db]

URL = "https://ops.example.com/vetro"


def told() -> list[tuple[str, str]]:
    """Kind and level of what waits, the oldest first."""
    return list(Delivery.objects.order_by("created", "id").values_list("kind", "level"))


@pytest.mark.parametrize(
    ("kind", "state", "wanted"),
    [
        ("deploy", "done", ("deployment.done", "info")),
        ("deploy", "failed", ("deployment.failed", "error")),
        ("deploy", "cancelled", ("deployment.failed", "warning")),
        ("deploy", "needs_person", ("decision.needed", "warning")),
        ("destroy", "failed", ("deletion.failed", "error")),
        ("destroy", "done", ("deletion.done", "info")),
        ("action", "done", ("action.done", "info")),
        ("action", "failed", ("action.failed", "error")),
        ("power", "done", ("power.done", "info")),
        ("repair", "done", ("repair.done", "info")),
        ("repair", "failed", ("repair.failed", "error")),
        ("repair", "cancelled", ("repair.failed", "warning")),
    ],
)
def test_ends_of_tasks(notices: Notices, kind: str, state: str, wanted: tuple[str, str]) -> None:
    notices.webhook(URL)
    task = notices.task(kind, state)
    assert told() == [wanted]
    body = Delivery.objects.get().body
    assert body["environment"] == {"id": notices.environment.id, "name": "shop", "simulated": False}
    assert (body["task"]["id"], body["reason"]) == (task.id, "the box is broken" if state == "failed" else "")


def test_warnings_and_errors_that_were_reported_count(notices: Notices) -> None:
    notices.webhook(URL)
    notices.task(warnings=True)
    notices.task(errors=True)
    assert told() == [("deployment.done", "warning"), ("deployment.failed", "error")]


def test_tasks_that_are_broken_off_are_told_too(notices: Notices) -> None:
    notices.webhook(URL)
    row = notices.environment
    task = Task.objects.create(
        project_id=row.project_id, user_id="u", environment_id=row.id, kind="deploy", state="running", spec={}
    )
    completion.break_off(task.id, Outcome("failed", error={"message": "no"}), lambda: None)
    assert told() == [("deployment.failed", "error")]


def test_what_is_no_work_on_an_environment_is_told_to_nobody(notices: Notices) -> None:
    notices.webhook(URL)
    notices.task("plan")
    notices.task("static")
    assert told() == []


def test_a_row_stays_or_goes_with_what_it_tells(notices: Notices) -> None:
    notices.webhook(URL)
    with pytest.raises(RuntimeError), transaction.atomic():
        notices.task()
        assert len(told()) == 1
        raise RuntimeError
    assert told() == []


def test_rules_choose_by_environment_kind_and_level(notices: Notices, ann: Any) -> None:
    other = Environment.objects.create(project_id=ann.caller.project_id, name="other", version=1)
    made, _ = service.add_target(ann.caller, "a", "webhook", {"url": URL})
    service.add_rule(ann.caller, made["id"], other.id)
    service.add_rule(ann.caller, made["id"], kinds=["deployment.failed"])
    service.add_rule(ann.caller, made["id"], least="error")
    notices.task()
    notices.task("action")
    assert told() == []
    notices.task(state="cancelled")
    notices.task("action", "failed")
    assert told() == [("deployment.failed", "warning"), ("action.failed", "error")]
    notices.task(environment=other)
    assert told()[2:] == [("deployment.done", "info")]


def test_several_rules_make_one_notice_and_two_targets_two(notices: Notices, ann: Any) -> None:
    first = notices.webhook(URL)
    service.add_rule(ann.caller, first, least="warning")
    notices.webhook(URL, "second")
    notices.task(state="failed")
    assert len(told()) == 2 and Delivery.objects.filter(target_id=first).count() == 1


def test_targets_of_others_and_those_that_are_switched_off_are_told_nothing(
    notices: Notices, ann: Any, eve: Any
) -> None:
    theirs = Notices(eve.caller)
    theirs.webhook(URL)
    mine = notices.webhook(URL)
    service.change_target(ann.caller, mine, {"enabled": False})
    notices.task()
    assert told() == []


# -- health ------------------------------------------------------------------------------------------------------------


def report(notices: Notices, *components: tuple[str, str]) -> None:
    """The watcher tells of these components."""
    row = notices.environment
    items = [{"id": id, "state": state, "text": f"{id} is {state}", "checks": []} for id, state in components]
    watch.record([(row.id, row.version, items)], "mark")
    Changes().tell()


def test_a_change_of_health_is_told_with_the_name_of_the_component(notices: Notices) -> None:
    notices.webhook(URL, least="warning")
    header = {"id": "a", "type": "test.App/1.0.0@test.app", "name": "the app"}
    root = {"?": {"id": "env", "type": "io.murano.Environment"}, "applications": [{"?": header}]}
    Model.objects.create(environment=notices.environment, number=1, model={"Objects": root})
    report(notices, ("a", "running"))
    assert told() == [] and HealthChange.objects.exists()
    report(notices, ("a", "down"))
    row = Delivery.objects.get()
    assert (row.kind, row.level, row.component) == ("health.changed", "error", "a")
    assert row.body["component"] == {"id": "a", "name": "the app"}
    assert (row.body["before"], row.body["state"], row.body["reason"]) == ("running", "down", "a is down")


def test_flapping_is_one_notice_in_five_minutes_and_the_last_state_is_told(notices: Notices) -> None:
    notices.webhook(URL)
    for state in ("running", "down", "running", "down", "running", "degraded"):
        report(notices, ("a", state))
    first, second = Delivery.objects.order_by("begins")
    assert (first.body["state"], first.folded) == ("running", 0)
    assert (second.body["state"], second.folded, second.level) == ("degraded", 4, "error")
    assert 4.9 < minutes_until(second) <= 5
    later(minutes=3)
    report(notices, ("a", "down"))
    assert Delivery.objects.count() == 2
    later(minutes=3)
    report(notices, ("a", "running"))
    third = Delivery.objects.order_by("begins").last()
    assert third is not None and third.body["state"] == "running" and 3 < minutes_until(third) < 5


def test_what_is_being_sent_is_changed_by_nobody(notices: Notices) -> None:
    notices.webhook(URL)
    report(notices, ("a", "down"))
    report(notices, ("a", "running"))
    waiting = Delivery.objects.order_by("begins").last()
    assert waiting is not None
    Delivery.objects.filter(id=waiting.id).update(owner="somebody", attempts=1)
    report(notices, ("a", "down"))
    waiting.refresh_from_db()
    assert waiting.body["state"] == "running" and Delivery.objects.count() == 3


def test_two_components_are_two_notices_many_are_one(notices: Notices) -> None:
    notices.webhook(URL)
    report(notices, ("a", "down"), ("b", "down"))
    assert Delivery.objects.count() == 2
    report(notices, *((f"c{n}", "down" if n == 3 else "degraded") for n in range(outbox.MANY + 1)))
    row = Delivery.objects.get(component="")
    assert (row.body["components"], row.body["state"], row.level) == (outbox.MANY + 1, "down", "error")


@pytest.mark.attack("quotas", "notices")
def test_very_many_of_a_project_are_told_by_environment(
    notices: Notices, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any
) -> None:
    """A project with many targets whose components all changed kept the watcher of all busy for minutes."""
    monkeypatch.setattr(outbox, "CROWD", 20)
    for number in range(3):
        notices.webhook(URL, f"target {number}")
    rows = [Environment.objects.create(project_id=notices.caller.project_id, name=f"e{n}", version=1) for n in range(3)]

    def say(state: str, *components: str) -> None:
        items = [{"id": id, "state": state, "text": ""} for id in components]
        watch.record([(row.id, 1, items) for row in rows], "mark")
        Changes().tell()

    say("down", "a", "b")
    assert Delivery.objects.count() == 18 and not Delivery.objects.filter(component="").exists()
    Delivery.objects.all().delete()
    with django_assert_max_num_queries(75):
        say("running", "a", "b", "c")
    assert [row.body["components"] for row in Delivery.objects.all()] == [3] * 9
    Delivery.objects.all().delete()
    say("down", "d")
    assert {row.body["component"]["id"] for row in Delivery.objects.all()} == {"d"}


def test_who_was_told_that_it_is_down_is_told_that_it_runs(notices: Notices) -> None:
    """Whatever the rule says; and nobody else."""
    notices.webhook(URL, least="error")
    report(notices, ("a", "degraded"))
    report(notices, ("a", "running"))
    assert told() == []
    report(notices, ("a", "down"))
    later(minutes=6)
    report(notices, ("a", "running"))
    assert [row.body["state"] for row in Delivery.objects.order_by("begins")] == ["down", "running"]
    later(minutes=6)
    report(notices, ("a", "degraded"))
    report(notices, ("a", "running"))
    assert Delivery.objects.count() == 2


def test_many_that_were_down_are_told_to_run_one_by_one_too(notices: Notices) -> None:
    notices.webhook(URL, least="error")
    report(notices, *((f"c{n}", "down") for n in range(outbox.MANY + 1)))
    later(minutes=6)
    report(notices, ("c1", "running"))
    assert Delivery.objects.get(component="c1").body["state"] == "running"


def test_nobody_knows_is_told(notices: Notices) -> None:
    notices.webhook(URL, least="warning")
    report(notices, ("a", "running"))
    watch.nobody_knows(notices.environment.id, "mark", "it cannot be read")
    Changes().tell()
    assert [row.body["state"] for row in Delivery.objects.all()] == [State.UNKNOWN]


@pytest.mark.attack("database", "notices")
def test_a_model_that_no_key_opens_keeps_nobody_from_being_told(notices: Notices) -> None:
    """The names of components were not to be had, and the watcher ended: nobody's environments were watched."""
    notices.webhook(URL, least="warning")
    report(notices, ("a", "running"))
    row = notices.environment
    Model.objects.create(environment=row, number=1, model={"Objects": None})
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {Model._meta.db_table} SET model = %s", [b"rubbish"])
    watch.nobody_knows(row.id, "mark", "it cannot be read")
    Changes().tell()
    assert [one.body["component"] for one in Delivery.objects.all()] == [{"id": "a", "name": "a"}]


def test_a_clock_that_is_set_back_delays_what_is_folded_by_no_more_than_that(
    notices: Notices, monkeypatch: pytest.MonkeyPatch
) -> None:
    notices.webhook(URL)
    report(notices, ("a", "running"))
    Delivery.objects.update(state=Delivery.DELIVERED)
    later(days=-1)
    report(notices, ("a", "down"))
    assert minutes_until(Delivery.objects.get(state=Delivery.WAITING)) <= outbox.FOLD / 60


# -- bounds ------------------------------------------------------------------------------------------------------------


@pytest.mark.attack("quotas", "notices")
def test_a_project_has_so_many_notices_a_day_and_one_row_says_what_it_missed(
    notices: Notices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup, "_current", setup.config().changed({"quotas.notices": 2}))
    limits.forget()
    notices.webhook(URL)
    for _ in range(5):
        notices.task()
    rows = list(Delivery.objects.order_by("created", "id").values_list("state", "folded"))
    assert sorted(rows) == [("dropped", 2), ("waiting", 0), ("waiting", 0)]
    later(days=1, minutes=1)
    notices.task()
    assert Delivery.objects.filter(state="waiting").count() == 3


def test_what_nobody_wants_to_know_costs_one_statement(notices: Notices, django_assert_num_queries: Any) -> None:
    task = Task(project_id=notices.environment.project_id, environment_id=notices.environment.id, kind="deploy")
    with django_assert_num_queries(1):
        outbox.task_changed(task)
