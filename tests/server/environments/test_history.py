"""States, pending changes, restoring, discarding, cloning."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.environments.conftest import plant
from vetro.server.environments import drafts, history
from vetro.server.environments.errors import NotYours
from vetro.server.errors import Conflict, Invalid, NotFound


def told(differences: Any) -> dict[str, Any]:
    return {d.id: (d.what, sorted(p.name for p in d.properties)) for d in differences}


def test_states_tell_which_task_left_them(planting: Any) -> None:
    garden = planting(plant())
    listed = history.states(garden.caller, garden.id)
    assert [(s["number"], s["kind"], s["state"]) for s in listed] == [(1, "deploy", "done"), (0, None, None)]
    assert [s["number"] for s in history.states(garden.caller, garden.id, before=1)] == [0]
    assert [s["number"] for s in history.states(garden.caller, garden.id, limit=1)] == [1]
    assert history.state(garden.caller, garden.id, 1)["services"][0]["?"]["id"] == "p1"
    for number in (7, -1, 1 << 70):
        with pytest.raises(NotFound):
            history.state(garden.caller, garden.id, number)


def test_two_states_compared(planting: Any) -> None:
    garden = planting(plant())
    session = garden.open()
    garden.put(session, garden.plant("p1") | {"password": "canary-1"}, plant("p2"))
    garden.deploy(session)
    found = history.compare(garden.caller, garden.id, 1, 2)
    changes = told(found)
    assert changes["p2"][0] == "created"
    assert changes["p1"] == ("changed", ["height", "password"])
    assert "canary" not in repr(found)


def test_pending_changes_and_taking_them_back(planting: Any) -> None:
    garden = planting(plant(), plant("p2", pot={"?": {"type": "test.Pot", "id": "pot"}}))
    session = garden.open()
    assert history.pending(garden.caller, garden.id, session) == []
    drafts.remove_services(garden.caller, garden.id, session, ["p2"])
    garden.set(session, "p1/password", "x")
    drafts.add_services(garden.caller, garden.id, session, plant("p3"))
    changes = told(history.pending(garden.caller, garden.id, session))
    assert {k: v[0] for k, v in changes.items() if k != garden.id} == {
        "p1": "changed", "p2": "destroyed", "pot": "destroyed", "p3": "created",
    }  # fmt: skip
    for id in ("p2", "p3", "p1"):
        history.discard(garden.caller, garden.id, session, id)
    assert history.pending(garden.caller, garden.id, session) == []
    with pytest.raises(NotFound):
        history.discard(garden.caller, garden.id, session, "nosuch")


def test_what_an_owner_took_along_comes_back_with_its_owner(planting: Any) -> None:
    garden = planting(plant(pot={"?": {"type": "test.Pot", "id": "pot"}}))
    session = garden.open()
    garden.set(session, "p1/pot", None)
    history.discard(garden.caller, garden.id, session, "pot")
    assert history.pending(garden.caller, garden.id, session) == []
    drafts.remove_services(garden.caller, garden.id, session, ["p1"])
    with pytest.raises(Invalid, match="owned the object"):
        history.discard(garden.caller, garden.id, session, "pot")
    history.discard(garden.caller, garden.id, session, garden.id)
    assert history.pending(garden.caller, garden.id, session) == []


def test_everything_is_taken_back_at_once(planting: Any) -> None:
    garden = planting(plant())
    session = garden.open()
    garden.put(session)
    history.discard(garden.caller, garden.id, session)
    assert history.pending(garden.caller, garden.id, session) == []
    assert garden.show(session)["services"][0]["?"]["id"] == "p1"


def test_an_earlier_state_is_restored_as_a_draft_and_can_be_deployed(planting: Any) -> None:
    garden = planting(plant(password="old"), plant("p2"))
    session = garden.open()
    garden.put(session, garden.plant("p1") | {"password": "new"})
    garden.deploy(session)
    restored = history.restore(garden.caller, garden.id, 1)
    changes = told(history.pending(garden.caller, garden.id, restored.id))
    assert changes["p1"] == ("changed", ["password"])  # what the deployment wrote (height) is as it is now
    assert changes["p2"][0] == "created" and "height" not in changes["p2"][1]
    assert garden.deploy(restored.id).state == "done"
    assert (garden.plant("p1")["password"], garden.plant("p1")["height"], garden.plant("p2")["height"]) == ("old", 3, 1)


def test_a_clone_has_new_ids_and_nothing_that_was_deployed(planting: Any) -> None:
    garden = planting(plant(pot={"?": {"type": "test.Pot", "id": "pot"}}, species="rose", name="Rosa"))
    made = history.clone(garden.caller, garden.id, "copy")
    shown = drafts.show(garden.caller, made["environment_id"], made["session_id"])
    (copy,) = shown["services"]
    assert (copy["species"], copy["name"], "height" in copy) == ("rose", "Rosa", False)
    assert copy["?"]["id"] != "p1" and copy["pot"]["?"]["id"] != "pot" and "_actions" not in copy["?"]
    assert drafts.model(garden.caller, made["environment_id"], ["name"], made["session_id"]) == "copy"
    other = type(garden)(garden.caller, made["environment_id"], garden.drain)
    assert other.deploy(made["session_id"]).state == "done"
    assert other.show()["services"][0]["height"] == 1
    with pytest.raises(Conflict):
        history.clone(garden.caller, garden.id, "copy")


def test_history_is_for_the_own_project(planting: Any, eve: Any) -> None:
    garden = planting(plant())
    for refused in (
        lambda: history.states(eve.caller, garden.id),
        lambda: history.state(eve.caller, garden.id, 1),
        lambda: history.compare(eve.caller, garden.id, 0, 1),
        lambda: history.pending(eve.caller, garden.id, "x"),
        lambda: history.restore(eve.caller, garden.id, 1),
        lambda: history.discard(eve.caller, garden.id, "x"),
        lambda: history.clone(eve.caller, garden.id, "stolen"),
    ):
        with pytest.raises(NotYours):
            refused()
