"""What this app does for the apps below, registered at their hooks (`vetro.server.hooks`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vetro.engine.outcome import Outcome
from vetro.server.caller import Caller
from vetro.server.catalog import hooks as catalog
from vetro.server.catalog.models import RetiredVersion
from vetro.server.environments import offers
from vetro.server.environments.models import EnvironmentPackage, Session
from vetro.server.tasks import hooks as tasks
from vetro.server.tasks.models import Task


def register() -> None:
    """Called once, when models are there."""
    tasks.ended.register(_ended)
    tasks.broken_off.register(_broken_off)
    tasks.again.register(_again)
    catalog.used_digests.register(_used_digests)
    catalog.uses.register(_uses)
    catalog.changed.register(_package_changed)


# What these two need is loaded when they are called: every command loads this module, few end tasks.


def _ended(task: Task, outcome: Outcome) -> None:
    from vetro.server.environments.outcomes import task_ended

    task_ended(task, outcome)


def _package_changed(project: str, kind: str, data: dict[str, Any]) -> None:
    if kind == "package":
        offers.renew(data["fqn"], data["id"] if data["change"] in ("delete", "replace") else "")


def _again(caller: Caller, task: Task) -> Task:
    from vetro.server.environments.deploy import again

    return again(caller, task)


def _broken_off(task: Task) -> None:
    if task.session_id:
        Session.objects.filter(id=task.session_id).update(state=Session.FAILED)


def _used_digests() -> Iterable[str]:
    from vetro.server.environments import packages

    return (package.digest for package in packages.archives())


def _uses(version: RetiredVersion) -> bool:
    pinned = EnvironmentPackage.objects.filter(fqn=version.fqn, version=version.version, digest=version.digest)
    if not version.kept.get("is_public"):
        pinned = pinned.filter(environment__project_id=version.project_id)
    return pinned.exists()
