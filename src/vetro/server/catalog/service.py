"""The rules of the catalog for those who ask and change; `imports` has those of imports."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from vetro.diagnostics import Text
from vetro.muranopl.declarations.versions import parse_version
from vetro.muranopl.errors import DeclarationError
from vetro.server.accounts.policy import enforce
from vetro.server.caller import Caller
from vetro.server.catalog import blobs, compatibility, deleted_versions, limits, requirements, standard_packages
from vetro.server.catalog.answers import COLUMNS, selected
from vetro.server.catalog.imports import MAX_NAME, ImportResult, categories_named, import_packages, look_again
from vetro.server.catalog.models import Package
from vetro.server.catalog.storage import hold, note, store_changed
from vetro.server.errors import Conflict, Forbidden, Invalid, NotFound, Unavailable
from vetro.server.queries import fetch

__all__ = [
    "ImportResult",
    "change",
    "content",
    "delete",
    "get_package",
    "import_packages",
    "package_named",
    "package_row",
    "visible",
]

_ID, _PUBLIC, _PROJECT = COLUMNS.index("id"), COLUMNS.index("is_public"), COLUMNS.index("project_id")


def visible(caller: Caller, *, everything: bool = True) -> QuerySet[Package]:
    """The packages that the caller sees: the project's own and public ones; administrators see all.

    ``everything`` False: only own and public ones, administrators too.
    """
    if caller.is_admin and everything:
        return Package.objects.all()
    return Package.objects.filter(Q(is_public=True) | Q(project_id=caller.project_id))


def get_package(caller: Caller, id: str, *, reveal: bool = False) -> Package:
    """The package. Raises `NotFound` for one that is not there or that the caller may not see.

    ``reveal``: the latter raises `Forbidden`, as the v1 API answers.
    """
    package = Package.objects.filter(id=id).first() if "\x00" not in id else None
    _seen(caller, id, None if package is None else (package.is_public, package.project_id), reveal)
    assert package is not None
    return package


def package_row(caller: Caller, id: str) -> Sequence[Any]:
    """The columns of `answers.COLUMNS` of one package, by one query. Raises like `get_package` with ``reveal``."""
    rows = fetch(f"SELECT {selected('p')} FROM catalog_package p WHERE p.id = %s", [id]) if "\x00" not in id else []
    _seen(caller, id, (rows[0][_PUBLIC], rows[0][_PROJECT]) if rows else None, True)
    return rows[0]


def _seen(caller: Caller, id: str, found: tuple[Any, str] | None, reveal: bool) -> None:
    if found is None or not (found[0] or caller.sees(found[1]) or reveal):
        raise NotFound(Text("Package id '{id}' not found", id=id[:80]))
    if not (found[0] or caller.sees(found[1])):
        raise Forbidden(
            Text(
                "Package '{id}' is not public and not owned by tenant '{project_id}'",
                id=id,
                project_id=caller.project_id,
            )
        )


def package_named(caller: Caller, text: str) -> Package:
    """The package with this id, or NAME/VERSION, or the newest one of a name. Own ones come before public ones.

    Raises `NotFound` for one that is not there or that the caller may not see.
    """
    name, _, version = text.replace("\0", "").partition("/")
    rows = visible(caller)
    found = None if version else rows.filter(id=name).first()
    if found is None:
        rows = rows.filter(fqn=name)
        if version:
            try:
                rows = rows.filter(version=str(parse_version(version)))
            except DeclarationError:
                rows = rows.none()
        newest = rows.order_by("prerelease", "-version_key").values_list("version_key", flat=True)[:1]
        scope = rows.filter(version_key__in=list(newest))
        found = min(scope, key=lambda one: (one.project_id != caller.project_id, not one.is_public), default=None)
    if found is None:
        raise NotFound(Text("There is no package '{name}'.", name=text[:80]))
    return found


def content(package: Package, what: str) -> bytes:
    """The bytes of ``ui``, ``logo``, ``supplier_logo`` or the archive (``digest``); empty where there are none."""
    digest = getattr(package, what)
    return blobs.get(digest) if digest else b""


def open_archive(package: Package) -> zipfile.ZipFile:
    """The archive of a package, to be read and closed. Raises `Unavailable` for one that is damaged."""
    try:
        return zipfile.ZipFile(io.BytesIO(content(package, "digest")))
    except zipfile.BadZipFile as error:
        raise Unavailable(Text("The archive cannot be read: {error}", error=error)) from None


def change(caller: Caller, package: Package, *, force: bool = False, anyway: bool = False, **values: Any) -> Package:
    """Changes ``name``, ``description``, ``enabled``, ``is_public``, ``tags``, ``categories`` (names) of a package.

    What it contains never changes. Publishing needs rule ``publicize_package``, and ``anyway`` (rule
    ``force_version``) where the number is too low for what the version breaks. Raises `Forbidden`, `Invalid`,
    `NumberTooLow`, `Conflict` (published twice); unless ``force``, `StillRequired` when it is disabled or withdrawn,
    and `RequirementMissing` when it is enabled and what it requires has gone meanwhile.
    """
    _may_change(caller, package)
    name = values.get("name", package.name)
    if not name.strip():
        raise Invalid(Text("Package name must not be empty"))
    if len(name) > MAX_NAME:
        raise Invalid(Text("Package name should be {max_name} characters maximum", max_name=MAX_NAME))
    categories = categories_named(values["categories"]) if "categories" in values else None
    limits.check_tags(values.get("tags", ()))
    if len(values.get("description", "")) > limits.LONGEST_TEXT:
        raise Invalid(
            Text("A description should be {longest_text:,} characters maximum", longest_text=limits.LONGEST_TEXT)
        )
    compat: dict[str, Any] | None = None
    public = values.get("is_public", package.is_public)
    enabled = values.get("enabled", package.enabled)
    if package.embedded and not (enabled and public):
        raise Forbidden(Text("Package '{fqn}' is part of the installation.", fqn=package.fqn))
    if public and not package.is_public:
        enforce(caller, "publicize_package")
        same = Package.objects.filter(fqn=package.fqn, version=package.version, is_public=True)
        if same.exclude(id=package.id).exists():
            raise Conflict(Text("Package with the same Name is already made public"))
        compat = compatibility.judge_published(caller, package, anyway=anyway)
    mended: list[Package] = []
    try:
        with transaction.atomic():
            hold()
            package = Package.objects.select_for_update().get(id=package.id)
            # What is not to change stays as others may have made it meanwhile.
            name = values.get("name", package.name)
            public, enabled = values.get("is_public", package.is_public), values.get("enabled", package.enabled)
            if not force and package.enabled and not enabled:
                requirements.guard(caller, package)
            elif not force and package.is_public and not public:
                requirements.guard(caller, package, public_only=True)
            turned_on = enabled and not package.enabled
            if turned_on:
                _may_enable(package, force)
            if public and not package.is_public and compat is not None:
                package.compat = compat
                if compat.get("forced"):
                    note(caller, package, "force_version", required=compat["required"])
            package.name, package.enabled, package.is_public = name, enabled, public
            package.description = values.get("description", package.description)
            package.tag_names = list(dict.fromkeys(values.get("tags", package.tag_names)))
            store_changed(package, categories)
            note(caller, package, "change", fields=sorted(values))
            if turned_on and package.usable:
                mended = requirements.mend([package.fqn])
                for other in mended:
                    note(caller, other, "mend")
    except Package.DoesNotExist:
        raise NotFound(Text("Package id '{id}' not found", id=package.id)) from None
    except IntegrityError:
        raise Conflict(Text("Package with the same Name is already made public")) from None
    look_again(caller, mended)
    return package


def _may_enable(package: Package, force: bool) -> None:
    """Its requirements are checked as at import: the last package that met one may have gone while it was disabled."""
    found = requirements.unmet(package)
    if not found:
        package.usable = package.readable
    elif not force:
        raise requirements.refuse_enabling(found)


def delete(caller: Caller, package: Package, *, force: bool = False) -> None:
    """Removes a package from the catalog. Environments that use it keep what they have.

    Raises `Forbidden`, and `StillRequired` unless ``force``.
    """
    _may_change(caller, package)
    if package.embedded:
        raise Forbidden(Text("Package '{fqn}' is part of the installation.", fqn=package.fqn))
    with transaction.atomic():
        hold()
        found = Package.objects.filter(id=package.id).first()
        if found is None:
            raise NotFound(Text("Package id '{id}' not found", id=package.id))
        package = found  # a deployment may have ended since it was read
        if not force:
            requirements.guard(caller, package)
        deleted_versions.retire(package)
        note(caller, package, "delete", digest=package.digest)
        package.delete()
        if package.fqn in standard_packages.NAMES:
            standard_packages.ensure()


def _may_change(caller: Caller, package: Package) -> None:
    if package.is_public:
        enforce(caller, "manage_public_package")
    if not caller.sees(package.project_id):
        raise Forbidden(
            Text("Package '{id}' is not owned by tenant '{project_id}'", id=package.id, project_id=caller.project_id)
        )
