"""Sessions: who may use which, and when."""

from __future__ import annotations

from typing import Any

import pytest

from vetro.server.environments import drafts, service, sessions
from vetro.server.environments.errors import NotYours
from vetro.server.environments.models import Session
from vetro.server.errors import Forbidden, Invalid, NotFound, NotSignedIn


def environment(person: Any, name: str = "e") -> str:
    return str(service.create(person.caller, {"name": name})["id"])


def test_an_open_session_makes_the_environment_pending_until_it_is_closed(ann: Any) -> None:
    env = environment(ann)
    session = sessions.open_session(ann.caller, env)
    assert drafts.show(ann.caller, env)["status"] == "pending"
    assert sessions.show(ann.caller, env, session.id)["state"] == "opened"
    sessions.close(ann.caller, env, session.id)
    assert drafts.show(ann.caller, env)["status"] == "ready"
    with pytest.raises(NotFound):
        sessions.close(ann.caller, env, session.id)


def test_sessions_are_personal(ann: Any, bob: Any, root: Any, eve: Any) -> None:
    env = environment(ann)
    session = sessions.open_session(ann.caller, env)
    for person in (bob, root):
        with pytest.raises(NotSignedIn):
            sessions.show(person.caller, env, session.id)
        with pytest.raises(NotSignedIn):
            sessions.close(person.caller, env, session.id)
        with pytest.raises(Forbidden):
            drafts.remove_services(person.caller, env, session.id, ())
        with pytest.raises(Forbidden):
            drafts.show(person.caller, env, session.id)
    with pytest.raises(NotYours):
        sessions.show(eve.caller, env, session.id)
    with pytest.raises(NotYours):
        sessions.open_session(eve.caller, env)
    assert Session.objects.filter(id=session.id).exists()


def test_a_session_belongs_to_one_environment(ann: Any, eve: Any) -> None:
    env, other = environment(ann), environment(ann, "f")
    session = sessions.open_session(ann.caller, env).id
    with pytest.raises(Invalid, match="not tied"):
        sessions.show(ann.caller, other, session)
    with pytest.raises(Invalid, match="not tied"):
        drafts.add_services(ann.caller, other, session, {"?": {"type": "T"}})
    with pytest.raises(NotFound):
        drafts.show(ann.caller, other, session)
    # Somebody else's session is not told from one that is not there by way of an own environment.
    with pytest.raises(NotYours):
        sessions.show(eve.caller, environment(eve), session)


@pytest.mark.parametrize("bad", ["nosuch", "x" * 100, "\0"])
def test_unknown_ids_are_not_found(ann: Any, bad: str) -> None:
    env = environment(ann)
    with pytest.raises(NotFound):
        sessions.show(ann.caller, env, bad)
    with pytest.raises(NotFound):
        sessions.open_session(ann.caller, bad)
    with pytest.raises(NotFound):
        drafts.show(ann.caller, env, bad)


def test_a_write_needs_a_session(ann: Any) -> None:
    with pytest.raises(Invalid, match="X-Configuration-Session"):
        drafts.add_services(ann.caller, environment(ann), "", {"?": {"type": "T"}})


def test_a_session_is_stale_when_the_environment_has_changed(planting: Any) -> None:
    garden = planting()
    one, other = garden.open(), garden.open()
    garden.deploy(one)
    for session in (one, other):
        with pytest.raises(Forbidden, match="is invalid"):
            sessions.show(garden.caller, garden.id, session)
        with pytest.raises(Forbidden, match="is invalid"):
            garden.put(session)
        with pytest.raises(Forbidden, match="is invalid"):
            garden.deploy(session)
        # Reading with it shows the present state.
        assert garden.show(session)["version"] == 1
        sessions.close(garden.caller, garden.id, session)
