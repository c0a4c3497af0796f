"""What an import meets: names that are taken, names that are reserved, versions that cannot change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db.models import Q

from vetro.diagnostics import Text
from vetro.server.caller import Caller
from vetro.server.catalog import deleted_versions, standard_packages
from vetro.server.catalog.drafts import Draft, Options
from vetro.server.catalog.models import Package, PackageClass
from vetro.server.errors import Conflict, Forbidden, Invalid


def check_names(caller: Caller, drafts: Sequence[Draft]) -> None:
    """Raises `Invalid` for a package that is given twice, `Forbidden` for names of the installation."""
    seen = set()
    for draft in drafts:
        key = (draft.row.fqn, draft.row.version)
        if key in seen:
            raise Invalid(Text("{key} {key2} is among the packages twice", key=key[0], key2=key[1]))
        seen.add(key)
        if draft.row.fqn in standard_packages.NAMES and not caller.is_admin:
            raise Forbidden(
                Text("Package '{fqn}' is part of the installation; administrators replace it.", fqn=draft.row.fqn)
            )


def check_conflicts(caller: Caller, drafts: Sequence[Draft], chosen: Options) -> None:
    """Raises `Conflict` for what is there already."""
    names = [d.row.fqn for d in drafts]
    own = Q(project_id=caller.project_id)
    rows = Package.objects.filter(own | Q(is_public=True), fqn__in=names, embedded=False)
    there = list(rows.values_list("fqn", "version", "project_id"))
    classes: dict[str, set[str]] = {}
    for name, fqn in _same_classes(caller, [c for d in drafts for c in d.row.class_names]):
        classes.setdefault(name, set()).add(fqn)
    for draft in drafts:
        row = draft.row
        for fqn, version, project in there:
            if (fqn, version) != (row.fqn, row.version):
                continue
            if project == caller.project_id:
                hint = Text("raise Version in its manifest, or delete that one first")
                raise Conflict(
                    Text("Package {fqn} {version} is already there in this project.", fqn=fqn, version=version),
                    hint=hint,
                )
            if chosen.is_public:
                raise Conflict(Text("Package {fqn} {version} is already public.", fqn=fqn, version=version))
        for name in row.class_names:
            others = classes.get(name, set()) - {row.fqn}
            if others:
                raise Conflict(
                    Text(
                        "Class '{name}' of {fqn} is already there in package {others}.",
                        name=name,
                        fqn=row.fqn,
                        others=min(others),
                    )
                )
    check_among(drafts)
    deleted_versions.check(caller, drafts)


def _same_classes(caller: Caller, names: list[str]) -> Iterable[tuple[str, str]]:
    """(class, package) of the caller's project for classes of these names."""
    for start in range(0, len(names), 400):
        yield from PackageClass.objects.filter(
            package__project_id=caller.project_id, name__in=names[start : start + 400]
        ).values_list("name", "package__fqn")


def check_among(drafts: Sequence[Draft]) -> None:
    """Raises `Conflict` for a class that two packages of the import have."""
    owner: dict[str, str] = {}
    for draft in drafts:
        for name in draft.row.class_names:
            if owner.setdefault(name, draft.row.fqn) != draft.row.fqn:
                raise Conflict(
                    Text(
                        "Class '{name}' is in both {owner} and {fqn}.", name=name, owner=owner[name], fqn=draft.row.fqn
                    )
                )
