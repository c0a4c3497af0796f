"""Classes of the catalog: what a picker offers for a property of some class."""

from __future__ import annotations

from django.db.models import Q

from vetro.data_classes import dataclass
from vetro.muranopl.declarations.versions import parse_spec, parse_version
from vetro.server.caller import Caller
from vetro.server.catalog.models import PackageClass


@dataclass(frozen=True, slots=True)
class Implementation:
    """A class that can be picked, in the newest version that fits."""

    class_name: str
    package_id: str
    fqn: str
    version: str
    #: Display name of the package.
    name: str


def implementations(
    caller: Caller, base: str, *, spec: str | None = None, search: str = "", limit: int = 100, offset: int = 0
) -> list[Implementation]:
    """Classes that are or inherit ``base``, of enabled and usable packages that the caller's project sees.

    ``spec`` limits the versions of their packages. Ordered by the name of the package, then of the class. Metadata
    classes are left out. Raises `DeclarationError` for a spec that is none.
    """
    found = PackageClass.objects.filter(
        Q(package__is_public=True) | Q(package__project_id=caller.project_id),
        Q(name=base) | Q(ancestors__name=base),
        package__enabled=True,
        package__usable=True,
        abstract=False,
    )
    if search:
        found = found.filter(Q(name__icontains=search) | Q(package__name__icontains=search))
    allowed = parse_spec(spec) if spec is not None else None
    rows = (
        found.order_by("package__sort_name", "name", "package__prerelease", "-package__version_key")
        .values_list("name", "package_id", "package__fqn", "package__version", "package__name", "package__project_id")
        .distinct()
    )
    # Own packages hide public ones of the same version; of each class the first fitting version is the newest.
    best: dict[tuple[str, str], Implementation] = {}
    owner: dict[tuple[str, str], str] = {}
    for name, id, fqn, version, title, project in rows.iterator():
        if allowed is not None and not allowed.match(parse_version(version)):
            continue
        key = (fqn, name)
        known = best.get(key)
        own = project == caller.project_id
        if known is None or (known.version == version and own and owner[key] != caller.project_id):
            best[key] = Implementation(name, id, fqn, version, title)
            owner[key] = project
    return list(best.values())[offset : offset + limit]
