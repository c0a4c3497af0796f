"""Updates with a way back through the API: kept, taken back by themselves, by people, and by their time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.server.procedures.conftest import Market
from vetro.engine.watching.states import State
from vetro.server.environments import substitution
from vetro.server.environments.models import Environment, EnvironmentPackage, Session
from vetro.server.environments.models import State as StateRow
from vetro.server.procedures.models import Procedure
from vetro.server.secrets.encryption import dumps
from vetro.server.tasks.models import Event, Task


def test_an_update_that_goes_well_is_kept(market: Market) -> None:
    procedure = market.guarded(market.draft(title="large"))
    assert market.environment()["status"] == "deploying"
    found = market.run(procedure)
    assert (found["step"], found["final"], found["reason"]) == ("kept", True, "")
    assert [task["kind"] for task in found["tasks"]] == ["snapshot", "deploy", "drop"]
    assert {task["state"] for task in found["tasks"]} == {"done"}
    assert found["states"] == {"before": 1, "update": 2, "undo": None}
    shown = market.environment()
    assert (shown["status"], shown["version"], shown["procedure_id"]) == ("ready", 2, None)
    steps = [event.data["change"] for event in Event.objects.filter(kind="procedure").order_by("seq")]
    assert steps == ["snapshotting", "deploying", "settling", "keeping", "kept"]


def test_an_update_that_fails_is_taken_back(market: Market) -> None:
    before = StateRow.objects.get(environment_id=market.id, number=1)
    packages = list(EnvironmentPackage.objects.filter(environment_id=market.id).values_list("fqn", "digest"))
    found = market.run(market.guarded(market.draft(title="large", fail=True)))
    assert found["step"] == "restored" and "failed" in found["reason"]
    assert [task["kind"] for task in found["tasks"]] == ["snapshot", "deploy", "restore", "drop"]
    assert found["states"] == {"before": 1, "update": 2, "undo": 3}
    after = StateRow.objects.get(environment_id=market.id, number=3)
    assert (after.model, after.lock_id, after.answers) == (before.model, before.lock_id, before.answers)
    assert list(EnvironmentPackage.objects.filter(environment_id=market.id).values_list("fqn", "digest")) == packages
    newest = market.states()[0]
    assert (newest["kind"], newest["undone_of"], newest["state"]) == ("undo", 2, "done")
    assert market.environment()["status"] == "ready"
    # No package code ran on the way back, and the next deployment goes on from there.
    assert market.deploy(market.draft(title="small")).status_code == 202
    market.drain()
    assert market.environment()["version"] == 4


def test_an_update_whose_components_are_worse_is_taken_back(market: Market) -> None:
    session = market.draft(title="large")
    market.health = {"shop-1": State.DOWN}
    found = market.run(market.guarded(session))
    assert (found["step"], found["reason"]) == ("recovering", "application 'Shop' is down")
    market.health = {"shop-1": State.RUNNING}
    woken(found["id"])
    assert market.run(found["id"])["step"] == "restored"


def test_others_are_refused_meanwhile_and_told_by_whom(market: Market) -> None:
    stale, session = market.draft(title="other"), market.draft(title="large")
    procedure = market.guarded(session)
    here = f"/v2/environments/{market.id}"
    refused = [
        market.deploy(stale),
        market.person.post(f"{here}/sessions"),
        market.person.post(f"{here}/repair"),
        market.person.delete(here),
        market.person.post(f"{here}/actions/shop-1_greet", {"args": {"name": "x"}}),
        market.person.post(f"{here}/start", {}),
        market.deploy(stale, guard=True),
    ]
    for answer in refused:
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (403, "SRV439"), error
        assert procedure in error["message"] and error["details"] == {"procedure_id": procedure}
    assert market.run(procedure)["step"] == "kept"


def test_it_can_be_taken_back_while_it_is_held(market: Market) -> None:
    found = market.run(market.guarded(market.draft(title="large"), hold=3600))
    assert found["step"] == "holding" and found["undoable"]
    here = f"/v2/environments/{market.id}"
    told = market.person.get(f"{here}/undo").json()
    assert (told["older"], told["newer"], [state["number"] for state in told["states"]]) == (1, 2, [2])
    assert market.person.post(f"{here}/undo").status_code == 202
    done = market.run(found["id"])
    assert done["step"] == "restored" and done["states"]["undo"] == 3
    assert market.person.post(f"{here}/undo").json()["error"]["code"] == "SRV616"


@pytest.mark.campaign
def test_an_undo_is_done_when_what_came_back_serves_again(market: Market) -> None:
    """Its servers run when they are started; its applications may need longer."""
    market.health = {"shop-1": State.RUNNING}
    found = market.run(market.guarded(market.draft(title="large"), hold=3600))
    market.health = {"shop-1": State.DEGRADED}
    here = f"/v2/environments/{market.id}"
    assert market.person.post(f"{here}/undo").status_code == 202
    waiting = market.run(found["id"])
    assert (waiting["step"], waiting["final"]) == ("recovering", False) and not waiting["undoable"]
    assert market.person.post(f"{here}/sessions").json()["error"]["code"] == "SRV439"
    market.health = {"shop-1": State.RUNNING}
    woken(found["id"])
    done = market.run(found["id"])
    assert (done["step"], done["unwell"]) == ("restored", {})
    assert market.environment()["status"] == "ready"


@pytest.mark.campaign
def test_what_does_not_serve_again_after_an_undo_is_named(market: Market) -> None:
    market.health = {"shop-1": State.RUNNING}
    found = market.run(market.guarded(market.draft(title="large"), hold=3600))
    market.health = {"shop-1": State.DOWN}
    assert market.person.post(f"/v2/environments/{market.id}/undo").status_code == 202
    assert market.run(found["id"])["step"] == "recovering"
    woken(found["id"], over=True)
    done = market.run(found["id"])
    assert (done["step"], done["unwell"]) == ("restored", {"Shop": "down"})


def woken(procedure: str, over: bool = False) -> None:
    """The moment has come in which a procedure looks again, or in which its step is over."""
    row = Procedure.objects.get(id=procedure)
    if over:
        row.record = {**row.record, "until": row.record["until"] - 3600, "since": row.record["since"] - 3600}
    row.wake_at -= timedelta(hours=1)
    row.save()


def test_undo_that_is_sent_twice_does_it_once(market: Market) -> None:
    found = market.run(market.guarded(market.draft(title="large"), hold=3600))
    here = f"/v2/environments/{market.id}"
    assert market.person.post(f"{here}/undo").status_code == 202
    again = market.person.post(f"{here}/undo")
    assert again.status_code == 409 and "restoring already" in again.json()["error"]["message"]
    assert market.person.post(f"{here}/keep").status_code == 409
    done = market.run(found["id"])
    assert done["step"] == "restored" and [task["kind"] for task in done["tasks"]].count("restore") == 1
    assert market.environment()["version"] == 3


def test_what_came_after_an_update_goes_with_it(market: Market) -> None:
    found = market.run(market.guarded(market.draft(title="large"), hold=3600))
    market.deploy(market.draft(title="larger"))
    market.drain()
    here = f"/v2/environments/{market.id}"
    assert [state["number"] for state in market.person.get(f"{here}/undo").json()["states"]] == [3, 2]
    market.person.post(f"{here}/undo")
    assert market.run(found["id"])["step"] == "restored"
    newest = StateRow.objects.get(environment_id=market.id, number=4)
    assert newest.undone_of == 2
    assert newest.model == StateRow.objects.get(environment_id=market.id, number=1).model


def test_what_is_held_is_let_go_when_its_time_is_over(market: Market) -> None:
    procedure = market.guarded(market.draft(title="large"), hold=60)
    assert market.run(procedure)["step"] == "holding"
    row = Procedure.objects.get(id=procedure)
    row.record = {**row.record, "until": row.record["until"] - 3600, "since": row.record["since"] - 3600}
    row.wake_at -= timedelta(hours=1)
    row.save()
    assert market.run(procedure)["step"] == "kept"


@pytest.mark.campaign
def test_it_can_be_kept_at_once(market: Market) -> None:
    found = market.run(market.guarded(market.draft(title="large"), hold=3600))
    again = market.deploy(market.draft(title="larger"), guard=True)
    assert again.json()["error"]["code"] == "SRV615"
    assert market.person.post(f"/v2/environments/{market.id}/keep").status_code == 202
    assert market.run(found["id"])["step"] == "kept"


def test_undo_ends_a_deployment_that_waits(market: Market) -> None:
    procedure = market.guarded(market.draft(title="large"))
    assert market.person.post(f"/v2/environments/{market.id}/undo").status_code == 202  # nothing was begun yet
    found = market.run(procedure)
    assert found["step"] == "restored" and "wanted" in found["reason"]
    assert market.environment()["version"] == 1


@pytest.mark.campaign  # test_who_abandons_lets_go_of_what_is_held
def test_who_destroys_lets_go_of_what_is_held(market: Market) -> None:
    found = market.run(market.guarded(market.draft(title="large"), hold=3600))
    assert market.person.delete(f"/v2/environments/{market.id}").json()["kind"] == "destroy"
    market.run(found["id"])
    assert not Environment.objects.filter(id=market.id).exists()
    row = Procedure.objects.get(id=found["id"])
    assert row.finished is not None and row.step == "kept"
    kinds = list(Task.objects.filter(environment_id=market.id).order_by("created").values_list("kind", flat=True))
    assert kinds[-2:] == ["snapshot", "destroy"]


@pytest.mark.parametrize("begun", [False, True])
def test_who_abandons_lets_go_of_what_is_held(market: Market, begun: bool) -> None:
    procedure = market.guarded(market.draft(title="large"), hold=3600)
    if begun:
        market.run(procedure)
    assert market.person.delete(f"/v2/environments/{market.id}?abandon=true").status_code in (200, 204)
    market.run(procedure)
    row = Procedure.objects.get(id=procedure)
    assert row.finished is not None
    assert not Task.objects.exclude(state__in=Task.FINAL).exists()


def test_others_see_nothing_of_it(market: Market, eve: Any, people: Any) -> None:
    procedure = market.guarded(market.draft(title="large"), hold=3600)
    market.run(procedure)
    assert eve.get(f"/v2/procedures/{procedure}").status_code == 404
    for method, what in (("get", "undo"), ("post", "undo"), ("post", "keep"), ("get", "procedures")):
        assert getattr(eve, method)(f"/v2/environments/{market.id}/{what}").status_code == 404
    reader = people("rita", "demo", "reader")
    assert reader.get(f"/v2/procedures/{procedure}").status_code == 200
    assert reader.post(f"/v2/environments/{market.id}/undo").status_code == 403


@pytest.mark.parametrize(
    "wrong", [{"settle": -1}, {"settle": 1e9}, {"hold": 1e12}, {"unknown": 1}, {"guard": "perhaps"}]
)
def test_nonsense_is_refused(market: Market, wrong: dict[str, Any]) -> None:
    assert market.deploy(market.draft(), **{"guard": True, **wrong}).status_code == 400
    assert not Procedure.objects.exists()


def test_an_author_s_wish_is_seen_where_another_request_migrated_the_draft(
    market: Market, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = market.draft(title="large")

    def substituted(_caller: object, _found: object, row: Session | None) -> substitution.Substituted:
        assert row is not None
        kept = {"report": {"guard": True, "target": {}}, "base": {}, "attributes": {}}
        Session.objects.filter(id=row.id).update(upgrade=dumps(kept), revision=row.revision + 1)
        return substitution.Substituted((row.draft or {})["Objects"], kept)

    monkeypatch.setattr(substitution, "substituted", substituted)
    answer = market.deploy(session, guard=False)
    assert answer.status_code == 409 and "only with a way back" in answer.content.decode(), answer.content
    assert market.environment()["version"] == 1
