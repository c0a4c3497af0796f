"""Migrations of what gets another version than it names, since that one is not there any more.

Loading puts another version of the same major in the place of one that is gone. Where that one has renames or
migrations for the way between them, they run before: when an environment is imported, and before each deployment and
plan, never while loading. It is the function of upgrades, but nothing is asked and nothing taken out: a value that
the new class has no place for stays in the draft, and plans tell it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.db import transaction

from vetro.data_classes import dataclass
from vetro.engine.query.query import AskFailed
from vetro.model.environment import deployed_objects
from vetro.model.header import id_of, parse_type_text, type_of
from vetro.model.tree import objects
from vetro.muranopl.declarations.versions import Version, parse_version, substitute, version_key
from vetro.muranopl.errors import DeclarationError
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.catalog.models import Package
from vetro.server.catalog.resolver import scope_of
from vetro.server.environments import drafts, limits, packages, queries, service, sessions
from vetro.server.environments.errors import UpgradeRefused
from vetro.server.environments.models import Session
from vetro.server.environments.upgrades import BUDGET, SECONDS, check_size, table_of
from vetro.server.errors import Invalid
from vetro.server.quotas import enforcement
from vetro.server.secrets.encryption import dumps
from vetro.server.tasks.package_queries import ask


@dataclass(frozen=True, slots=True)
class Substituted:
    """What a draft becomes: its root object, and what `Session.upgrade` keeps beside it."""

    root: dict[str, Any]
    beside: dict[str, Any]


def substituted(caller: Caller, found: queries.ListedEnvironment, session: Session | None) -> Substituted | None:
    """The draft after the steps that are due; None where there are none. Nothing is stored.

    Raises `UpgradeRefused` for a migration that fails. Call it outside of transactions.
    """
    root = drafts.root_of(session, found)
    if root is None or packages.of_session(session) is not None:  # a lock has its archives, or is refused
        return None
    copy = deployed_objects(found.model or {})
    gone = _gone(found, root, copy)
    if not gone:
        return None
    try:
        chosen = packages.resolved(caller, found, {"Objects": root, "ObjectsCopy": copy})
    except Invalid:
        return None  # the deployment says what is missing
    there = table_of(chosen)
    target: dict[str, str] = {}
    for name, versions in gone.items():
        become = [substitute(version, map(parse_version, there.get(name, ()))) for version in versions]
        if (newest := max(filter(None, become), key=version_key, default=None)) is not None:
            target[name] = str(newest)
    moving = sorted(
        str(id_of(obj))
        for part in (root, copy)
        for obj, name, version in _exact(part)
        if _moves(name, version, gone, target)
    )
    if not moving:
        return None
    args = {"before": there, "after": there, "target": target, "objects": moving, "keep": True}
    model = {**(found.model or {}), "Objects": root, "ObjectsCopy": copy}
    try:
        result = ask(caller, "migrate", packages=chosen.rows, model=model, args=args, timeout=SECONDS, budget=BUDGET)
    except AskFailed as error:
        raise UpgradeRefused(error.message, hint=error.hint, details={"error": error.error}) from None
    check_size(result)
    if not any(one["steps"] for one in result["report"]["objects"]):
        return None  # loading does as well
    kept = {
        "report": {**result["report"], "target": target},
        "base": result["base"],
        "attributes": result["attributes"],
    }
    return Substituted(result["objects"], kept)


def migrate(caller: Caller, environment_id: str, session_id: str) -> bool:
    """Puts the steps that are due into the draft of a session; whether there were some.

    Raises what `migrate_draft` raises.
    """
    found = queries.get(caller, environment_id, model=True)
    return migrate_draft(caller, found, Session.objects.filter(id=session_id, environment_id=environment_id).first())


def migrate_draft(caller: Caller, found: queries.ListedEnvironment, session: Session | None) -> bool:
    """The same for an environment with its model, and a session of it, as they were just read; where there were steps,
    the session is to be read again.

    Raises what `substituted` raises. What cannot be deployed stays as it is: who deploys it is told why.
    """
    if session is None or sessions.invalid(session, found) or session.id == found.session_id:
        return False
    made = substituted(caller, found, session)
    if made is None:
        return False
    size = limits.check_model(made.root)
    stored, beside = dumps({"Objects": made.root}), dumps(made.beside)
    with transaction.atomic():
        sessions.locked(caller, found.id)
        enforcement.check_model(found.project_id, {"Objects": made.root, **made.beside}, size)
        mine = Session.objects.filter(id=session.id, revision=session.revision, state=Session.OPENED)
        if not mine.update(draft=stored, upgrade=beside, revision=session.revision + 1):
            return True  # somebody changed it meanwhile, maybe by these steps; the next deployment looks again
        moved = ", ".join(f"{name} {version}" for name, version in sorted(made.beside["report"]["target"].items()))
        record(caller, "session.migrate", session.id, found.name, environment=found.id, to=moved[:500])
        service.announce(found.project_id, found.id, "changed", kind="session", session=session.id)
    return True


def _gone(found: queries.ListedEnvironment, *roots: Any) -> dict[str, list[Version]]:
    """Package -> the versions that objects name and nobody has."""
    named = {(name, version) for root in roots for _, name, version in _exact(root)}
    named -= {(one.name, one.version) for one in packages.pinned(found.id)}
    if named:
        names = {name for name, _ in named}
        named -= set(Package.objects.filter(scope_of(found.project_id), fqn__in=names).values_list("fqn", "version"))
    made: dict[str, list[Version]] = {}
    for name, version in sorted(named):
        made.setdefault(name, []).append(parse_version(version))
    return made


def _moves(name: str, version: str, gone: Mapping[str, list[Version]], target: Mapping[str, str]) -> bool:
    """Whether an object gets a newer version than the one it names."""
    mine = parse_version(version)
    return (
        mine in gone.get(name, ()) and name in target and version_key(parse_version(target[name])) > version_key(mine)
    )


def _exact(root: Any) -> Iterator[tuple[Any, str, str]]:
    """(object, package, version) of those whose header names both."""
    for obj in objects(root):
        _, version, package = parse_type_text(type_of(obj))
        if version and package:
            try:
                yield obj, package, str(parse_version(version))
            except DeclarationError:  # a range
                continue
