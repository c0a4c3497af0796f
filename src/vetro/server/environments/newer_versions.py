"""Newer versions of the packages that an environment's objects have, with what is new in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.db.models import Q

from vetro.data_classes import dataclass
from vetro.muranopl.declarations.versions import parse_version, version_key
from vetro.packages.lock import LockedPackage
from vetro.server.caller import Caller
from vetro.server.catalog.models import Package
from vetro.server.catalog.resolver import scope_of
from vetro.server.environments import packages, queries
from vetro.server.environments.offers import bump, used_versions


@dataclass(frozen=True, slots=True)
class NewerVersion:
    """A newer version of a package whose objects an environment has."""

    package: str
    #: Its name for people.
    name: str
    #: The versions that objects have.
    used: tuple[str, ...]
    #: The newest one, and all that are newer than each that is used, newest first.
    to: str
    versions: tuple[str, ...]
    #: What is new since the highest that is used, as `vetro.packages.changelog.Release.as_json` has it.
    changes: tuple[dict[str, Any], ...] = ()

    @property
    def security(self) -> bool:
        """Whether something that is new makes it safer."""
        return any(one["kind"] == "security" for release in self.changes for one in release["changes"])

    @property
    def bump(self) -> str:
        """``patch``, ``minor`` or ``breaking``, by the numbers."""
        return bump(self.used[0], self.to)


def offers(caller: Caller, environment_id: str) -> list[NewerVersion]:
    """The packages of an environment's objects of which its project sees a newer release, by name."""
    return offers_of(queries.get(caller, environment_id, model=True))


def offers_of(found: queries.ListedEnvironment) -> list[NewerVersion]:
    """The same for an environment that was read with its model."""
    found_offers = offered(found, packages.pinned(found.id))
    if not found_offers:
        return []
    scope = scope_of(found.project_id)
    # What is new may be long, and only that of the newest is told.
    newest = Q(*(Q(fqn=one.package, version=one.to) for one in found_offers), _connector=Q.OR)
    rows = Package.objects.filter(scope, newest)
    told = {(fqn, version): changes for fqn, version, changes in rows.values_list("fqn", "version", "changes")}
    return [replace(one, changes=_since(one, told.get((one.package, one.to)) or ())) for one in found_offers]


def _since(offer: NewerVersion, releases: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    used = version_key(parse_version(offer.used[-1]))
    return tuple(one for one in releases if version_key(parse_version(one["version"])) > used)


def offered(
    found: queries.ListedEnvironment, pinned: Sequence[LockedPackage], beside: Sequence[LockedPackage] = ()
) -> list[NewerVersion]:
    """The same without what is new, by what an environment has; ``beside``: archives that no catalog needs to have."""
    used = used_versions((found.model or {}).get("Objects"), pinned)
    rows = Package.objects.filter(scope_of(found.project_id), fqn__in=list(used), usable=True, prerelease=False)
    there: dict[str, dict[str, str]] = {}
    for fqn, version, name in rows.values_list("fqn", "version", "name"):
        there.setdefault(fqn, {})[version] = name
    for package in beside:
        there.setdefault(package.name, {}).setdefault(package.version, package.name)
    made = []
    for fqn, versions in sorted(used.items()):
        last = max(map(parse_version, versions), key=version_key)
        newer = sorted(
            (v for v in map(parse_version, there.get(fqn, ())) if version_key(v) > version_key(last)),
            key=version_key,
            reverse=True,
        )
        if newer:
            to = str(newer[0])
            made.append(NewerVersion(fqn, there[fqn][to], tuple(versions), to, tuple(map(str, newer))))
    return made
