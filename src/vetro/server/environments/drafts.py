"""What an environment consists of: reading it, with or without a session, and changing a session's draft (API.md 5, 7).

A session stores a draft only while something in it is other than in the environment: before its first change, and when
changes were taken back one by one, it shows the environment's present state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any, Final

from django.db import transaction
from django.db.models.functions import Length

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.model import paths
from vetro.model.environment import applications_of, view_of
from vetro.model.header import header_of
from vetro.model.secrets import conceal
from vetro.model.tree import copied
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.environments import definitions, limits, queries, redaction, sessions
from vetro.server.environments.errors import DraftChanged, refusing
from vetro.server.environments.models import Session
from vetro.server.environments.service import announce, described
from vetro.server.errors import Invalid, NotFound
from vetro.server.ids import stamp
from vetro.server.quotas import enforcement
from vetro.server.secrets.encryption import Ciphertext, dumps

#: Changes the root object of a draft.
Change = Callable[[dict[str, Any]], None]
#: Keys of headers that say something about an object that is computed anew: when it was changed, what it takes.
_NOTES: Final = ("updated", "resourceUsages")
#: How often a change is made anew because the draft was changed meanwhile.
_TRIES = 4


def show(caller: Caller, environment_id: str, session_id: str = "") -> dict[str, Any]:
    """An environment with status and applications; with a session as its draft has them."""
    found = queries.get(caller, environment_id, model=True)
    root = _told(caller, found, session_id)
    deploying = found.status == queries.DEPLOYING
    return {
        **described(found),
        "status": found.v1_status,
        "acquired_by": (found.session_id or None) if deploying else None,
        "services": _with_status(applications_of(root), found.v1_status),
    }


def services(caller: Caller, environment_id: str, path: Sequence[str], session_id: str = "") -> Any:
    """The applications, each with the environment's status, or a part of one. Raises `NotFound`."""
    found = queries.get(caller, environment_id, model=True)
    listed = applications_of(_told(caller, found, session_id))
    if not path:
        return _with_status(listed, found.v1_status)
    with refusing():
        return paths.part(listed, path, by_index=False)


def model(caller: Caller, environment_id: str, path: Sequence[str], session_id: str = "") -> Any:
    """The model, or a part of it. Raises `NotFound`."""
    found = queries.get(caller, environment_id, model=True)
    with refusing():
        return paths.part(view_of(_told(caller, found, session_id)), path)


def _told(caller: Caller, found: queries.ListedEnvironment, session_id: str) -> dict[str, Any] | None:
    """The root object as the caller may know it: with its secrets for those who may change it, else with marks."""
    root = shown_root(caller, sessions.readable(caller, found, session_id) if session_id else None, found)
    if root is None or redaction.may_know(caller):
        return root
    told: dict[str, Any] = conceal(root, redaction.secrets_for(caller, found, root))
    return told


def root_for(caller: Caller, found: queries.ListedEnvironment, session_id: str) -> dict[str, Any] | None:
    """The root object of a draft, or of the present state. ``found`` must have its model."""
    session = sessions.readable(caller, found, session_id) if session_id else None
    return root_of(session, found)


def root_of(session: Session | None, found: queries.ListedEnvironment) -> dict[str, Any] | None:
    """The root object that a session stands for."""
    draft = session.draft if session is not None else None
    present = ((draft if draft is not None else found.model) or {}).get("Objects")
    root: dict[str, Any] | None = definitions.in_environment(found, present)
    if session is not None and draft is None and session.revision and root is not None and header_of(root) is not None:
        # Its changes were taken back, so it is stored no more; clients of /v1 read when the last one was made.
        return {**root, "?": {**root["?"], "updated": stamp(session.updated)}}
    return root


def shown_root(caller: Caller, session: Session | None, found: queries.ListedEnvironment) -> dict[str, Any] | None:
    """The same for somebody to read: who may not change it sees which mappings are objects, and so may hold secrets."""
    root = root_of(session, found)
    return root if redaction.may_know(caller) else definitions.for_readers(found, root)


def change(
    caller: Caller,
    environment_id: str,
    session_id: str,
    edit: Change,
    *,
    what: str = "changed",
    revision: int | None = None,
    stamped: bool = True,
) -> tuple[Session, dict[str, Any]]:
    """Changes a draft: the session and its new root object. All or nothing.

    ``edit`` may be called again, with the root object of another revision, when the draft was changed meanwhile.
    ``revision``: the revision that the change was made for; raises `DraftChanged` when it is another one by now.
    ``stamped``: whether the model says when it was changed. Raises what ``edit`` and `sessions.writable` raise, and
    `Invalid` for a model that would be too large, too deep, or have two objects of one id.
    """
    for attempt in range(_TRIES):
        # Others can write meanwhile, since a large model takes seconds. Only the last attempt keeps them waiting.
        last = attempt == _TRIES - 1
        with transaction.atomic() if last else nullcontext():
            made = _made(caller, environment_id, session_id, edit, revision, stamped, lock=last)
            with transaction.atomic():
                session, found = sessions.writable(caller, environment_id, session_id, model=False)
                if session.revision == made.revision:
                    _write(caller, found, session, made, what)
                    break
    session.draft = {"Objects": made.root}
    return session, made.root


