"""What a version of a package would change in the environments that use it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vetro.diagnostics import Text
from vetro.packages.lock import LockedPackage
from vetro.server.caller import Caller
from vetro.server.catalog import service as catalog
from vetro.server.catalog.models import Package
from vetro.server.errors import Invalid
from vetro.server.impact import service
from vetro.server.impact.models import Impact


def begin_impact(
    caller: Caller,
    *,
    package: str | None = None,
    all_projects: bool = False,
    beside: Sequence[LockedPackage] = (),
    size: int = 0,
) -> dict[str, Any]:
    """Begins to find out; ``package`` is an id, NAME or NAME/VERSION, ``beside`` an archive of ``size`` bytes that is
    kept."""
    if (package is None) is (not beside):
        raise Invalid(Text("Give one of '{side}' and '{other}'.", side="package", other="archive"))
    chosen = beside[0] if beside else locked(catalog.package_named(caller, package or ""))
    return shown(caller, service.start(caller, chosen, all_projects=all_projects, size=size))


def show_impact(caller: Caller, impact_id: str) -> dict[str, Any]:
    """What was found out so far."""
    return shown(caller, service.get(caller, impact_id))


def show_impact_plan(caller: Caller, impact_id: str, environment_id: str) -> dict[str, Any]:
    """What was found out of one environment."""
    return service.plan(caller, impact_id, environment_id)


def shown(caller: Caller, impact: Impact) -> dict[str, Any]:
    """An impact as clients see it."""
    return {**service.describe(caller, impact), "tasks": service.tasks(impact)}


def locked(row: Package) -> LockedPackage:
    """A package of the catalog. Raises `Invalid` for one that cannot be used."""
    if not row.readable:
        raise Invalid(Text("its classes cannot be read"))
    return row.locked()
