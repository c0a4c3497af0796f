"""The rules of sessions: drafts of changes that are made beside each other and deployed one at a time (API.md 6)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from django.db import DEFAULT_DB_ALIAS, transaction

from vetro.diagnostics import Text
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.environments import queries
from vetro.server.environments.errors import Busy, SessionInvalid
from vetro.server.environments.limits import known_id
from vetro.server.environments.models import Session
from vetro.server.environments.service import announce
from vetro.server.errors import Forbidden, Invalid, NotFound, NotSignedIn
from vetro.server.ids import new_id, stamp
from vetro.server.queries import fetch, insert, on_sqlite


def recorded_refusal(environment_id: str) -> str:
    """What /v1 says of an environment on which a task works."""
    what = f"environment <EnvId: {environment_id}>"
    return f"Could not open session for {what}, environment has deploying or deleting status."


def newest_draft(caller: Caller, found: queries.ListedEnvironment) -> Session | None:
    """The newest of the caller's sessions that can still be changed; None without one, and while a task works on the
    environment.
    """
    if found.busy:
        return None
    rows = Session.objects.filter(
        environment_id=found.id, user_id=caller.user_id, state=Session.OPENED, version=found.version
    )
    return rows.order_by("-updated", "-id").first()


def open_session(caller: Caller, environment_id: str, procedure_id: str = "") -> Session:
    """A new, empty draft of the environment as it is now. ``procedure_id``: the procedure for which it is opened, which
    may have the environment. Raises `Busy` while a task works on it, `Reserved`."""
    with transaction.atomic():
        found = locked(caller, environment_id)
        if not found.reserved_for(procedure_id):
            found.require_free(recorded_refusal(found.id))
        session = _opened(found, caller)
        record(caller, "session.open", session.id, found.name, environment=found.id)
        announce(found.project_id, found.id, "opened", kind="session", session=session.id)
    return session


def show(caller: Caller, environment_id: str, session_id: str) -> dict[str, Any]:
    """A session of the caller's own that can still be used, or is being deployed."""
    session, found = _own(caller, environment_id, session_id)
    if invalid(session, found):
        raise _stale(session)
    return described(session)


def close(caller: Caller, environment_id: str, session_id: str) -> None:
    """Throws a session of the caller's own away, unless it is being deployed."""
    with transaction.atomic():
        session, found = _own(caller, environment_id, session_id, lock=True)
        if session.id == found.session_id:
            raise Busy(Text("Session <SessionId: {id}> is in deploying state and could not be deleted", id=session.id))
        session.delete()
        record(caller, "session.close", session_id, found.name, environment=found.id)
        announce(found.project_id, found.id, "closed", kind="session", session=session_id)


def writable(
    caller: Caller, environment_id: str, session_id: str, *, lock: bool = True, model: bool = True
) -> tuple[Session, queries.ListedEnvironment]:
    """The session that a change goes into, and its environment, both locked; inside a transaction.

    ``model``: with their models. ``lock``: False where they are only looked at before.

    Raises `NotFound`, `Invalid` for none or one of another environment, `Forbidden` for another person's,
    `SessionInvalid`, `Busy`.
    """
    found = (locked if lock else queries.get)(caller, environment_id, model=model)
    if not session_id:
        raise Invalid(Text("X-Configuration-Session header which indicates to the session is missed"))
    session = _find(session_id, model=model)
    _tied(session, environment_id)
    if session.user_id != caller.user_id:
        raise Forbidden(
            Text("Session <SessionId {id}> belongs to somebody else", id=session.id),
            hint=Text("open a session of your own"),
        )
    if session.id == found.session_id:
        raise Busy(Text("Session <SessionId {id}> is already in deployment state", id=session.id))
    if invalid(session, found):
        raise _stale(session)
    return session, found


