"""Stores packages and keeps what stands twice in step: rows to find by, JSON to show, texts to search."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from django.db import connection

from vetro.data_classes import dataclass
from vetro.diagnostics import AuthorText
from vetro.muranopl.declarations.versions import parse_version
from vetro.packages.texts import authored
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.catalog import hooks, spelling
from vetro.server.catalog.limits import shortened
from vetro.server.catalog.models import (
    Ancestor,
    Category,
    Package,
    PackageClass,
    PackageTag,
    PackageText,
    Requirement,
)
from vetro.server.catalog.versions import sort_key
from vetro.yaql.errors import VetroError

#: Any number that nothing else in the database locks.
_LOCK = 0x7665_7472_6F01


@dataclass
class NewPackage:
    """A package that is to be stored: its row, what is known of its classes, its categories."""

    row: Package
    #: Class -> {ancestors, abstract}; classes that are missing here have neither.
    classes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    categories: Sequence[Category] = ()


def row_of(facts: Mapping[str, Any], project_id: str, digest: str, size: int) -> Package:
    """The row for the facts that `read.read` found; not saved."""
    version = parse_version(facts["version"])
    facts = {**facts, **{key: storable(facts[key]) for key in ("name", "author", "description", "supplier")}}
    name = facts["name"] or facts["fqn"]
    return Package(
        project_id=project_id, fqn=facts["fqn"], version=str(version), version_key=sort_key(version),
        prerelease=bool(version.prerelease), name=name, sort_name=sort_name(name), type=facts["type"],
        format=facts["format"], author=facts["author"] or "", description=facts["description"] or "",
        supplier=facts["supplier"], readable=facts["readable"], digest=digest, size=size,
        has_ui=facts["ui"] is not None, tag_names=list(dict.fromkeys(facts["tags"])), class_names=facts["classes"],
        required=facts["required"], references=facts["references"], findings=facts["findings"],
        changes=storable(facts["changes"]), texts=storable(facts["texts"]),
    )  # fmt: skip


def storable(value: Any) -> Any:
    """A copy of texts for people without what some database cannot hold: U+0000, halves of surrogate pairs, numbers
    that JSON does not know.
    """
    if isinstance(value, str):
        return value.replace("\0", "").encode("utf-8", "replace").decode()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {storable(key): storable(item) for key, item in value.items()}
    return [storable(item) for item in value] if isinstance(value, list) else value


def sort_name(name: str) -> str:
    """What lists are ordered by."""
    return name.lower()[:160]


def hold() -> None:
    """Waits until nobody else changes what the catalog offers, to the end of the transaction: whether a requirement is
    met, or a class name free, is seen by looking at many rows, which no constraint of a table can do. SQLite has one
    writer at a time anyway.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])


def store_new(new: NewPackage) -> None:
    """Writes the row and everything around it. Raises `IntegrityError` where the tables refuse it."""
    package = new.row
    package.category_names = [c.name for c in new.categories]
    package.findings = storable(shortened(package.findings))
    package.save(force_insert=True)
    store_classes(package, new.classes)
    Requirement.objects.bulk_create(
        Requirement(package=package, name=name, spec=spec) for name, spec in package.required.items()
    )
    _write_tags(package)
    if new.categories:
        package.categories.set(new.categories)
    searched = texts(package)
    PackageText.objects.create(package=package, **searched)
    spelling.learn([searched])


def store_classes(package: Package, known: Mapping[str, Mapping[str, Any]]) -> None:
    """Writes the rows of a package's classes in place of those that are there."""
    package.classes.all().delete()
    classes = PackageClass.objects.bulk_create(
        PackageClass(package=package, name=name, abstract=bool(known.get(name, {}).get("abstract")))
        for name in package.class_names
    )
    Ancestor.objects.bulk_create(
        [
            Ancestor(of=row, name=ancestor)
            for row in classes
            for ancestor in known.get(row.name, {}).get("ancestors", ())
        ],
        batch_size=500,
    )


def store_changed(package: Package, categories: Sequence[Category] | None = None) -> None:
    """Writes a changed row; tags follow its ``tag_names``, categories are replaced when given."""
    package.sort_name = sort_name(package.name)
    if categories is not None:
        package.category_names = [c.name for c in categories]
        package.categories.set(categories)
    package.save()
    tags = set(package.tags.values_list("tag", flat=True))
    if tags != set(package.tag_names):
        package.tags.all().delete()
        _write_tags(package)
    searched = texts(package)
    PackageText.objects.filter(package=package).update(**searched)
    spelling.learn([searched])


def _write_tags(package: Package) -> None:
    PackageTag.objects.bulk_create(PackageTag(package=package, tag=tag) for tag in dict.fromkeys(package.tag_names))


def texts(package: Package) -> dict[str, str]:
    """What search looks through; fields with several values have one a line."""
    return {
        "name": package.name.lower(),
        "fqn": package.fqn.lower(),
        "description": _in_all_languages(package, package.description).lower(),
        "categories": "\n".join(package.category_names).lower(),
        "tags": "\n".join(package.tag_names).lower(),
        "classes": "\n".join(package.class_names).lower(),
        "author": package.author.lower(),
    }


def _in_all_languages(package: Package, text: str) -> str:
    told = authored(text, package.texts)
    return "\n".join((text, *told.translations.values())) if isinstance(told, AuthorText) else text


def from_blob(project_id: str, fqn: str, version: str, digest: str) -> Package | None:
    """A package that is not in the catalog any more, made from its archive; None when that is gone, too.

    Its id begins with ``gone-``; it is never saved.
    """
    from vetro.server.catalog.inspection.client import facts_of

    try:
        facts, size = facts_of(project_id, digest)
    except VetroError:
        return None
    package = row_of(facts, project_id, digest, size)
    package.id = f"gone-{digest[:27]}"
    return package if package.fqn == fqn and package.version == version else None


def note(caller: Caller, package: Package, change: str, **details: Any) -> None:
    """The audit record and the event of a change; within its transaction."""
    record(caller, f"package.{change}", package.id, package.fqn, version=package.version, **details)
    data = {"id": package.id, "fqn": package.fqn, "version": package.version, "change": change}
    hooks.changed(package.project_id, "package", data)
