"""What this app does for the catalog, registered at its hooks (`vetro.server.hooks`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vetro.server.catalog import hooks
from vetro.server.catalog.models import RetiredVersion
from vetro.server.tasks.models import Event, Task
from vetro.server.tasks.spec import packages_of


def register() -> None:
    """Called once, when models are there."""
    hooks.changed.register(_changed)
    hooks.used_digests.register(_used_digests)
    hooks.uses.register(_uses)


def _changed(project_id: str, kind: str, data: dict[str, Any]) -> None:
    Event.objects.create(project_id=project_id, kind=kind, data=data)


def _used_digests() -> Iterator[str]:
    """Everything in unfinished tasks that looks like a digest."""
    for task in Task.objects.exclude(state__in=Task.FINAL).iterator():
        stack: list[Any] = [task.spec]
        while stack:
            item = stack.pop()
            if isinstance(item, dict):
                stack.extend(item.values())
            elif isinstance(item, list):
                stack.extend(item)
            elif isinstance(item, str) and len(item) == 64:
                yield item


def _uses(version: RetiredVersion) -> bool:
    tasks = Task.objects.filter(kind__in=("deploy", "destroy", "action")).exclude(state__in=Task.FINAL)
    if not version.kept.get("is_public"):
        tasks = tasks.filter(project_id=version.project_id)
    return any(version.digest == used["digest"] for task in tasks.iterator() for used in packages_of(task))
