"""What to say of a package that a form needs and that no form can use: it is disabled or unusable, not gone."""

from __future__ import annotations

from django.db.models import Q

from vetro.diagnostics import Text
from vetro.model.header import parse_type_text
from vetro.server.catalog.models import Package
from vetro.server.errors import Invalid


def check_usable(row: Package) -> None:
    """Raises `Invalid` for a package that is disabled, or that no deployment uses."""
    if not row.enabled:
        raise Invalid(
            Text("The package {fqn} cannot be used: it is disabled.", fqn=row.fqn),
            hint=Text("enable the package, or ask whoever manages packages to do so"),
        )
    if not row.usable:
        raise Invalid(
            Text(
                "The package {fqn} cannot be used: it lacks packages that it requires, or cannot be read.", fqn=row.fqn
            )
        )


def check_class(project_id: str, written: str) -> None:
    """Raises `Invalid` for a class, as headers write it, that only such packages have; not for one that none has."""
    header = parse_type_text(written)
    seen = Q(is_public=True) | Q(project_id=project_id)
    rows = Package.objects.filter(seen, classes__name=header.name).order_by("-version_key", "id")
    if header.package:
        rows = rows.filter(fqn=header.package)
    found = list(rows)
    found = [row for row in found if row.version == str(header.version or "")] or found
    if found and not any(row.enabled and row.usable for row in found):
        check_usable(found[0])
