"""Which environments could have newer versions of their packages, kept so that lists read it with one statement.

`refresh` follows an environment (a deployment), `renew` a package (imported, changed, published, deleted).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from vetro.data_classes import dataclass
from vetro.model.header import parse_type_text, type_of
from vetro.model.tree import objects
from vetro.muranopl.declarations.versions import parse_version, version_key
from vetro.muranopl.errors import DeclarationError
from vetro.packages.lock import LockedPackage
from vetro.server.catalog.models import Package
from vetro.server.catalog.verdicts import verdict_of
from vetro.server.environments.models import Environment, State, UpgradeOffer
from vetro.server.environments.packages import pinned
from vetro.server.queries import fetch

#: What an offer says; the package first.
_OFFERED: Final = ("package", "lowest", "highest", "to", "name", "bump", "verdict", "security")
_PRESENT: Final = """
SELECT package, lowest, highest, "to", name, bump, verdict, security FROM environments_upgradeoffer
WHERE environment_id = %s
"""
#: Rows of one statement.
_TOGETHER: Final = 500
#: From the least to the most urgent.
URGENCY: Final = ("patch", "minor", "breaking", "security")


@dataclass(frozen=True, slots=True)
class Available:
    """A newer version, as lists tell of it."""

    package: str
    name: str
    #: The lowest version that objects have.
    used: str
    to: str
    #: `URGENCY`
    bump: str
    verdict: str


def of_environments(ids: Collection[str]) -> dict[str, list[Available]]:
    """What is newer for these environments, the most urgent first. One statement."""
    found: dict[str, list[Available]] = {}
    rows = UpgradeOffer.objects.filter(environment_id__in=list(ids)).exclude(to="").order_by("package")
    for row in rows:
        bump = "security" if row.security else row.bump
        made = Available(row.package, row.name, row.lowest, row.to, bump, row.verdict)
        found.setdefault(row.environment_id, []).append(made)
    for several in found.values():
        several.sort(key=lambda one: -URGENCY.index(one.bump))
    return found


def refresh(
    environment: Environment, model: Mapping[str, Any] | None, known: Sequence[LockedPackage] | None = None
) -> None:
    """Writes down what an environment uses, and what is newer, after its newest state was written. ``known``: what is
    `pinned`, where that was read."""
    used = used_versions((model or {}).get("Objects"), pinned(environment.id) if known is None else known)
    made = []
    packages = _packages(used)
    for name, versions in sorted(used.items()):
        offer = UpgradeOffer(environment=environment, package=name, lowest=versions[0], highest=versions[-1])
        _fill(offer, environment.project_id, packages.get(name, ()))
        made.append(offer)
    before = sorted(fetch(_PRESENT, [environment.id]))
    if before != [tuple(getattr(offer, name) for name in _OFFERED) for offer in made]:  # most deployments change none
        if before:
            UpgradeOffer.objects.filter(environment=environment).delete()
        UpgradeOffer.objects.bulk_create(made)
    if not environment.offered:
        Environment.objects.filter(id=environment.id, offered=False).update(offered=True)


def renew(package: str, without: str = "") -> int:
    """Looks again what is newer for all environments that use a package; ``without``: a version (id) that goes. How
    many changed."""
    rows = UpgradeOffer.objects.filter(package=package).select_related(None).order_by("id")
    projects = dict(rows.values_list("id", "environment__project_id"))
    packages = [row for row in _packages([package]).get(package, ()) if row.id != without] if projects else []
    changed = []
    for offer in rows:
        before = (offer.to, offer.name, offer.bump, offer.verdict, offer.security)
        _fill(offer, projects.get(offer.id) or "", packages)
        if (offer.to, offer.name, offer.bump, offer.verdict, offer.security) != before:
            changed.append(offer)
    UpgradeOffer.objects.bulk_update(changed, ["to", "name", "bump", "verdict", "security"], batch_size=_TOGETHER)
    return len(changed)


def fill(most: int = _TOGETHER) -> int:
    """Writes down what environments use that an earlier version of Vetro deployed; how many."""
    rows = list(Environment.objects.filter(offered=False, version__gt=0)[:most])
    for row in rows:
        state = State.objects.filter(environment=row).order_by("-number").first()
        model: Any = None if state is None else state.model
        refresh(row, model)
    return len(rows)


def _packages(names: Iterable[str]) -> dict[str, list[Package]]:
    found: dict[str, list[Package]] = {}
    rows = Package.objects.filter(fqn__in=list(names), usable=True, prerelease=False, enabled=True)
    fields = ("id", "project_id", "is_public", "fqn", "version", "name", "compat", "changes")
    for row in rows.only(*fields):
        found.setdefault(row.fqn, []).append(row)
    return found


def _fill(offer: UpgradeOffer, project: str, rows: Iterable[Package]) -> None:
    """Says what is newer among the packages of this name."""
    last = version_key(parse_version(offer.highest))
    seen = [row for row in rows if row.is_public or row.project_id == project]
    newer = [row for row in seen if version_key(parse_version(row.version)) > last]
    best = max(
        newer, key=lambda row: (version_key(parse_version(row.version)), row.project_id == project), default=None
    )
    offer.to, offer.name, offer.bump, offer.verdict, offer.security = "", "", "", "", False
    if best is not None:
        offer.to, offer.name = best.version, best.name[:255]
        offer.bump, offer.verdict = bump(offer.lowest, best.version), verdict_of(best.compat)
        offer.security = any(
            change["kind"] == "security"
            for release in best.changes or ()
            if version_key(parse_version(release["version"])) > last
            for change in release["changes"]
        )


# -- versions ----------------------------------------------------------------------------------------------------------


def bump(old: str, new: str) -> str:
    """What the numbers say of a newer version; before 1.0.0 the second one may break."""
    one, other = parse_version(old), parse_version(new)
    if one.major != other.major or (one.major == 0 and one.minor != other.minor):
        return "breaking"
    return "minor" if one.minor != other.minor else "patch"


def used_versions(root: Any, pinned: Sequence[LockedPackage]) -> dict[str, list[str]]:
    """The packages of the objects below ``root``, each with the versions that they have, lowest first."""
    known = {package.name: package.version for package in pinned}
    used: dict[str, set[str]] = {}
    for _, version, package in headers(root):
        if package in known:
            used.setdefault(package, set()).add(_exact(version) or known[package])
    return {name: sorted(versions, key=lambda v: version_key(parse_version(v))) for name, versions in used.items()}


def headers(root: Any) -> list[tuple[str, str | None, str | None]]:
    """Class, version and package of the objects below ``root``, each once."""
    return list(dict.fromkeys(parse_type_text(type_of(obj)) for obj in objects(root)))


def _exact(version: str | None) -> str | None:
    """The version in a header; None for a spec, which is there until something was deployed."""
    try:
        return version and str(parse_version(version))
    except DeclarationError:
        return None
