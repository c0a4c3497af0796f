"""Drafts: what they show, what changes them."""

from __future__ import annotations

from typing import Any

import pytest

from vetro.model.header import id_of
from vetro.server.environments import drafts, limits, service, sessions
from vetro.server.environments.errors import DraftChanged
from vetro.server.environments.models import Session
from vetro.server.errors import Invalid, NotFound

APP = {"?": {"type": "my.App", "id": "a"}, "name": "n", "inner": {"?": {"type": "my.Part", "id": "b"}, "x": 1}}


@pytest.fixture
def env(ann: Any) -> str:
    return str(service.create(ann.caller, {"name": "e"})["id"])


@pytest.fixture
def session(ann: Any, env: str) -> str:
    return str(sessions.open_session(ann.caller, env).id)


def test_a_draft_is_stored_once_it_is_changed_and_seen_only_with_its_session(ann: Any, env: str, session: str) -> None:
    assert Session.objects.get(id=session).draft is None
    assert drafts.add_services(ann.caller, env, session, APP) == APP
    assert drafts.services(ann.caller, env, ()) == []
    (shown,) = drafts.services(ann.caller, env, (), session)
    assert shown["?"] == {"type": "my.App", "id": "a", "status": "pending"}
    assert drafts.services(ann.caller, env, ["a", "inner", "x"], session) == 1
    row = Session.objects.get(id=session)
    assert row.draft is not None and row.revision == 1


def test_changes_that_were_taken_back_leave_no_draft(ann: Any, env: str, session: str) -> None:
    drafts.add_services(ann.caller, env, session, APP)
    drafts.remove_services(ann.caller, env, session, ["a"])
    row = Session.objects.get(id=session)
    assert (row.draft, row.revision) == (None, 2)  # who read the one before is told that it is another now
    drafts.put_services(ann.caller, env, session, [], [APP])
    assert Session.objects.get(id=session).draft is not None
    # What its header says is a part of an object, but not what is computed of it.
    assert drafts._same({"?": {"id": "a", "x": 1}}, {"?": {"id": "a", "x": 1, "resourceUsages": {}}})
    assert not drafts._same({"?": {"id": "a", "x": 1}}, {"?": {"id": "a", "x": 2}})
    assert not drafts._same({"a": [1, {"b": 1}]}, {"a": [1, {"b": True}]})
    assert not drafts._same({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2, "c": None}]})
    # An environment without applications has an empty list of them; a property of others that is called so is theirs.
    assert drafts._same({"?": {"id": "e"}}, {"?": {"id": "e"}, "applications": []})
    for one, other in ((None, []), (0, ""), (False, [])):
        pair = [{"?": {"id": "e"}, "applications": [{"?": {"id": "a"}, "applications": x}]} for x in (one, other)]
        assert not drafts._same(*pair)


def test_a_model_is_nowhere_in_clear(ann: Any, env: str, session: str) -> None:
    from django.db import connection

    drafts.add_services(ann.caller, env, session, {**APP, "password": "canary-1234"})
    with connection.cursor() as cursor:
        cursor.execute("SELECT draft FROM environments_session")
        assert b"canary-1234" not in bytes(cursor.fetchone()[0])


def test_changes_are_all_or_nothing(ann: Any, env: str, session: str) -> None:
    drafts.add_services(ann.caller, env, session, APP)
    for bad in ([{"?": {"type": "T"}}, 5], APP, [], None, "text", {"?": {"type": "T", "id": "b"}}):
        with pytest.raises(Invalid):
            drafts.add_services(ann.caller, env, session, bad)
    for path, value in ((["a", "?"], 5), (["a", "?", "type"], ""), (["0"], 5)):
        with pytest.raises(Invalid):
            drafts.put_services(ann.caller, env, session, path, value)
    assert [id_of(s) for s in drafts.services(ann.caller, env, (), session)] == ["a"]
    assert Session.objects.get(id=session).revision == 1


@pytest.mark.parametrize("value", [False, 0, "", None, [], {}])
def test_empty_values_are_values(ann: Any, env: str, session: str, value: Any) -> None:
    drafts.add_services(ann.caller, env, session, APP)
    assert drafts.put_services(ann.caller, env, session, ["a", "name"], value) == value
    assert drafts.services(ann.caller, env, ["a", "name"], session) == value


def test_applications_are_removed_one_or_all(ann: Any, env: str, session: str) -> None:
    drafts.add_services(ann.caller, env, session, [APP, {"?": {"type": "T", "id": "c"}}])
    drafts.remove_services(ann.caller, env, session, ["a"])
    assert len(drafts.services(ann.caller, env, (), session)) == 1
    with pytest.raises(NotFound):
        drafts.remove_services(ann.caller, env, session, ["a"])
    drafts.remove_services(ann.caller, env, session, ())
    assert drafts.services(ann.caller, env, (), session) == []


def test_the_list_must_be_a_list(ann: Any, env: str, session: str) -> None:
    for bad in (False, {}, APP):
        with pytest.raises(Invalid):
            drafts.put_services(ann.caller, env, session, (), bad)


def test_two_editors_of_one_draft_do_not_overwrite_each_other(ann: Any, env: str, session: str) -> None:
    drafts.change(ann.caller, env, session, lambda root: root.update(x=1), revision=0)
    with pytest.raises(DraftChanged) as raised:
        drafts.change(ann.caller, env, session, lambda root: root.update(x=2), revision=0)
    assert raised.value.details == {"revision": 1}
    assert drafts.model(ann.caller, env, ["x"], session) == 1


def test_drafts_have_limits(ann: Any, env: str, session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LARGEST_MODEL", 2000)
    with pytest.raises(Invalid, match="2,000 at most"):
        drafts.add_services(ann.caller, env, session, {**APP, "text": "x" * 2000})
    deep: Any = 1
    for _ in range(300):
        deep = {"x": deep}
    with pytest.raises(Invalid, match="nested deeper"):
        drafts.add_services(ann.caller, env, session, {**APP, "deep": deep})
