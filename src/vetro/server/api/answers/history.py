"""States of an environment, differences between them, going back to one."""

from __future__ import annotations

from typing import Any

from vetro.model.environment import root_of
from vetro.model.secrets import conceal
from vetro.server.api.answers.sessions import session_json
from vetro.server.api.paging import cursor as cursor_of
from vetro.server.api.paging import page, place, zoned
from vetro.server.caller import Caller
from vetro.server.catalog.secret_names import as_diff
from vetro.server.environments import explanation, history, lookup, queries, redaction
from vetro.server.environments.models import State


def list_states(caller: Caller, environment_id: str, *, limit: int = 50, cursor: str | None = None) -> dict[str, Any]:
    """The states of an environment, newest first."""
    lookup.environment(caller, environment_id)
    before = place(cursor, int)
    rows = history.states(caller, environment_id, before=None if before is None else before[0], limit=limit + 1)
    total = State.objects.filter(environment_id=environment_id).count()
    items = [{**row, "created": zoned(row["created"]), "finished": zoned(row["finished"])} for row in rows[:limit]]
    return page(items, total, cursor_of(items[-1]["number"]) if len(rows) > limit else None)


def show_state(caller: Caller, environment_id: str, number: int) -> dict[str, Any]:
    """The object model of a state; secrets are marked."""
    found = queries.get(caller, lookup.environment(caller, environment_id))
    view = history.state(caller, environment_id, number)
    secrets = redaction.secrets_for(caller, found, root_of(view))
    return {"number": number, "model": conceal(view, secrets)}


def compare_states(caller: Caller, environment_id: str, older: int, newer: int | None = None) -> dict[str, Any]:
    """What changed from one state to another, the newest without ``newer``."""
    found = queries.get(caller, lookup.environment(caller, environment_id))
    number = found.version if newer is None else newer
    roots = [root_of(history.state(caller, environment_id, n)) for n in (older, number)]
    secrets = redaction.of_roots(caller, found, *roots)
    items = history.compare(caller, environment_id, older, number, as_diff(secrets))
    return {"items": [item.as_json() for item in items]}


def show_lock(caller: Caller, environment_id: str, *, state: int | None = None) -> dict[str, Any]:
    """The packages with which a state was deployed, the newest without ``state``: {digest, state, lock}."""
    number, lock = explanation.lock_of(caller, lookup.environment(caller, environment_id), state)
    return {"digest": lock.digest(), "state": number, "lock": lock.as_json()}


def explain_packages(caller: Caller, environment_id: str, *, package: str = "", version: str = "") -> dict[str, Any]:
    """Why the environment has its packages, or one of them; what keeps a version out that it does not have."""
    found = explanation.why(caller, lookup.environment(caller, environment_id), package, version)
    return explanation.as_json(found)


def restore_state(caller: Caller, environment_id: str, number: int) -> dict[str, Any]:
    """A new session whose draft is that state; deploying it makes it so again."""
    session = history.restore(caller, lookup.environment(caller, environment_id), number)
    return session_json(caller, session, queries.get(caller, environment_id), True)
