"""The packages of an environment: those that its next task gets, and those that its last one used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import Q

from vetro.server.caller import SYSTEM, Caller
from vetro.server.catalog.models import Package
from vetro.server.environments.models import Environment, EnvironmentPackage
from vetro.server.environments.queries import Found


def pinned(environment_id: str) -> dict[str, tuple[str, str]]:
    """Name -> (version, digest) of what the last task used."""
    rows = EnvironmentPackage.objects.filter(environment_id=environment_id).order_by("id")
    return {fqn: (version, digest) for fqn, version, digest in rows.values_list("fqn", "version", "digest")}


def uses(environment_id: str, package: str) -> bool:
    """Whether a package that the last task used requires this one."""
    digests = [digest for _, digest in pinned(environment_id).values()]
    required = Package.objects.filter(digest__in=digests).values_list("required", flat=True)
    return any(package in (names or ()) for names in required)


def chosen(caller: Caller, found: Found, model: Mapping[str, Any]) -> list[Any]:
    """Rows of the packages for a task over ``model``, as the environment's project sees them.

    Raises `Invalid`: which class has none, what there is.
    """
    from vetro.server.catalog.dependencies import packages_for_model

    return list(packages_for_model(caller, model, pinned(found.id), project_id=found.project_id))


def of_project(project_id: str, model: Mapping[str, Any]) -> list[Any]:
    """Rows of the packages for a model that is no environment's, as a project sees them. Raises `Invalid`."""
    from vetro.server.catalog.dependencies import packages_for_model

    return list(packages_for_model(SYSTEM, model, project_id=project_id))


def keep(
    environment: Environment, used: Iterable[Mapping[str, str]], model: Mapping[str, Any], *, deployed: bool = True
) -> None:
    """Pins the packages of a task that left ``model``; ``deployed`` marks them: they cannot be changed any more.

    Those that nothing in the model came from are left out, if the model says which it used.
    """
    told = ((model.get("SystemData") or {}).get("Packages")) or {}
    rows = [
        entry
        for entry in used
        if not told or entry["version"] in [str(version) for version in told.get(entry["fqn"], ())]
    ]
    EnvironmentPackage.objects.filter(environment=environment).delete()
    EnvironmentPackage.objects.bulk_create(
        EnvironmentPackage(environment=environment, fqn=entry["fqn"], version=entry["version"], digest=entry["digest"])
        for entry in rows
    )
    if not deployed:
        return
    # Not those of other projects: whatever somebody does with equal archives is no concern of theirs.
    own = Q(project_id=environment.project_id) | Q(is_public=True)
    Package.objects.filter(own, digest__in=[e["digest"] for e in rows], deployed=False).update(deployed=True)
