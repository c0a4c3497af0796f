"""The standard packages (`vetro.library`) as packages of the catalog."""

from __future__ import annotations

import hashlib
from functools import cache

from django.db import transaction

from vetro import muranopl
from vetro.library import core_packages
from vetro.packages.package import STANDARD
from vetro.server.catalog import blobs
from vetro.server.catalog.models import Package
from vetro.server.catalog.storage import NewPackage, store_new
from vetro.server.catalog.versions import sort_key

#: Names that only administrators may upload.
NAMES = STANDARD


@cache
def installed() -> tuple[Package, ...]:
    """What `ensure` stores, not saved. Ids are made of the content, so that they stay the same."""
    found = []
    for loaded in core_packages():
        digest = hashlib.sha256(loaded.blob).hexdigest()
        found.append(
            Package(
                id=digest[:32],
                project_id="",
                fqn=loaded.name,
                version=str(loaded.version),
                version_key=sort_key(loaded.version),
                prerelease=bool(loaded.version.prerelease),
                name=loaded.display_name,
                sort_name=loaded.display_name.lower(),
                type=loaded.type,
                format=loaded.format_text,
                author=loaded.author or "",
                description=loaded.description or "",
                is_public=True,
                embedded=True,
                digest=digest,
                size=len(loaded.blob),
                tag_names=list(loaded.tags),
                class_names=list(loaded.classes),
                required=dict(loaded.requirements),
            )
        )
    return tuple(found)


def owner_of(class_name: str, package: str | None = None) -> Package | None:
    """The standard package that has a class, or None; ``package``: the only one that may. What runs packages has them
    without a row of the catalog, and finds a class of theirs by this version only: without one it is asked for 0."""
    return next((row for row in installed() if class_name in row.class_names and package in (None, "", row.fqn)), None)


def ensure() -> None:
    """Stores the standard packages of this version of Vetro; called at every start.

    An administrator's public upload of the same name and version stays in their place. Rows of an earlier version of
    Vetro are brought up to date.
    """
    for row, loaded in zip(installed(), core_packages(), strict=True):
        there = Package.objects.filter(fqn=row.fqn, embedded=True).values_list("version", "digest")
        replaced = Package.objects.filter(fqn=row.fqn, version=row.version, is_public=True, embedded=False).exists()
        wanted = [] if replaced else [(row.version, row.digest)]
        if list(there) == wanted:
            continue
        if wanted:
            blobs.put(loaded.blob)
        classes = _classes()[loaded.name]
        with transaction.atomic():
            Package.objects.filter(fqn=row.fqn, embedded=True).delete()
            if wanted:
                fields = {f.attname: getattr(row, f.attname) for f in Package._meta.concrete_fields}
                store_new(NewPackage(Package(**fields), classes))


@cache
def _classes() -> dict[str, dict[str, dict[str, object]]]:
    """Package -> class -> its ancestors, and whether it cannot be picked. Our own packages: linked in this process."""
    session = muranopl.Engine(core_packages()).session()
    try:
        found: dict[str, dict[str, dict[str, object]]] = {}
        for loaded in core_packages():
            kinds = {name: session.types.in_package(loaded, name) for name in loaded.classes}
            found[loaded.name] = {
                name: {"ancestors": list(dict.fromkeys(a.name for a in kind.ancestors[1:])), "abstract": kind.is_meta}
                for name, kind in kinds.items()
            }
        return found
    finally:
        session.close()
