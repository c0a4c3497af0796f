"""Templates."""

from __future__ import annotations

from typing import Any

import pytest

from vetro.server.environments import drafts, templates
from vetro.server.environments.errors import NotYours
from vetro.server.errors import Conflict, Invalid, NotFound

APP = {"?": {"type": "my.App", "id": "a"}, "name": "n"}


def make(person: Any, name: str = "t", **more: Any) -> str:
    return str(templates.create(person.caller, {"name": name, **more})["id"])


def test_others_see_public_templates_and_change_none(ann: Any, eve: Any) -> None:
    private, public = make(ann), make(ann, "p", is_public=True, services=[APP])
    assert [t["name"] for t in templates.list_all(eve.caller)] == ["p"]
    assert [t["name"] for t in templates.list_all(ann.caller, is_public=False)] == ["t"]
    assert templates.show(eve.caller, public)["services"] == [APP]
    with pytest.raises(NotYours):
        templates.show(eve.caller, private)
    for refused in (
        lambda id: templates.update(eve.caller, id, {"name": "hacked"}),
        lambda id: templates.delete(eve.caller, id),
        lambda id: templates.add_services(eve.caller, id, {"?": {"type": "T"}}),
        lambda id: templates.put_services(eve.caller, id, ["a", "name"], "x"),
        lambda id: templates.remove_services(eve.caller, id, ["a"]),
    ):
        for id in (private, public):
            with pytest.raises(NotYours):
                refused(id)
    assert templates.show(ann.caller, public)["name"] == "p"


def test_applications_are_added_replaced_and_removed(ann: Any) -> None:
    id = make(ann)
    templates.add_services(ann.caller, id, [APP, {"?": {"type": "T", "id": "b"}}])
    templates.put_services(ann.caller, id, ["a"], {**APP, "name": "m"})
    templates.put_services(ann.caller, id, ["b", "x"], False)
    assert templates.services(ann.caller, id, ["a", "name"]) == "m"
    assert templates.services(ann.caller, id, ["b", "x"]) is False
    for bad in ({}, [], None, "x", APP, [{"a": 1}]):
        with pytest.raises(Invalid):
            templates.add_services(ann.caller, id, bad)
    for path in (["nosuch"], ["nosuch", "x"]):
        with pytest.raises(NotFound):
            templates.put_services(ann.caller, id, path, APP)
        with pytest.raises(NotFound):
            templates.remove_services(ann.caller, id, path)
    assert [s["?"]["id"] for s in templates.remove_services(ann.caller, id, ["0"])["services"]] == ["b"]
    assert templates.remove_services(ann.caller, id, ["b"])["services"] == []


def test_names_are_there_once_and_values_are_checked(ann: Any) -> None:
    make(ann)
    with pytest.raises(Conflict):
        make(ann)
    other = make(ann, "o", version=5)
    with pytest.raises(Conflict):
        templates.update(ann.caller, other, {"name": "t"})
    with pytest.raises(Conflict):
        templates.clone(ann.caller, other, {"name": "t"})
    for bad in ({"is_public": "yes"}, {"version": -1}, {"version": 1 << 63}, {"version": True}, {"services": {}},
                {"services": [5]}, {"description_text": 5}, {"services": [APP, APP]}):  # fmt: skip
        with pytest.raises(Invalid):
            make(ann, "bad", **bad)
    assert templates.show(ann.caller, other)["version"] == 5


def test_a_clone_is_the_callers_own(ann: Any, eve: Any) -> None:
    public = make(ann, is_public=True, services=[APP], description_text="d")
    made = templates.clone(eve.caller, public, {"name": "mine"})
    assert (made["tenant_id"], made["is_public"], made["services"]) == (eve.caller.project_id, False, [APP])
    templates.delete(eve.caller, made["id"])
    with pytest.raises(NotYours):
        templates.clone(eve.caller, make(ann, "private"), {"name": "x"})


def test_an_environment_comes_with_a_session_that_has_the_applications(ann: Any) -> None:
    id = make(ann, services=[APP])
    made = templates.create_environment(ann.caller, id, {"name": "e", "region": "R"})
    shown = drafts.show(ann.caller, made["environment_id"], made["session_id"])
    assert (shown["status"], [s["?"]["id"] for s in shown["services"]]) == ("pending", ["a"])
    assert drafts.show(ann.caller, made["environment_id"])["services"] == []
    assert drafts.model(ann.caller, made["environment_id"], ["region"], made["session_id"]) == "R"
    with pytest.raises(Conflict):
        templates.create_environment(ann.caller, id, {"name": "e"})
