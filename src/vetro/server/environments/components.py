"""The components of a draft as /v2 edits them: the applications, and any object in them by its id; the whole model.

Secrets are marked where clients read and kept where the mark comes back (`redaction`). ``revision`` is what a client
read: another change meanwhile is refused (`drafts.change`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vetro.diagnostics import Text
from vetro.model import tree
from vetro.model.edit import overwrite, take_out
from vetro.model.environment import applications_of, root_of, view_of
from vetro.model.header import header_of, id_of
from vetro.model.secrets import conceal
from vetro.server.caller import Caller
from vetro.server.environments import drafts, limits, patching, queries, redaction, sessions
from vetro.server.environments.models import Session
from vetro.server.errors import Conflict, Forbidden, Invalid, NotFound
from vetro.server.ids import new_id


def read(caller: Caller, environment_id: str, session_id: str) -> tuple[dict[str, Any], int]:
    """The model of a session's draft as clients see models, secrets marked, and its revision.

    Raises `NotFound` for an unknown session, `Forbidden` for another person's.
    """
    found = queries.get(caller, environment_id, model=True)
    session = sessions.readable(caller, found, session_id)
    root = drafts.shown_root(caller, session, found)
    view = conceal(view_of(root), redaction.secrets_for(caller, found, root))
    revision = session.revision if session is not None else 0
    return view, revision


def write(
    caller: Caller, environment_id: str, session_id: str, view: Any, revision: int | None = None
) -> tuple[Session, dict[str, Any]]:
    """Replaces the whole model of a draft: the session and the new model, secrets marked. Raises `Invalid`."""
    if not isinstance(view, dict):
        raise Invalid(Text("The model must be an object."))
    limits.check_depth(view, Text("the model"))

    def edit(root: dict[str, Any]) -> None:
        made = root_of(redaction.restore(view, root))
        if "applications" in view:
            raise Invalid(Text("'applications' cannot be given"), hint=Text("give them as 'services'"))
        patching.check(view_of(made))
        if id_of(made) != id_of(root):
            raise Invalid(Text("The id of the environment's own object must stay as it is."))
        limits.check_services(applications_of(made))
        root.clear()
        root.update(made)

    return _changed(caller, environment_id, session_id, edit, "replaced", revision)


def add(
    caller: Caller, environment_id: str, session_id: str, given: Any, revision: int | None = None
) -> tuple[Session, dict[str, Any], str]:
    """Adds an application, with an id where it has none: session, model, id. Raises `Invalid`, `Conflict`."""
    (component,) = limits.check_services([_object(given)])
    component["?"].setdefault("id", new_id())
    own = str(component["?"]["id"])

    def edit(root: dict[str, Any]) -> None:
        if tree.find(root, own) is not None:
            raise Conflict(
                Text("There is an object '{own}' already.", own=own),
                hint=Text("leave the id out, or change that object"),
            )
        made = redaction.restore(component, root)
        root["applications"] = [*applications_of(root), made]

    session, view = _changed(caller, environment_id, session_id, edit, "added", revision)
    return session, view, own


def put(
    caller: Caller, environment_id: str, session_id: str, object_id: str, given: Any, revision: int | None = None
) -> tuple[Session, dict[str, Any]]:
    """Replaces an object, wherever it stands. Raises `NotFound`, `Invalid`."""
    new = _object(given)
    if new["?"].setdefault("id", object_id) != object_id:
        raise Invalid(Text("The id of an object cannot be changed."), hint=Text("remove it and add another one"))
    limits.check_services([new])

    def edit(root: dict[str, Any]) -> None:
        if id_of(root) == object_id:
            raise Invalid(Text("The environment's own object is changed by replacing the model."))
        before = find(root, object_id)
        overwrite(before, redaction.restore(new, root))

    return _changed(caller, environment_id, session_id, edit, "changed", revision)


def remove(
    caller: Caller, environment_id: str, session_id: str, object_id: str, revision: int | None = None
) -> Session:
    """Takes an object out with all that it owns: from its list, or its owner's property becomes null."""

    def edit(root: dict[str, Any]) -> None:
        if id_of(root) == object_id:
            raise Forbidden(Text("The environment's own object cannot be removed."))
        if not take_out(root, object_id):
            raise NotFound(Text("There is no object '{object_id}'.", object_id=object_id))

    session, _ = _changed(caller, environment_id, session_id, edit, "removed", revision, show=False)
    return session


def find(root: Any, object_id: str) -> dict[str, Any]:
    """The object with an id, itself. Raises `NotFound`."""
    found: dict[str, Any] | None = tree.find(root, object_id)
    if found is None:
        raise NotFound(Text("There is no object '{object_id}'.", object_id=object_id))
    return found


def _changed(
    caller: Caller,
    environment_id: str,
    session_id: str,
    edit: Callable[[dict[str, Any]], None],
    what: str,
    revision: int | None,
    *,
    show: bool = True,
) -> tuple[Session, dict[str, Any]]:
    session, root = drafts.change(caller, environment_id, session_id, edit, what=what, revision=revision)
    if not show:
        return session, {}
    found = queries.get(caller, environment_id)
    return session, conceal(view_of(root), redaction.secrets_for(caller, found, root))


def _object(given: Any) -> dict[str, Any]:
    limits.check_depth(given, "the object")
    if not isinstance(given, dict) or header_of(given) is None:
        raise Invalid(
            Text("An application must be an object with a header '?' that names its class."),
            hint=Text('for example {{"?": {{"type": "com.example.App"}}, "name": "my app"}}'),
        )
    return {**given, "?": dict(given["?"])}
