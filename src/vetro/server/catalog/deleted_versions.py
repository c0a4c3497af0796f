"""Versions that were deleted: their content is frozen while something uses it, and a failed exchange puts them back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from django.utils import timezone

from vetro.diagnostics import Text
from vetro.server.caller import Caller
from vetro.server.catalog import blobs, hooks
from vetro.server.catalog.drafts import Draft
from vetro.server.catalog.inspection.client import read_archive
from vetro.server.catalog.models import Package, RetiredVersion
from vetro.server.errors import Conflict

#: The client exchanges a package by deleting and uploading it; a refused upload this soon after undoes the deletion.
EXCHANGE = timedelta(seconds=60)
#: What the deletion takes besides the archive.
_KEPT = ("name", "description", "enabled", "is_public", "usable", "tag_names", "category_names")


def retire(package: Package) -> None:
    """Remembers a package that is about to be deleted."""
    RetiredVersion.objects.update_or_create(
        project_id=package.project_id,
        fqn=package.fqn,
        version=package.version,
        defaults={
            "digest": package.digest,
            "kept": {name: getattr(package, name) for name in _KEPT},
            "at": timezone.now(),
        },
    )


def check(caller: Caller, drafts: Sequence[Draft]) -> None:
    """Raises `Conflict` for other content under the name of a version that an environment or a task still uses."""
    retired = {(row.fqn, row.version): row for row in _of(caller, drafts)}
    for draft in drafts:
        row = draft.row
        old = retired.get((row.fqn, row.version))
        if old is None or old.digest == row.digest or not hooks.uses.any(old) or _unpacks_to(old.digest, draft):
            continue
        raise Conflict(
            Text(
                "{fqn} {version} was deployed with other content, and is in use; what is deployed cannot change.",
                fqn=row.fqn,
                version=row.version,
            ),
            hint=Text(
                "raise Version in its manifest; the archive that was deployed can be imported "
                "again: it is in what `vetro env export` writes of an environment that uses it"
            ),
        )


def exchanged(caller: Caller, drafts: Sequence[Draft]) -> list[RetiredVersion]:
    """What the project deleted a moment ago of the versions of these drafts, and has not got again."""
    there = set(
        Package.objects.filter(project_id=caller.project_id, fqn__in=[d.row.fqn for d in drafts]).values_list(
            "fqn", "version"
        )
    )
    named = {(d.row.fqn, d.row.version) for d in drafts} - there
    since = timezone.now() - EXCHANGE
    return [row for row in _of(caller, drafts) if (row.fqn, row.version) in named and row.at >= since and row.kept]


def forget(before: Any) -> None:
    """Drops what was deleted before a time and is not used: its content is nobody's concern any more."""
    for row in RetiredVersion.objects.filter(at__lt=before).iterator():
        if not hooks.uses.any(row):
            row.delete()


def _of(caller: Caller, drafts: Iterable[Draft]) -> Any:
    return RetiredVersion.objects.filter(project_id=caller.project_id, fqn__in=[d.row.fqn for d in drafts])


def _unpacks_to(digest: str, draft: Draft) -> bool:
    """Whether an archive of the store has the same files: clients that pack a folder anew pack it with other times."""
    try:
        data = blobs.get(digest)
    except blobs.BlobMissing:
        return False
    facts, _ = read_archive(draft.row.project_id, data, str(blobs.location_of(digest)), strict=False)
    return bool(facts["content"] == draft.facts["content"])
