"""`of_projects`: what each project may have at most and has, for who looks after all of them."""

from __future__ import annotations

from typing import Any, Final

from vetro.data_classes import dataclass
from vetro.server.accounts.models import Project
from vetro.server.accounts.policy import enforce
from vetro.server.caller import Caller
from vetro.server.quotas import service

#: Hundredths from which on a quota is nearly used up.
MUCH: Final = 90


@dataclass(frozen=True, slots=True)
class ProjectQuotas:
    """A project and its quotas (`vetro.server.quotas.service.shown`), those that are used most first."""

    id: str
    name: str
    quotas: list[dict[str, Any]]


def of_projects(
    caller: Caller, *, search: str = "", after: str = "", most: int = 20
) -> tuple[list[ProjectQuotas], int]:
    """Projects by name, those that follow on the name ``after``, and how many there are in all.

    Projects that only a Keystone knows are not among them. Raises `Forbidden`.
    """
    enforce(caller, "operate")
    rows = Project.objects.filter(name__icontains=search) if search else Project.objects.all()
    total = rows.count()
    chosen = rows.filter(name__gt=after).order_by("name")[:most]
    found = [ProjectQuotas(row.id, row.name, _fullest_first(service.shown(caller, row.id))) for row in chosen]
    return found, total


def part(quota: dict[str, Any]) -> int | None:
    """Hundredths of a quota that are in use; None where nobody counts, or where there is no limit."""
    used, limit = quota["used"], quota["limit"]
    if used is None or limit is None:
        return None
    return min(100, int(100 * used / limit)) if limit else 100


def _fullest_first(quotas: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(quotas, key=lambda quota: -(part(quota) or 0))
