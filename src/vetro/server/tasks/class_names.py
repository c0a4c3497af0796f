"""Which packages, and which class of theirs, somebody means who names a class from outside (API.md 10)."""

from __future__ import annotations

from typing import Any, NamedTuple

from vetro.diagnostics import Text
from vetro.muranopl.declarations.versions import parse_spec
from vetro.server.caller import Caller
from vetro.server.catalog.dependencies import packages_for
from vetro.server.catalog.models import PackageClass
from vetro.server.catalog.standard_packages import owner_of
from vetro.server.errors import Invalid, NotFound


class ResolvedClass(NamedTuple):
    """``packages``: rows of the catalog with all that they require; ``on_class``: what `Task.on_class` wants."""

    packages: list[Any]
    on_class: dict[str, Any]


def find(caller: Caller, class_name: str, version: str | None = None, package: str | None = None) -> ResolvedClass:
    """The class among the packages that the caller may see.

    A version that nothing matches does not count, as recorded. Raises `NotFound` for a class or package that there is
    not, `Invalid` for a text that is no version.
    """
    if version:
        try:
            parse_spec(version)
        except Exception as error:
            raise Invalid(str(getattr(error, "message", error))) from None
    chosen = _chosen(caller, package or class_name, version or None)
    if chosen is None:
        what = (
            Text('Package "{package}"', package=package)
            if package
            else Text('Package for class "{class_name}"', class_name=class_name)
        )
        raise NotFound(Text("{what} is not found", what=what))
    owners = {
        row.package_id
        for row in PackageClass.objects.filter(name=class_name, package_id__in=[p.id for p in chosen]).only(
            "package_id"
        )
    }
    own = next((p for p in chosen if p.id in owners and package in (None, p.fqn)), None) or owner_of(
        class_name, package
    )
    if own is None:  # the package has none of this name
        return ResolvedClass(chosen, {"name": class_name, "version": None, "package": package})
    return ResolvedClass(chosen, {"name": class_name, "version": f"=={own.version}", "package": own.fqn})


def _chosen(caller: Caller, name: str, version: str | None) -> list[Any] | None:
    for spec in dict.fromkeys((version, None)):
        try:
            return list(packages_for(caller, [(name, spec)]))
        except Invalid:
            continue
    return None
