"""`way_back`: whether an environment could be brought back after an update as it is, and what would not come back.

The cloud says what it can hold; the classes of what is deployed and of what is to be deployed say what is elsewhere
(``NotRestorable``, ``Update`` of ``io.vetro.lifecycle``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from typing import Any

from vetro.clouds.interface import CloudError, Owner, Snapshots
from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.engine.host.config import cloud_of
from vetro.engine.query.query import AskFailed
from vetro.model.environment import applications_of, deployed_objects
from vetro.model.header import id_of, parse_type_text, type_of
from vetro.model.tree import objects
from vetro.muranopl.declarations.versions import parse_version, version_key
from vetro.packages.lock import parse_lock
from vetro.server.caller import Caller
from vetro.server.config import cloud_settings
from vetro.server.environments import drafts, packages, queries
from vetro.server.environments.models import Environment, Session, State
from vetro.server.setup import config
from vetro.server.tasks.package_queries import ask

#: Seconds that an update is looked at where nobody says more.
SETTLE = 30.0
#: Seconds that a server does not answer for, about, when it is stopped and started.
RESTART = 2.0


@dataclass(frozen=True, slots=True)
class _Declared:
    """What classes declare of updates: text of a class -> what it declares. ``unknown``: why classes of the draft could
    not be asked; None where all were.
    """

    classes: Mapping[str, Any]
    unknown: str | None = None


@dataclass(frozen=True, slots=True)
class WayBack:
    """What is known of a way back before an update. ``why``: why there is none; None where there is one."""

    why: str | None
    #: Whether an author wants one.
    required: bool
    #: What would not come back, for people.
    losses: tuple[str, ...] = ()
    #: Servers and volumes: {id, name, kind, method, standstill, why}.
    parts: tuple[Mapping[str, Any], ...] = ()
    #: Seconds for which an update is looked at; 0: nothing exists that could be looked at.
    settle: float = SETTLE
    #: Components whose health does not matter.
    ignored: frozenset[str] = frozenset()
    #: Whether an author wants servers to be stopped before their disks are kept.
    still: bool = False

    @property
    def able(self) -> bool:
        """Whether there is one."""
        return self.why is None

    def as_json(self) -> dict[str, Any]:
        """For clients."""
        return {
            "able": self.able,
            "why": self.why or "",
            "required": self.required,
            "losses": list(self.losses),
            "parts": [dict(part) for part in self.parts],
            "settle": self.settle,
        }


def offered(row: Environment) -> bool:
    """Whether the cloud of an environment can keep servers at all, by what its kind says; the cloud is not asked."""
    try:
        found = cloud_settings.capabilities(config(), row.cloud)
    except CloudError:
        return False
    return found is not None and found.server_snapshots


def required(caller: Caller, found: queries.ListedEnvironment, session: Session | None) -> bool:
    """Whether an author allows a deployment only with a way back: that of a class whose objects become those of another
    version, by an upgrade, or since the environment's packages were exchanged. Asks packages where that may be so.

    ``found``: with its model.
    """
    upgrade = session.upgrade if session is not None else None
    if upgrade is not None:
        return bool((upgrade.get("report") or {}).get("guard"))
    if not found.version:
        return False
    body = State.objects.filter(environment_id=found.id, lock__isnull=False).order_by("-number")
    before = body.values_list("lock__body", flat=True).first()
    if before is None:
        return False
    known: dict[str, set[str]] = {}
    for one in parse_lock(before).packages:
        known.setdefault(one.name, set()).add(one.version)
    declared = _declared(caller, found, session, known)
    return any(one["guard"] == "required" for told in declared.classes.values() for one in told.get("update") or ())


def way_back(caller: Caller, environment_id: str, session_id: str) -> WayBack:
    """The way back of deploying a session. Asks the cloud and packages: call it outside of transactions.

    Raises `NotFound`, and what choosing packages raises.
    """
    found = queries.get(caller, environment_id, model=True)
    row = Environment.objects.get(id=found.id)
    session = Session.objects.filter(id=session_id, environment=row).first()
    report = ((session.upgrade if session is not None else None) or {}).get("report") or {}
    why, parts = _asked(row, caller)
    losses = {
        str(Text("{kind} '{name}': {why}", kind=part["kind"], name=part["name"], why=part["why"])): None
        for part in parts
        if not part["method"]
    }
    declared = _declared(caller, found, session)
    losses |= dict.fromkeys(report.get("not_restorable") or ())
    if declared.unknown is not None:
        losses.setdefault(str(Text("nobody knows: {why}", why=declared.unknown)))
    settle, ignored, still = SETTLE, set[str](), False
    for told in declared.classes.values():
        for one in told.get("lost") or ():
            text = one["what"]
            if one["method"]:
                text = str(Text("{what} (when '{method}' runs)", what=text, method=one["method"]))
            losses.setdefault(text)
        settle = max([settle, *(float(one["settle"]) for one in told.get("update") or ())])
        still = still or any(one.get("consistent") for one in told.get("update") or ())
    for item in applications_of(drafts.root_of(session, found)):
        told = declared.classes.get(type_of(item)) or {}
        if any(not one["health"] for one in told.get("update") or ()):
            ignored.add(str(id_of(item)))
    for part in parts if still else ():
        if part["kind"] != "server" or not part["method"]:
            continue
        if part["method"] == "image":
            text = Text("what server '{name}' had not written: it is kept while it runs", name=part["name"])
            losses.setdefault(str(text))
        elif part["standstill"]:
            part["standstill"] = max(part["standstill"], RESTART)
    if cloud_settings.simulated(config(), row.cloud):
        settle = 0.0
    return WayBack(
        why, required(caller, found, session), tuple(losses), tuple(parts), settle, frozenset(ignored), still
    )


def _asked(row: Environment, caller: Caller) -> tuple[str | None, list[dict[str, Any]]]:
    """Why the cloud cannot keep an environment, None where it can; and how it would keep each part."""
    owner = Owner(row.project_id, row.id, caller.user_id)
    try:
        with closing(cloud_of(cloud_settings.cloud(config(), row.cloud), owner, sweeps=False)) as cloud:
            if not isinstance(cloud, Snapshots):
                return str(Text("servers of cloud '{name}' cannot be brought back as they were", name=cloud.name)), []
            found = cloud.snapshot_report(owner)
    except CloudError as error:
        return error.message, []
    parts = [
        {
            "id": one.id,
            "name": one.name,
            "kind": one.kind,
            "method": one.method,
            "standstill": one.standstill,
            "why": one.why,
        }
        for one in found
    ]
    lost = [one for one in parts if one["kind"] == "server" and not one["method"]]
    if lost:
        return str(Text("server '{name}' cannot be kept: {why}", name=lost[0]["name"], why=lost[0]["why"])), parts
    return None, parts


def _declared(
    caller: Caller,
    found: queries.ListedEnvironment,
    session: Session | None,
    known: Mapping[str, Collection[str]] | None = None,
) -> _Declared:
    """What the classes of what is deployed and of the draft declare. ``known``: only those of the draft whose package
    comes in a version that is not among these (package -> versions)."""
    root, lock = drafts.root_of(session, found), packages.of_session(session)
    model = {**(found.model or {}), "Objects": root, "ObjectsCopy": deployed_objects(found.model or {})}
    rows = packages.resolved(caller, found, model, lock=lock).rows
    roots: tuple[Any, ...] = (root, model["ObjectsCopy"])
    wanted = rows
    if known is not None:
        wanted = [row for row in rows if row.fqn in known and row.version not in known[row.fqn]]
        roots = (root,)
    if not any("io.vetro" in (row.required or ()) for row in wanted):
        return _Declared({})
    answer: dict[str, Any] = {}
    unknown: str | None = None
    for part in roots:  # each for itself: what is deployed may be of a version that nobody has any more
        classes = dict.fromkeys(text for text in map(type_of, objects(part)) if text not in answer)
        if known is not None:
            moved = {row.fqn for row in wanted}
            classes = {text: None for text in classes if parse_type_text(text).package in (None, *moved)}
        if not classes:
            continue
        asked = [{"text": text, **_header(text, rows)} for text in classes]
        try:
            answer |= ask(caller, "lifecycle", packages=rows, args={"classes": asked, "updates": True})
        except AskFailed as error:
            if part is root and known is None:
                unknown = error.message
    return _Declared(answer, unknown)


def _header(text: str, rows: Sequence[Any]) -> dict[str, Any]:
    """Name, version and package of a class; a header of a draft may say less than what was chosen for it."""
    found = parse_type_text(text)._asdict()
    if not found["version"]:
        mine = [row for row in rows if found["name"] in row.class_names and found["package"] in (None, row.fqn)]
        if mine:
            row = max(mine, key=lambda one: version_key(parse_version(one.version)))
            found |= {"version": row.version, "package": row.fqn}
    return found