def deployable(
    caller: Caller, environment_id: str, session_id: str, procedure_id: str = ""
) -> tuple[Session, queries.ListedEnvironment]:
    """The session that is to be deployed, by whomever of the project; both locked. ``procedure_id``: the procedure for
    which it is done, where there is one. Raises as `writable`, and `Reserved`."""
    found = locked(caller, environment_id, model=True)
    if found.reserved_for(procedure_id):
        found = replace(found, procedure_id="", status=queries.PENDING)
    if found.procedure_id:
        found.require_free("")
    session = _find(session_id)
    _tied(session, environment_id)
    if session.id == found.session_id:
        raise Busy(Text("Session <SessionId {id}> is already deployed or deployment is in progress", id=session.id))
    if invalid(session, found):
        raise _stale(session)
    return session, found


def readable(caller: Caller, found: queries.ListedEnvironment, session_id: str) -> Session | None:
    """The session whose draft is to be shown; None where it is stale or was deployed: then the present state counts.

    Raises `NotFound` for an unknown one, `Forbidden` for another person's.
    """
    session = _find(session_id)
    if session.environment_id != found.id:
        raise NotFound(Text("Session <SessionId {session_id}> is not found", session_id=session_id))
    if session.user_id != caller.user_id and session.id != found.session_id:
        raise Forbidden(Text("Session <SessionId {id}> belongs to somebody else", id=session.id))
    return None if invalid(session, found) else session


def invalid(session: Session, found: queries.ListedEnvironment) -> bool:
    """Whether the environment has changed, or is being changed by another session, since this one was opened."""
    if session.id == found.session_id:
        return False
    return session.state != Session.OPENED or found.version > session.version or found.busy


def described(session: Session) -> dict[str, Any]:
    """A session as the API shows it."""
    return {
        "id": session.id,
        "environment_id": session.environment_id,
        "user_id": session.user_id,
        "state": session.state,
        "version": session.version,
        "created": stamp(session.created),
        "updated": stamp(session.updated),
    }


def locked(caller: Caller, environment_id: str, *, model: bool = False) -> queries.ListedEnvironment:
    """An environment that nobody else changes until the transaction ends. Raises `NotFound`, `NotYours`."""
    # SQLite's transactions begin with the lock of the database.
    if not on_sqlite() and known_id(environment_id):
        fetch("SELECT id FROM environments_environment WHERE id = %s FOR UPDATE", [environment_id])
    return queries.get(caller, environment_id, model=model)


def _opened(found: queries.ListedEnvironment, caller: Caller) -> Session:
    """Stores a new session. By hand: people open many."""
    now = datetime.now(UTC)
    row = {
        "id": new_id(),
        "environment_id": found.id,
        "user_id": caller.user_id,
        "state": Session.OPENED,
        "version": found.version,
        "revision": 0,
        "created": now,
        "updated": now,
    }
    insert("environments_session", row)
    session = Session(**row)
    session._state.adding, session._state.db = False, DEFAULT_DB_ALIAS
    return session


def _find(session_id: str, *, model: bool = True) -> Session:
    rows = Session.objects.all() if model else Session.objects.defer("draft", "answers")
    session = rows.filter(id=session_id).first() if known_id(session_id) else None
    if session is None:
        raise NotFound(Text("Session <SessionId {session_id}> is not found", session_id=session_id))
    return session


def _tied(session: Session, environment_id: str) -> None:
    if session.environment_id != environment_id:
        raise Invalid(
            Text(
                "Session <SessionId {id}> is not tied with Environment <EnvId {environment_id}>",
                id=session.id,
                environment_id=environment_id,
            )
        )


def _stale(session: Session) -> SessionInvalid:
    return SessionInvalid(
        Text(
            "Session <SessionId {id}> is invalid: environment has been updated or updating "
            "right now with other session",
            id=session.id,
        )
    )


def _own(
    caller: Caller, environment_id: str, session_id: str, *, lock: bool = False
) -> tuple[Session, queries.ListedEnvironment]:
    session = _find(session_id)
    if session.environment_id != environment_id:
        # Whoever may not see the session's environment learns nothing about the session.
        queries.get(caller, session.environment_id)
        _tied(session, environment_id)
    found = locked(caller, environment_id) if lock else queries.get(caller, environment_id)
    if session.user_id != caller.user_id:
        raise NotSignedIn(
            Text(
                "User <UserId {user_id}> is not authorized to access session <SessionId {id}>.",
                user_id=caller.user_id,
                id=session.id,
            )
        )
    return session, found
