"""Pictures and names of the packages that classes come from."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import F, Q, QuerySet

from vetro.server.caller import Caller
from vetro.server.catalog.models import PackageClass


def logos_of(caller: Caller, classes: Iterable[str]) -> dict[str, str]:
    """Class -> address of the logo of the newest package that has it; only for those that have one."""
    listed = _rows(caller, classes).exclude(package__logo="").values_list("name", "package_id")
    return {name: f"/app/packages/{package}/logo" for name, package in listed}


def titles_of(caller: Caller, classes: Iterable[str]) -> dict[str, str]:
    """Class -> name of the application whose main class it is, in its newest package."""
    listed = _rows(caller, classes).filter(name=F("package__fqn"))
    return {name: title for name, title in listed.values_list("name", "package__name") if title}


def _rows(caller: Caller, classes: Iterable[str]) -> QuerySet[PackageClass]:
    """The classes with these names that the caller may see, those of the newest packages last."""
    wanted = [name for name in classes if name][:500]
    mine = Q(package__is_public=True) | Q(package__project_id=caller.project_id)
    return PackageClass.objects.filter(mine, name__in=wanted).order_by("package__version_key")
