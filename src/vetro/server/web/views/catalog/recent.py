"""Applications that a person used lately: noted in her web session; before that, what the project deploys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import Count, Q
from django.http import HttpRequest

from vetro.server.caller import Caller
from vetro.server.catalog.models import Package
from vetro.server.environments.models import Environment, EnvironmentPackage, Template
from vetro.server.web.views.packages.rows import of_packages

#: Keys in the web session; packages that are remembered, and those that are shown.
_PACKAGES, _ENVIRONMENT, _TEMPLATE = "vetro_recent", "vetro_environment", "vetro_template"
_MOST, _SHOWN = 12, 4


def note(request: HttpRequest, names: Iterable[str]) -> None:
    """Puts packages (full names) in front of those that were used before."""
    before = request.session.get(_PACKAGES, [])
    after = list(dict.fromkeys([*names, *before]))[:_MOST]
    if after != before:
        request.session[_PACKAGES] = after


def note_environment(request: HttpRequest, environment_id: str) -> None:
    """Remembers where something was added last."""
    request.session[_ENVIRONMENT] = environment_id
    request.session[_TEMPLATE] = ""


def environment(request: HttpRequest) -> str:
    """The environment in which something was added last; '' for none."""
    return str(request.session.get(_ENVIRONMENT, ""))


def note_template(request: HttpRequest, template_id: str) -> None:
    """Remembers the template that is being filled; '' forgets it."""
    request.session[_TEMPLATE] = template_id


def template(request: HttpRequest, caller: Caller) -> Template | None:
    """The template of the caller's project that is being filled; None for none."""
    own = str(request.session.get(_TEMPLATE, ""))
    return Template.objects.filter(id=own, project_id=caller.project_id).defer("model").first() if own else None


def packages(request: HttpRequest, caller: Caller) -> list[dict[str, Any]]:
    """Tiles of them, newest first: those that the catalog still offers."""
    names = list(request.session.get(_PACKAGES, []))
    if len(names) < _SHOWN:
        names += [name for name in _deployed(caller) if name not in names]
    if not names:
        return []
    rows = Package.objects.filter(
        Q(is_public=True) | Q(project_id=caller.project_id), fqn__in=names, enabled=True, type="Application"
    ).order_by("-prerelease", "version_key")
    newest = {row.fqn: row for row in rows}
    return of_packages(caller, [newest[name] for name in names if name in newest][:_SHOWN])


def _deployed(caller: Caller) -> Sequence[str]:
    """Packages of the environments that changed last."""
    mine = Environment.objects.filter(project_id=caller.project_id).order_by("-updated")
    ids = list(mine.values_list("id", flat=True)[:5])
    found = EnvironmentPackage.objects.filter(environment_id__in=ids).order_by("id").values_list("fqn", flat=True)
    return list(dict.fromkeys(name for name in found[:100] if not name.startswith("io.murano")))


def installed(caller: Caller, most: int) -> list[str]:
    """Full names of the packages that environments of the project use."""
    rows = EnvironmentPackage.objects.filter(environment__project_id=caller.project_id)
    return list(rows.order_by("fqn").values_list("fqn", flat=True).distinct()[:most])


def with_uses(caller: Caller, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tiles with ``uses``: in how many environments of the project they are. One statement."""
    names = [row["fully_qualified_name"] for row in rows]
    used = EnvironmentPackage.objects.filter(environment__project_id=caller.project_id, fqn__in=names)
    counted = dict(used.values("fqn").annotate(n=Count("environment", distinct=True)).values_list("fqn", "n"))
    return [{**row, "uses": counted.get(row["fully_qualified_name"], 0)} for row in rows]
