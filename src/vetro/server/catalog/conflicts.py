"""What an import meets: names that are taken, names that are reserved, versions that cannot change (seed 004)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db.models import Q

from vetro.server.caller import Caller
from vetro.server.catalog import blobs, embedded
from vetro.server.catalog.drafts import Draft, Options
from vetro.server.catalog.examining import read_archive
from vetro.server.catalog.models import Package, PackageClass, RetiredVersion
from vetro.server.errors import Conflict, Forbidden, Invalid


def check_names(caller: Caller, drafts: Sequence[Draft]) -> None:
    """Raises `Invalid` for a package that is given twice, `Forbidden` for names of the installation."""
    seen = set()
    for draft in drafts:
        key = (draft.row.fqn, draft.row.version)
        if key in seen:
            raise Invalid(f"{key[0]} {key[1]} is among the packages twice")
        seen.add(key)
        if draft.row.fqn in embedded.NAMES and not caller.is_admin:
            raise Forbidden(f"Package '{draft.row.fqn}' is part of the installation; administrators replace it.")


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
                hint = "raise Version in its manifest, or delete that one first"
                raise Conflict(f"Package {fqn} {version} is already there in this project.", hint=hint)
            if chosen.is_public:
                raise Conflict(f"Package {fqn} {version} is already public.")
        for name in row.class_names:
            others = classes.get(name, set()) - {row.fqn}
            if others:
                raise Conflict(f"Class '{name}' of {row.fqn} is already there in package {min(others)}.")
    check_among(drafts)
    _check_retired(caller, drafts)


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
                raise Conflict(f"Class '{name}' is in both {owner[name]} and {draft.row.fqn}.")


def _check_retired(caller: Caller, drafts: Sequence[Draft]) -> None:
    retired = {
        (fqn, version): digest
        for fqn, version, digest in RetiredVersion.objects.filter(
            project_id=caller.project_id, fqn__in=[d.row.fqn for d in drafts]
        ).values_list("fqn", "version", "digest")
    }
    for draft in drafts:
        row = draft.row
        digest = retired.get((row.fqn, row.version), row.digest)
        if digest != row.digest and not _unpacks_to(digest, draft):
            raise Conflict(
                f"{row.fqn} {row.version} was deployed with other content; what was deployed cannot change.",
                hint="raise Version in its manifest; the archive that was deployed can be imported again: it is in what"
                " `vetro env export` writes of an environment that uses it",
            )


def _unpacks_to(digest: str, draft: Draft) -> bool:
    """Whether an archive of the store has the same files: clients that pack a folder anew pack it with other times."""
    try:
        data = blobs.get(digest)
    except blobs.BlobMissing:
        return False
    facts, _ = read_archive(draft.row.project_id, data, str(blobs.location_of(digest)), strict=False)
    return bool(facts["content"] == draft.facts["content"])
