"""`examine`: what a version of a package would change in one environment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from vetro.diagnostics import Text, decode_messages
from vetro.engine.query.query import AskFailed
from vetro.engine.task.launcher import LauncherError
from vetro.model.header import parse_type_text, type_of
from vetro.model.tree import objects
from vetro.packages.lock import LockedPackage
from vetro.server.caller import SYSTEM
from vetro.server.catalog.blobs import BlobMissing
from vetro.server.catalog.dependencies import Wishes, cached_choices, choose_for_model
from vetro.server.environments import deploy, drafts, fixed_properties, packages, queries, upgrades
from vetro.server.environments.models import Environment, State
from vetro.server.errors import ServiceError
from vetro.server.impact import groups
from vetro.server.impact.groups import EnvironmentImpact
from vetro.server.impact.models import PlanCache
from vetro.server.impact.planner import NotAlone, Planner, PlannerConversation
from vetro.server.tasks.completion import with_package_places
from vetro.yaql.errors import VetroError

#: Bytes of a plan that is worth being kept.
MOST_KEPT: Final = 1 << 20


class _Unplanned(Exception):
    """Nothing can be said of an environment: why."""


def state_of(environment_id: str) -> tuple[int, str, float]:
    """The number of the newest state, the digest of its lock, and when it was made, in seconds since the epoch."""
    rows = State.objects.filter(environment_id=environment_id).order_by("-number")
    number, lock, created = rows.values_list("number", "lock_id", "created")[:1].get()
    return number, lock or "", created.timestamp()


def examine(planner: Planner, row: Environment, package: LockedPackage, now: float) -> EnvironmentImpact:
    """What ``package`` would change. ``now``: what time it is to the code of packages."""
    try:
        with cached_choices(planner.choices):
            try:
                return _examined(planner, row, package, now)
            except NotAlone:
                return _examined(planner, row, package, now, alone=True)
    except _Unplanned as error:
        return groups.skipped(error.args[0])
    except BlobMissing as error:
        return groups.skipped(Text("a package that it was deployed with is gone: {why}", why=error.message))
    except LauncherError:
        raise  # nothing of the environment's
    except AskFailed as error:
        return _failed(error.error, [package])
    except (ServiceError, VetroError) as error:
        return groups.skipped(error.message)
    except (LookupError, TypeError, ValueError, AttributeError):  # packages have run there: it may say anything
        return groups.skipped(Text("the answer of its process means nothing"))


def _examined(
    planner: Planner, row: Environment, package: LockedPackage, now: float, *, alone: bool = False
) -> EnvironmentImpact:
    found = queries.get(SYSTEM, row.id, model=True)
    old_model = deploy.start_model(found, drafts.root_of(None, found))
    old = packages.resolved(SYSTEM, found, old_model)
    image = planner.image(row)
    if _uses(old_model, package.name):
        begun = upgrades.begin(found, upgrades.Request(to={package.name: package.version}, beside=[package]))
        digests = [*(one.digest for one in begun.packages), *(one.digest for one in old.rows)]
    else:  # another package requires it: the next deployment would get the new version
        begun = None
        wishes = Wishes(beside=[package], wanted={package.name: package.version})
        chosen = choose_for_model(found.project_id, old_model, packages.pinned(found.id), wishes)
        digests = [*(one.digest for one in chosen.rows), *(one.digest for one in old.rows)]
    detail: dict[str, Any] = {}
    with planner.conversation(row, sorted(set(digests)), alone=alone) as conversation:
        model = old_model
        if begun is not None:
            told = conversation.upgrade(begun.packages, begun.model, begun.args)
            if told.get("error") is not None:
                return _failed(told["error"], begun.packages)
            detail = groups.of_report(told["report"])
            if told["report"]["problems"]:
                problem = decode_messages(told["report"])["problems"][0]["message"]
                return EnvironmentImpact(groups.FAILS, {**detail, "error": _error("", str(problem), None)})
            if told["result"] is None:  # nobody could make up what is asked
                return EnvironmentImpact(groups.ASKS, detail)
            upgrade = upgrades.finish(begun, told["result"])
            result = upgrade.result
            model = deploy.start_model(found, result["objects"], upgrade.lock, result)
            fixed_properties.check(SYSTEM, found, result["objects"], upgrade.lock, result["base"])
            chosen = packages.resolved(SYSTEM, found, model, lock=upgrade.lock)
        if image is None:
            if detail:
                return EnvironmentImpact(groups.ASKS if "asks" in detail else groups.LOSES, detail)
            raise _Unplanned(Text("its cloud has to be asked while a plan is made: plan its upgrade by itself"))
        before = _before(planner, conversation, found, old_model, old, image, now)
        if conversation.digests.issuperset(one.digest for one in chosen.rows):
            after = conversation.plan(model, chosen, image, now)
    if not conversation.digests.issuperset(one.digest for one in chosen.rows):
        with planner.conversation(row, [one.digest for one in chosen.rows], alone=alone) as other:
            after = other.plan(model, chosen, image, now)
    return _compared(before, after, detail, chosen.rows)


def _before(
    planner: Planner,
    conversation: PlannerConversation,
    found: queries.ListedEnvironment,
    model: Any,
    chosen: Any,
    image: Mapping[str, Any],
    now: float,
) -> dict[str, Any]:
    """The plan of the environment as it is: what waits anyway is nothing that the package changes."""
    key = planner.key(found, image, [one.digest for one in chosen.rows])
    known = PlanCache.objects.filter(key=key).first()
    if known is not None:
        kept: dict[str, Any] = known.plan
        return kept
    told = conversation.plan(model, chosen, image, now)
    if told.get("error") is None and len(json.dumps(told)) <= MOST_KEPT:
        PlanCache.objects.filter(environment_id=found.id).delete()  # of states that were
        PlanCache.objects.bulk_create([PlanCache(key=key, environment_id=found.id, plan=told)], ignore_conflicts=True)
    return told


def _compared(
    before: Mapping[str, Any], after: Mapping[str, Any], detail: dict[str, Any], rows: Any
) -> EnvironmentImpact:
    plans = {"old": before.get("plan"), "new": after.get("plan")}
    if before.get("error") is not None:
        why = decode_messages(before["error"]).get("message") or ""
        return groups.skipped(Text("with the version that it has it cannot be planned either: {why}", why=why))
    if after.get("error") is not None:
        found = _failed(after["error"], rows)
        return EnvironmentImpact(found.group, {**detail, **found.detail}, plans)
    group, more = groups.of_plans(before, after)
    if "asks" in detail or "lost" in detail:
        group = groups.ASKS if "asks" in detail else groups.LOSES
    return EnvironmentImpact(group, {**detail, **more}, plans)


def _failed(error: Mapping[str, Any], rows: Any) -> EnvironmentImpact:
    """``rows``: packages whose places are told by their names."""
    code = str(error.get("code") or "")
    told = str(decode_messages(error).get("message") or "")
    named = [
        {"fqn": getattr(one, "fqn", None) or one.name, "version": one.version, "digest": one.digest} for one in rows
    ]
    position = _position(with_package_places(error, named))
    if code in groups.LIMITS:
        place = groups.place_text(position)
        return groups.skipped(Text("{place}: {message}", place=place, message=told) if place else told)
    return EnvironmentImpact(groups.FAILS, {"error": _error(code, told, position)})


def _error(code: str, message: str, position: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"code": code[:16], "message": message[: groups.LONGEST], "position": position}


def _position(error: Mapping[str, Any]) -> dict[str, Any] | None:
    """Where in a package it failed, the innermost place that is in none of the standard ones."""
    places = [error.get("position"), *reversed(error.get("frames") or ())]
    known = [one for one in places if isinstance(one, Mapping) and one.get("file")]
    for one in known:
        if not str(one["file"]).startswith("io."):
            return {"file": str(one["file"])[: groups.LONGEST], "line": int(one.get("line") or 0)}
    return None


def _uses(model: Mapping[str, Any], package: str) -> bool:
    """Whether some object is of a package."""
    parts = (model.get("Objects"), model.get("ObjectsCopy"))
    return any(parse_type_text(type_of(obj))[2] == package for part in parts for obj in objects(part))
