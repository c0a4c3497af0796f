"""`logos_of`: pictures of the packages that classes come from."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Q

from vetro.server.caller import Caller
from vetro.server.catalog.models import PackageClass


def logos_of(caller: Caller, classes: Iterable[str]) -> dict[str, str]:
    """Class -> address of the logo of the newest package that has it; only for those that have one."""
    wanted = [name for name in classes if name]
    if not wanted:
        return {}
    rows = PackageClass.objects.filter(
        Q(package__is_public=True) | Q(package__project_id=caller.project_id), name__in=wanted[:500]
    ).exclude(package__logo="")
    listed = rows.order_by("package__version_key").values_list("name", "package_id")
    return {name: f"/app/packages/{package}/logo" for name, package in listed}
