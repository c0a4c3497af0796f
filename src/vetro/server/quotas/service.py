"""What others call of the quotas: shown to who belongs to a project, changed by administrators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from vetro.clouds.quotas import QUOTAS, UNLIMITED, QuotaInvalid, limit_of
from vetro.server.accounts.models import Project
from vetro.server.accounts.people import find_project
from vetro.server.accounts.policy import enforce
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.config import cloud_settings
from vetro.server.errors import Invalid, NotFound
from vetro.server.quotas import enforcement, limits
from vetro.server.quotas.models import ProjectQuota
from vetro.server.quotas.usage import measured, used, used_in_cloud
from vetro.server.setup import config

_MANAGE = "manage_accounts"


def shown(caller: Caller, project_id: str) -> list[dict[str, Any]]:
    """Every quota of a project: {name, meaning, unit, used, limit, default, own}.

    ``limit`` is None where there is none, ``used`` where nobody counts: places in a process; a cloud that is not on
    this machine. Clouds of other kinds have quotas of their own: those that Vetro keeps for clouds are left out. Raises
    `Forbidden` for the project of others.
    """
    if project_id != caller.project_id:
        enforce(caller, _MANAGE)
    own = limits.own_limits(project_id)
    cloud = used_in_cloud(project_id)
    able = cloud_settings.capabilities(config())
    kept = able is not None and able.quota
    made = []
    for name, quota in QUOTAS.items():
        if quota.kept_by == "cloud" and not kept:
            continue
        usual = int(config()[f"quotas.{name}"])
        has: float | None = None
        if quota.kept_by == "cloud":
            has = cloud[name] if cloud is not None else None
        elif measured(name):
            has = used(project_id, name)
            has = round(has / (1 << 20), 3) if quota.unit == "MiB" else has
        made.append(
            {
                "name": name,
                "meaning": quota.meaning,
                "unit": quota.unit,
                "used": has,
                "limit": _shown(own.get(name, usual)),
                "default": _shown(usual),
                "own": name in own,
            }
        )
    return made


def change(caller: Caller, project_id: str, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Sets limits of a project; null gives it that of the settings again, -1 none. All or nothing.

    What a project has beyond a new limit stays. Raises `Forbidden`, `Invalid`.
    """
    enforce(caller, _MANAGE)
    wanted = {name: _wanted(name, value) for name, value in given.items()}
    with transaction.atomic():
        for name, value in wanted.items():
            rows = ProjectQuota.objects.filter(project_id=project_id, name=name)
            if value is None:
                rows.delete()
            else:
                ProjectQuota.objects.update_or_create(project_id=project_id, name=name, defaults={"most": value})
        if wanted:
            record(caller, "project.quota", project_id, "", **wanted)
    limits.forget()
    enforcement.forget()
    return shown(caller, project_id)


def project_named(name: str) -> str:
    """The id of a project by name or id; with Keystone any id will do. Raises `NotFound`."""
    try:
        return str(find_project(name).id)
    except NotFound:
        if config()["keystone.url"] and 0 < len(name) <= 64 and name.isalnum():
            return name
        raise


def name_of(project_id: str) -> str:
    """The name of a project; its id where no table knows it."""
    return Project.objects.filter(id=project_id).values_list("name", flat=True).first() or project_id


def _wanted(name: str, value: Any) -> int | None:
    try:
        found = limit_of(name, 0 if value is None else value)
    except QuotaInvalid as error:
        raise Invalid(error.message) from None
    return None if value is None else found


def _shown(value: int) -> int | None:
    return None if value == UNLIMITED else value
