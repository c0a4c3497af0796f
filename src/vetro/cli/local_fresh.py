"""Environments of a workspace as if nothing of them were deployed: the next deployment makes everything."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from vetro.engine.workspace.files import WorkspaceError, write_json
from vetro.yaql.errors import VetroError

if TYPE_CHECKING:
    from vetro.server.environments.copies import Declared


def fresh_start(folder: Any) -> None:
    """Turns an environment into a new one with the same applications: other ids, no history.

    Raises `WorkspaceError` where its newest model has no objects.
    """
    from vetro.engine.models import Environment
    from vetro.server.environments.copies import renewed, undeployed

    root = folder.model().root
    if root is None:
        raise WorkspaceError("the newest model has no objects", hint="import it without --fresh")
    classes = _classes(folder)
    fresh = renewed(undeployed(root, classes), classes)
    made = Environment.new(folder.name, folder.id)
    assert made.root is not None
    made.root.update({key: fresh[key] for key in ("region", "defaultNetworks") if fresh.get(key) is not None})
    made.root["applications"] = fresh.get("applications") or []
    for path in (*folder.path.glob("model-*.json"), folder.path / "reports.jsonl", folder.path / "journal.db"):
        path.unlink(missing_ok=True)
    shutil.rmtree(folder.path / "tasks", ignore_errors=True)
    write_json(folder.path / "model-0.json", made.model)


def forget_resources(folder: Any) -> bool:
    """Takes out of an environment's model that anything of it is deployed, for a cloud that was cleaned; whether there
    was something. Its history stays, and a task that was interrupted goes on from what it knows. Hold its lock."""
    from vetro.server.environments.copies import has_resources, undeployed

    model = folder.model().model
    if folder.open_task() is not None or not has_resources(model):
        return False
    write_json(
        folder.path / f"model-{folder.next_number()}.json", {"Objects": undeployed(model["Objects"], _classes(folder))}
    )
    return True


def _classes(folder: Any) -> Callable[[str], dict[str, Declared]]:
    """What the environment's packages say of their classes."""
    from vetro.packages import load_path
    from vetro.server.environments.copies import properties_of

    packages = [package for path in folder.package_paths() for package in load_path(path)]

    @cache
    def found(type_text: str) -> dict[str, Declared]:
        try:
            return properties_of(packages, type_text)
        except VetroError:
            return {}

    return found
