"""Sessions: drafts of changes; their model and components; what deploying them would change; plan and deployment."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.db.models import BooleanField, Case, Value, When

from vetro.engine.watching.states import State as Health
from vetro.model.environment import deployed_objects
from vetro.model.header import class_of, id_of, name_of
from vetro.server.api.answers.tasks import task_json
from vetro.server.api.paging import page
from vetro.server.caller import Caller
from vetro.server.catalog.secret_names import as_diff
from vetro.server.environments import components, drafts, history, limits, lookup, queries, redaction, sessions
from vetro.server.environments.models import Session
from vetro.server.errors import Forbidden
from vetro.server.procedures import service as procedures
from vetro.server.tasks.models import Task

#: Sessions of an environment that are listed.
_MOST = 100


def session_json(caller: Caller, session: Session, found: queries.ListedEnvironment, changed: bool) -> dict[str, Any]:
    """A session as clients see it."""
    return {
        "id": session.id,
        "environment_id": session.environment_id,
        "user_id": session.user_id,
        "state": session.state,
        "version": session.version,
        "revision": session.revision,
        "changed": changed,
        "usable": session.id != found.session_id and not sessions.invalid(session, found),
        "own": session.user_id == caller.user_id,
        "created": session.created,
        "updated": session.updated,
    }


def component_json(obj: dict[str, Any]) -> dict[str, Any]:
    """A component as clients see it."""
    return {"id": id_of(obj) or "", "type": class_of(obj), "name": name_of(obj), "object": obj}


def _rows() -> Any:
    known = Case(When(draft__isnull=True, then=Value(False)), default=Value(True), output_field=BooleanField())
    return Session.objects.defer("draft", "answers").annotate(changed=known)


def _shown(caller: Caller, session_id: str) -> dict[str, Any]:
    row = _rows().get(id=session_id)
    return session_json(caller, row, queries.get(caller, row.environment_id), row.changed)


def open_session(caller: Caller, environment_id: str) -> dict[str, Any]:
    """A draft of the environment as it is now. Refused while a task works on it."""
    made = sessions.open_session(caller, lookup.environment(caller, environment_id))
    return _shown(caller, made.id)


def list_sessions(caller: Caller, environment_id: str) -> dict[str, Any]:
    """The newest sessions of an environment, everybody's."""
    found = queries.get(caller, lookup.environment(caller, environment_id))
    rows = _rows().filter(environment_id=found.id).order_by("-updated", "-id")
    items = [session_json(caller, row, found, row.changed) for row in rows[:_MOST]]
    return page(items, rows.count())


def show_session(caller: Caller, session_id: str) -> dict[str, Any]:
    """A session."""
    lookup.session(caller, session_id)
    return _shown(caller, session_id)


def close_session(caller: Caller, session_id: str) -> None:
    """Throws a draft away."""
    environment_id = lookup.session(caller, session_id)
    if not Session.objects.filter(id=session_id, user_id=caller.user_id).exists():
        raise Forbidden("The session belongs to somebody else.")
    sessions.close(caller, environment_id, session_id)


def show_changes(caller: Caller, session_id: str) -> dict[str, Any]:
    """What deploying the draft would change in the model, compared with what is deployed."""
    environment_id = lookup.session(caller, session_id)
    found = queries.get(caller, environment_id, model=True)
    draft = drafts.shown_root(caller, sessions.readable(caller, found, session_id), found)
    limits.check_comparable(deployed_objects(found.model or {}), draft)
    secrets = redaction.of_roots(caller, found, deployed_objects(found.model or {}), draft)
    items = history.pending(caller, environment_id, session_id, as_diff(secrets))
    return {"items": [item.as_json() for item in items]}


def undo_changes(caller: Caller, session_id: str, *, object_id: str | None = None) -> dict[str, Any]:
    """Takes back what the draft changes about one object and what it owns, or everything."""
    history.discard(caller, lookup.session(caller, session_id), session_id, object_id)
    return _shown(caller, session_id)


def deploy_session(
    caller: Caller,
    session_id: str,
    *,
    guard: bool | None = None,
    settle: float | None = None,
    hold: float = 0.0,
    confirmed: bool | Collection[str] = False,
    before: Mapping[str, Health] | None = None,
) -> dict[str, Any]:
    """Starts the deployment of the draft, with a way back or without (`vetro.server.procedures.service.Guard`): its
    first task. ``before``: how the components are, where somebody looked."""
    said = procedures.Guard.from_request(guard, settle, hold, confirmed)
    task = procedures.deploy(caller, lookup.session(caller, session_id), session_id, said, before)
    return task_json(Task.objects.get(id=task.id))


def plan_session(caller: Caller, session_id: str) -> dict[str, Any]:
    """Finds out what deploying the draft would do, changing nothing: the task whose result says it."""
    from vetro.server.environments import plan as planning  # it loads the cloud of plans, which takes long

    task = planning.plan(caller, lookup.session(caller, session_id), session_id)
    return task_json(Task.objects.get(id=task.id))


def read_model(caller: Caller, session_id: str) -> tuple[dict[str, Any], int]:
    """The object model of the draft and its revision: applications as ``services``, secrets marked."""
    return components.read(caller, lookup.session(caller, session_id), session_id)


def write_model(
    caller: Caller, session_id: str, given: dict[str, Any], revision: int | None = None
) -> tuple[dict[str, Any], int]:
    """Replaces the whole model of the draft. Secrets that are still marked keep their values."""
    session, view = components.write(caller, lookup.session(caller, session_id), session_id, given, revision)
    return view, session.revision


def add_component(
    caller: Caller, session_id: str, given: dict[str, Any], revision: int | None = None
) -> tuple[dict[str, Any], int]:
    """Adds an application: an object model with a header ``?`` that names its class. It gets an id if it has none."""
    session, view, id = components.add(caller, lookup.session(caller, session_id), session_id, given, revision)
    return component_json(components.find(view, id)), session.revision


def change_component(
    caller: Caller, session_id: str, object_id: str, given: dict[str, Any], revision: int | None = None
) -> tuple[dict[str, Any], int]:
    """Replaces one object of the draft. Secrets that are still marked keep their values."""
    environment_id = lookup.session(caller, session_id)
    session, view = components.put(caller, environment_id, session_id, object_id, given, revision)
    return component_json(components.find(view, object_id)), session.revision


def remove_component(caller: Caller, session_id: str, object_id: str, revision: int | None = None) -> None:
    """Removes an object with all that it owns. What is deployed goes when the draft is deployed."""
    components.remove(caller, lookup.session(caller, session_id), session_id, object_id, revision)