def _write(caller: Caller, found: queries.ListedEnvironment, session: Session, made: _Made, what: str) -> None:
    enforcement.check_model(found.project_id, made.stored, made.size, lambda: _stored(session))
    # An upgrade's draft is one without a changed object, too: it has other packages.
    session.draft = made.stored if made.differs or session.upgrade is not None or session.lock_id else None
    session.revision += 1
    session.save(update_fields=["draft", "revision", "updated"])
    record(caller, "session.change", session.id, found.name, environment=found.id, change=what)
    announce(found.project_id, found.id, what, kind="session", session=session.id, revision=session.revision)


@dataclass(frozen=True, slots=True)
class _Made:
    """A draft as it is to become: of which revision, its root object, that as it is stored, its characters, and whether
    anything is other than in the environment."""

    revision: int
    root: dict[str, Any]
    stored: Ciphertext
    size: int
    differs: bool


def _made(
    caller: Caller,
    environment_id: str,
    session_id: str,
    edit: Change,
    revision: int | None,
    stamped: bool,
    *,
    lock: bool,
) -> _Made:
    session, found = sessions.writable(caller, environment_id, session_id, lock=lock)
    if revision is not None and revision != session.revision:
        raise DraftChanged(
            Text("the draft was changed meanwhile"),
            hint=Text("read it again, then make the change"),
            details={"revision": session.revision},
        )
    root = root_of(session, found)
    if root is None:
        raise NotFound(Text("The environment has no model any more."))
    present = root_of(None, found)
    if session.draft is None:  # the same objects, which are compared afterwards
        root = copied(root)
    edit(root)
    root = definitions.in_environment(found, root, stored=True)
    limits.check_objects(root)
    size = limits.check_model(root)
    differs = not _same(root, present)
    if stamped and header_of(root) is not None:
        root["?"]["updated"] = stamp(datetime.now(UTC))
    return _Made(session.revision, root, dumps({"Objects": root}), size, differs)


def _same(root: Any, present: Any) -> bool:
    """Whether both are one model, whenever each was changed and by which form."""
    # Only of an environment none is the same as an empty list: what a class calls so is its own.
    root, present = ({**one, "applications": one.get("applications") or []} if one else one for one in (root, present))
    # Comparing whole parts is quick, and says of most models that they differ; but true is 1 to it.
    return _equal(root, present, exact=False) and _equal(root, present, exact=True)


def _equal(root: Any, present: Any, *, exact: bool) -> bool:
    rest = [(root, present)]
    while rest:
        one, other = rest.pop()
        if not exact and one == other:
            continue
        if isinstance(one, dict) and isinstance(other, dict):
            if "?" in one and "?" in other:
                one, other = _without_notes(one), _without_notes(other)
            if one.keys() != other.keys():
                return False
            rest += [(value, other[name]) for name, value in one.items()]
        elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
            rest += zip(one, other, strict=True)
        elif one != other or type(one) is not type(other):
            return False
    return True


def _without_notes(obj: dict[str, Any]) -> dict[str, Any]:
    """An object without what is only noted about it in its header."""
    head = obj["?"]
    if isinstance(head, dict):
        head = {name: value for name, value in head.items() if name not in _NOTES}
    return {**obj, "?": head}


def add_services(caller: Caller, environment_id: str, session_id: str, given: Any) -> Any:
    """Adds one application or several to a draft; what was given. Raises `Invalid`, also for ids that are taken."""
    if not given:
        raise Invalid(Text("The server could not comply with the request: there is no application in the body."))
    listed = limits.check_services(given)

    def edit(root: dict[str, Any]) -> None:
        root["applications"] = [*applications_of(root), *listed]

    change(caller, environment_id, session_id, edit, what="added", stamped=False)
    return given


def put_services(caller: Caller, environment_id: str, session_id: str, path: Sequence[str], given: Any) -> Any:
    """Replaces all applications (null: by none), or what is at a path; what was given."""
    if not path and given is None:
        given = []

    def edit(root: dict[str, Any]) -> None:
        if not path:
            root["applications"] = limits.check_services(given)
            return
        listed = applications_of(root)
        with refusing():
            paths.replace(listed, path, given)
        limits.check_services(listed)

    if not path and not isinstance(given, list):
        raise Invalid(Text("the applications must be a list of objects"))
    change(caller, environment_id, session_id, edit, what="replaced")
    return given


def remove_services(caller: Caller, environment_id: str, session_id: str, path: Sequence[str]) -> None:
    """Removes an application, a part of one, or all. Raises `NotFound`."""

    def edit(root: dict[str, Any]) -> None:
        if path:
            with refusing():
                paths.remove(applications_of(root), path)
        else:
            root.pop("applications", None)

    change(caller, environment_id, session_id, edit, what="removed", stamped=False)


def _stored(session: Session) -> int:
    """Bytes of the draft as it is."""
    return int(Session.objects.values_list(Length("draft"), flat=True).get(id=session.id) or 0)


def _with_status(listed: list[Any], status: str) -> list[Any]:
    return [{**item, "?": {**item["?"], "status": status}} if header_of(item) is not None else item for item in listed]
