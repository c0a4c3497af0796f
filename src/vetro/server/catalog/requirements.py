"""Requirements between packages of the catalog: met at import, kept when something is taken away."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import entry_points

from django.db.models import Q

from vetro.diagnostics import Text
from vetro.muranopl.declarations.versions import parse_spec, parse_version
from vetro.packages.extensions import ENTRY_POINT_GROUP
from vetro.server.caller import Caller
from vetro.server.catalog.models import Package, Requirement
from vetro.server.catalog.resolver import PackageRow, Rows
from vetro.server.errors import Conflict, Invalid


class RequirementMissing(Invalid):
    """Nothing that the importer sees meets a requirement; ``details.missing`` is what `missing` found."""

    kind = "package-not-found"
    code = "SRV521"


class StillRequired(Conflict):
    """Other packages require it, and no other version would do; ``details.dependants`` names them."""

    code = "SRV522"


def missing(rows: Rows, packages: Iterable[Package], plugins: frozenset[str]) -> list[dict[str, object]]:
    """Requirements of these packages that no enabled, usable package meets: [{package, requires, spec, versions}].

    ``plugins``: names of required packages that installed extensions provide.
    """
    found: list[dict[str, object]] = []
    wanted = [PackageRow(package) for package in packages]
    rows.prepare([name for row in wanted for name in row.effective_requirements])
    for row in wanted:
        for name, spec in row.effective_requirements.items():
            if (name == row.name and name not in row.requirements) or name in plugins:
                continue
            versions = rows.packages(name)
            parsed = parse_spec(spec)
            if not any(parsed.match(other.version) for other in versions):
                there = sorted((other.version for other in versions), reverse=True)
                found.append(
                    {"package": row.name, "version": row.package.version, "requires": name, "spec": str(spec or "0"),
                     "versions": [str(v) for v in there]}
                )  # fmt: skip
    return found


def unmet(package: Package) -> list[dict[str, object]]:
    """What `missing` finds of a package of the catalog: whether it may be enabled, or is usable again."""
    return missing(Rows(package.project_id, [package]), [package], _plugins())


def _plugins() -> frozenset[str]:
    """Names of the packages that installed extensions provide, none of whose code is imported here."""
    return frozenset(point.dist.name for point in entry_points(group=ENTRY_POINT_GROUP) if point.dist is not None)


def refuse_missing(found: Sequence[dict[str, object]]) -> RequirementMissing:
    """The error of an import for what `missing` found."""
    return RequirementMissing(
        Text("Couldn't load package: {told}", told="; ".join(_told(found))),
        hint=Text("import what is missing first or together with it, or allow missing requirements"),
        details={"missing": list(found)},
    )


def refuse_enabling(found: Sequence[dict[str, object]]) -> RequirementMissing:
    """The error for a disabled package that is to be enabled, for what `unmet` found."""
    return RequirementMissing(
        Text("Couldn't enable package: {told}", told="; ".join(_told(found))),
        hint=Text("import or enable what is missing first, or force it"),
        details={"missing": list(found)},
    )


def _told(found: Iterable[dict[str, object]]) -> list[str]:
    texts = []
    for item in found:
        versions = item["versions"]
        there = f"there is {', '.join(versions)}" if isinstance(versions, list) and versions else "there is none"
        texts.append(f"{item['package']} {item['version']} requires {item['requires']} {item['spec']}; {there}")
    return texts


def guard(caller: Caller, package: Package, *, public_only: bool = False) -> None:
    """Raises `StillRequired` when taking the package away leaves a requirement of another one unmet.

    ``public_only``: it only stops being public; its own project keeps it.
    """
    if not (package.enabled and package.usable):
        return
    left = _left_without(package, public_only)
    if not left:
        return
    seen = [p for p in left if p.is_public or caller.sees(p.project_id)]
    names = [f"{p.fqn} {p.version}" for p in seen[:10]]
    if len(seen) > 10:
        names.append(f"{len(seen) - 10} more")
    if len(seen) < len(left):
        names.append("packages of other projects")
    raise StillRequired(
        Text(
            "{fqn} {version} is required by {names}, and no other version would do",
            fqn=package.fqn,
            version=package.version,
            names=", ".join(names),
        ),
        hint=Text("remove these first, import another fitting version, or force it"),
        details={"dependants": [{"id": p.id, "fqn": p.fqn, "version": p.version} for p in seen]},
    )


def _left_without(package: Package, public_only: bool) -> list[Package]:
    version = parse_version(package.version)
    asking = Requirement.objects.filter(name=package.fqn, package__enabled=True, package__usable=True)
    if not package.is_public:
        asking = asking.filter(Q(package__project_id=package.project_id))
    elif public_only:
        asking = asking.exclude(package__project_id=package.project_id)
    asking = asking.exclude(package_id=package.id)
    others = list(
        Package.objects.filter(fqn=package.fqn, enabled=True, usable=True)
        .exclude(id=package.id)
        .values_list("project_id", "is_public", "version")
    )
    unmet = []
    for project, spec in asking.values_list("package__project_id", "spec").distinct():
        parsed = parse_spec(spec)
        if parsed.match(version) and not any(
            (public or owner == project) and parsed.match(parse_version(text)) for owner, public, text in others
        ):
            unmet.append((project, spec))
    if not unmet:
        return []
    which = Q()
    for project, spec in unmet:
        which |= Q(package__project_id=project, spec=spec)
    found = asking.filter(which).select_related("package").order_by("package__fqn", "package__version_key")
    return list({row.package.id: row.package for row in found}.values())


def mend(names: Iterable[str]) -> list[Package]:
    """Makes packages usable whose missing requirements have arrived under these names; those packages.

    What waits for one that waits itself is looked at, too: chains and circles become usable when their last part comes.
    """
    waiting = _waiting(set(names))
    while waiting:
        lacking = {
            package.id for package in waiting if missing(_with_seen(package, waiting), [package], _plugins())
        }  # fmt: skip
        if not lacking:
            break
        waiting = [package for package in waiting if package.id not in lacking]
    for package in waiting:
        package.usable = package.unlinked = True
        package.save(update_fields=["usable", "unlinked", "updated"])
    return waiting


def _waiting(names: set[str]) -> list[Package]:
    """Sound packages that nobody can use, of these names or with a requirement of such a name, near or far."""
    found: dict[str, Package] = {}
    level = names
    while level:
        unusable = Package.objects.filter(usable=False, readable=True, enabled=True)
        news = unusable.filter(Q(fqn__in=level) | Q(requirements__name__in=level)).distinct()
        level = {package.fqn for package in news if package.id not in found} - names
        names |= level
        found.update((package.id, package) for package in news)
    return list(found.values())


def _with_seen(package: Package, waiting: Sequence[Package]) -> Rows:
    """The packages that the project of one sees, as if those that wait were usable already."""
    return Rows(package.project_id, [p for p in waiting if p.is_public or p.project_id == package.project_id])
