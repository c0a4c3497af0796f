"""Upgrades of environments: the draft that moves objects to newer versions (`newer_versions`), and what it asks.

Nothing but a session is made here: its draft, the lock that it is to be deployed with, and what became of what.
Deploying it is deploying a session.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, field
from typing import Any, Final

from django.db import transaction

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.engine.query.query import AskFailed
from vetro.engine.task.task import Budget
from vetro.engine.upgrading.order import order, owners_of, request_of_group
from vetro.model.environment import deployed_objects
from vetro.model.header import id_of, label_of, parse_type_text, type_of
from vetro.model.tree import objects
from vetro.muranopl.declarations.versions import parse_version, version_key
from vetro.muranopl.errors import DeclarationError
from vetro.packages.lock import LockedPackage
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.catalog.dependencies import Chosen, Wishes, choose_for_model
from vetro.server.catalog.models import Package
from vetro.server.catalog.resolver import scope_of
from vetro.server.catalog.storage import from_blob
from vetro.server.environments import limits, packages, queries, service, sessions
from vetro.server.environments.errors import UpgradeIncomplete, UpgradeRefused
from vetro.server.environments.models import Session
from vetro.server.environments.newer_versions import offered
from vetro.server.environments.offers import headers, used_versions
from vetro.server.errors import Conflict, Invalid
from vetro.server.quotas import enforcement
from vetro.server.secrets.encryption import dumps
from vetro.server.setup import config
from vetro.server.tasks.package_queries import ask

#: What the migrations of one environment may take, and how long somebody waits for them.
BUDGET: Final = Budget(steps=5_000_000, cpu_seconds=10.0, memory_mib=256)
SECONDS: Final = 20.0
#: Rounds in which packages pull others along; each brings at least one.
_ROUNDS: Final = 20


@dataclass(frozen=True, slots=True)
class Request:
    """What somebody wants to upgrade, and says about it; objects are named by id, or by a name that only one has."""

    #: Package -> version; none: the newest of all.
    to: Mapping[str, str] = field(default_factory=dict)
    #: The objects that move, with what they own; none: all.
    objects: Sequence[str] = ()
    answers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: (object, property) whose values may be lost.
    drops: Sequence[tuple[str, str]] = ()
    #: Archives that may be used although no catalog has them.
    beside: Sequence[LockedPackage] = ()

    def as_json(self) -> dict[str, Any]:
        """Plain data, for a database."""
        return {**asdict(self), "beside": [asdict(one) for one in self.beside]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Request:
        """From what `as_json` gave; other members are ignored."""
        return cls(
            to=data["to"],
            objects=data["objects"],
            answers=data["answers"],
            drops=[(own, name) for own, name in data["drops"]],
            beside=[LockedPackage(**one) for one in data["beside"]],
        )


@dataclass(frozen=True, slots=True)
class Upgrade:
    """An upgrade that was worked out: the report, and what a session needs."""

    report: dict[str, Any]
    result: dict[str, Any]
    lock: Any


def prepare(caller: Caller, environment_id: str, request: Request) -> Upgrade:
    """Works an upgrade out; nothing is stored. Call it outside of transactions.

    Raises `Invalid` for a version that there is not, `UpgradeRefused` for a migration that fails, `Conflict` when there
    is nothing to upgrade, `Busy`.
    """
    found = queries.get(caller, environment_id, model=True)
    found.require_free()
    return _prepared(caller, found, request)


@dataclass(frozen=True, slots=True)
class PendingUpgrade:
    """An upgrade whose migrations are still to run: a question of kind ``migrate``, and what `finish` needs."""

    found: queries.ListedEnvironment
    pinned: Sequence[LockedPackage]
    request: Request
    #: Package -> the version that its objects get.
    target: dict[str, str]
    before: Chosen
    after: Chosen
    model: dict[str, Any]
    #: The fields of `vetro.engine.upgrading.upgrade.UpgradeRequest`.
    args: dict[str, Any]

    @property
    def packages(self) -> list[Package]:
        """Rows of the packages before and after."""
        return list({row.id: row for row in (*self.before.rows, *self.after.rows)}.values())


def _prepared(caller: Caller, found: queries.ListedEnvironment, request: Request) -> Upgrade:
    made = begin(found, request)
    try:
        result = ask(
            caller,
            "migrate",
            packages=made.packages,
            model=made.model,
            args=made.args,
            timeout=SECONDS,
            budget=BUDGET,
        )
    except AskFailed as error:
        raise UpgradeRefused(error.message, hint=error.hint, details={"error": error.error}) from None
    return finish(made, result)


def begin(found: queries.ListedEnvironment, request: Request) -> PendingUpgrade:
    """What the migrations of an environment, which was read with its model, are asked. Raises `Invalid`, `Conflict`."""
    root = (found.model or {}).get("Objects")
    pinned = packages.pinned(found.id)
    names = _names(root)
    chosen_ids = [_object(names, text) for text in request.objects]
    target = _target(found, pinned, request)
    before = choose_for_model(
        found.project_id, {"Objects": root, "ObjectsCopy": deployed_objects(found.model or {})}, pinned
    )
    target, after = _resolved(found, pinned, root, target, chosen_ids, request.beside)
    args = {
        "before": table_of(before),
        "after": table_of(after),
        "target": target,
        "objects": chosen_ids or None,
        "answers": {_object(names, key): dict(value) for key, value in request.answers.items()},
        "drops": [[_object(names, key), name] for key, name in request.drops],
    }
    model = {**(found.model or {}), "ObjectsCopy": deployed_objects(found.model or {})}
    return PendingUpgrade(found, pinned, request, target, before, after, model, args)


def finish(made: PendingUpgrade, result: dict[str, Any]) -> Upgrade:
    """The upgrade, from what `vetro.engine.upgrading.upgrade.upgraded` gave. Raises `Invalid`."""
    check_size(result)
    report = {**result.pop("report"), "target": made.target, "packages": _moves(made.before, made.after)}
    _named(report, result["objects"])
    report["order"] = order(result["objects"], {item["id"] for item in report["objects"]})
    wishes = Wishes(beside=made.request.beside, wanted={} if made.args["objects"] else made.target)
    final = choose_for_model(made.found.project_id, {"Objects": result["objects"]}, made.pinned, wishes)
    return Upgrade(report, result, packages.lock_for(final, config()))


def check_size(result: Mapping[str, Any]) -> None:
    """Migrations may make anything. Raises `Invalid` for what is too large, or has ids that no object has."""
    limits.check_objects(result["objects"])
    for part, what in (
        ("objects", Text("the model")),
        ("base", Text("the model that is deployed, in its new versions,")),
        ("attributes", Text("what objects remember")),
        ("report", Text("the report about the upgrade")),
    ):
        limits.check_model(result[part], what)


def draft(
    caller: Caller, environment_id: str, request: Request, procedure_id: str = ""
) -> tuple[Session, dict[str, Any]]:
    """A new session whose draft is the upgrade, and the report about it. All or nothing. ``procedure_id``: see
    `sessions.open_session`.

    Raises what `prepare` raises, and `UpgradeIncomplete` while something is asked, would be lost unconfirmed, or does
    not work: the report is in its ``details``.
    """
    found = queries.get(caller, environment_id, model=True)
    if not found.reserved_for(procedure_id):
        found.require_free()
    made = _prepared(caller, found, request)
    if not made.report["ready"]:
        raise incomplete(made.report)
    root = made.result["objects"]
    kept = {"report": made.report, "base": made.result["base"], "attributes": made.result["attributes"]}
    size = limits.check_model(root) + len(json.dumps(kept))
    stored, beside = dumps({"Objects": root}), dumps(kept)
    with transaction.atomic():
        session = sessions.open_session(caller, environment_id, procedure_id)
        if session.version != found.version:
            raise Conflict(Text("The environment was deployed meanwhile."), hint=Text("upgrade it again"))
        enforcement.check_model(found.project_id, {"Objects": root, **kept}, size)
        session.draft = stored
        session.lock = packages.store(made.lock)
        session.upgrade = beside
        session.revision = 1
        session.save()
        moved = ", ".join(f"{name} {version}" for name, version in sorted(made.report["target"].items()))
        record(caller, "session.upgrade", session.id, found.name, environment=found.id, to=moved[:500])
        service.announce(found.project_id, found.id, "upgraded", kind="session", session=session.id)
    return session, made.report


def parts(report: Mapping[str, Any], request: Request) -> list[Request]:
    """An upgrade that was worked out, as upgrades of its applications one after the other (``order`` of the report)."""
    return [
        Request(**request_of_group(report, group, request.answers, request.drops), beside=request.beside)
        for group in report["order"]
    ]


# -- versions ----------------------------------------------------------------------------------------------------------


def _target(found: queries.ListedEnvironment, pinned: Sequence[LockedPackage], request: Request) -> dict[str, str]:
    """Package -> the version that its objects are to have. Raises `Invalid`, `Conflict`."""
    used = used_versions((found.model or {}).get("Objects"), pinned)
    if not request.to:
        newest = {offer.package: offer.to for offer in offered(found, pinned, request.beside)}
        if not newest:
            raise Conflict(Text("there is nothing newer for environment '{name}'", name=found.name))
        return newest
    target = {}
    given = {package.name for package in request.beside}
    for name, version in request.to.items():
        if name not in used and name in given and any(other in used for other in request.to):
            continue  # something that the others require: it is there, and comes along
        if name not in used:
            there = ", ".join(sorted(used)) or "none"
            raise Invalid(
                Text("no object of environment '{name}' is of package '{package}'", name=found.name, package=name),
                hint=Text("its objects are of: {there}", there=there),
            )
        try:
            wanted = parse_version(version)
        except DeclarationError as error:
            raise Invalid(error.message, hint=error.hint) from None
        if all(version_key(parse_version(one)) >= version_key(wanted) for one in used[name]):
            raise Invalid(
                Text("{package} has version {used} already", package=name, used=used[name][-1]),
                hint=Text("an older version comes back with the state that was deployed with it"),
            )
        target[name] = str(wanted)
    return target


def _resolved(
    found: queries.ListedEnvironment,
    pinned: Sequence[LockedPackage],
    root: Any,
    target: Mapping[str, str],
    chosen_ids: Sequence[str],
    beside: Sequence[LockedPackage],
) -> tuple[dict[str, str], Chosen]:
    """The packages that the environment is to have, and the target with what it pulls along.

    A package that is required in a newer version than its objects have takes them along.
    """
    target = dict(target)
    for _ in range(_ROUNDS):
        asked, asked_packages = [], {package for _, _, package in headers(root) if package}
        moving = _moving(root, chosen_ids)
        for obj in objects(root):
            name, version, package = parse_type_text(type_of(obj))
            known = next((p.version for p in pinned if p.name == package), None)
            moves = package in target and id_of(obj) in moving
            asked.append((name, target[package] if moves and package else version or known, package, moves))
        wishes = Wishes(beside=beside, wanted={} if chosen_ids else target)
        parts = [_asking(found, beside, *one) for one in dict.fromkeys(asked)]
        made = choose_for_model(found.project_id, {"Objects": {"parts": parts}}, pinned, wishes)
        pulled: dict[str, str] = {}
        for row in made.rows:
            mine = [p.version for p in pinned if p.name == row.fqn]
            newer = mine and all(version_key(parse_version(row.version)) > version_key(parse_version(v)) for v in mine)
            if newer and row.fqn in asked_packages and row.fqn not in target:
                pulled[row.fqn] = row.version
        if not pulled:
            return target, made
        target |= pulled
    return target, made


def _asking(
    found: queries.ListedEnvironment,
    beside: Sequence[LockedPackage],
    name: str,
    version: str | None,
    package: str | None,
    moves: bool,
) -> dict[str, Any]:
    """An object by whose header a package is chosen: a class that moves may have another name in the new version."""
    if moves:
        rows = Package.objects.filter(scope_of(found.project_id), fqn=package, version=version)
        classes = rows.values_list("class_names", flat=True).first()
        if classes is None:
            classes = next((_classes(p) for p in beside if (p.name, p.version) == (package, version)), None)
        if classes and name not in classes:
            name = classes[0]
    written = name + (f"/{version}" if version else "") + (f"@{package}" if package else "")
    return {"?": {"type": written, "id": written}}


def _classes(package: LockedPackage) -> list[str]:
    row = from_blob("", package.name, package.version, package.digest)
    return list(row.class_names) if row is not None else []


def _moving(root: Any, chosen_ids: Sequence[str]) -> Collection[str | None]:
    if not chosen_ids:
        return {id_of(obj) for obj in objects(root)}
    chosen = set(chosen_ids)
    return {id_of(part) for obj in objects(root) if id_of(obj) in chosen for part in objects(obj)}


def table_of(chosen: Chosen) -> dict[str, list[str]]:
    made: dict[str, list[str]] = {}
    for row in chosen.rows:
        made.setdefault(row.fqn, []).append(row.version)
    return made


def _moves(before: Chosen, after: Chosen) -> list[dict[str, Any]]:
    """Packages that come or go: {name, old, new}."""
    old, new = table_of(before), table_of(after)
    names = sorted(old.keys() | new.keys())
    return [
        {"name": name, "old": old.get(name, []), "new": new.get(name, [])}
        for name in names
        if old.get(name) != new.get(name)
    ]


# -- names -------------------------------------------------------------------------------------------------------------


def _names(root: Any) -> dict[str, list[str]]:
    """What objects are called, ids among it -> their ids."""
    names: dict[str, list[str]] = {}
    for obj in objects(root):
        own = id_of(obj)
        if own is not None:
            names.setdefault(own, []).append(own)
            if label_of(obj) != own:
                names.setdefault(label_of(obj), []).append(own)
    return names


def _object(names: Mapping[str, Sequence[str]], text: str) -> str:
    """The id of the object that is meant. Raises `Invalid`."""
    if len(names.get(text, ())) == 1:
        return names[text][0]
    if text in names:
        ids = ", ".join(names[text][:10])
        raise Invalid(
            Text("several objects are called '{name}'", name=text[:80]), hint=Text("use an id: {ids}", ids=ids)
        )
    if len(text) == 32:  # one that the upgrade makes
        return text
    raise Invalid(Text("there is no object '{name}'", name=text[:80]))


def _named(report: dict[str, Any], root: Any) -> None:
    """Says how each object of the report can be named in answers, ``ref``, and what it belongs to: ``application``."""
    names, owners = _names(root), owners_of(root)
    for part in ("objects", "asked"):
        for item in report[part]:
            own, label = item.get("id") or item.get("object"), item.get("name") or ""
            item["ref"] = label if names.get(label) == [own] and "." not in label else own
            item["application"] = owners.get(own)


def incomplete(report: dict[str, Any]) -> UpgradeIncomplete:
    """Why a report is no draft."""
    lost = sum(1 for o in report["objects"] for value in o["dropped"] if value["lost"] and not value["confirmed"])
    if report["problems"]:
        text = Text("the upgrade does not work: {why}", why=report["problems"][0]["message"])
    elif not report["objects"]:
        text = Text("nothing in the environment would change its version")
    elif report["asked"]:
        text = Text("the upgrade asks {count} questions", count=len(report["asked"]))
    else:
        text = Text("the upgrade would lose {count} values", count=lost)
    return UpgradeIncomplete(text, details={"report": report})
