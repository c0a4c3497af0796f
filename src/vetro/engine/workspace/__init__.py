"""Workspaces: environments as folders, for people without a server (DESIGN, "Addresses, contexts, settings").

::

    <workspace>/vetro.toml                              settings, if there are any (`settings`)
                environments/<name>/environment.json    id, name, packages by name, version and digest
                                    packages/           the archives, named by their SHA-256
                                    model-<n>.json      the object model after task n
                                    tasks/<n>/          task.json, outcome.json
                                    journal.db          the journal of its tasks
                                    reports.jsonl       status lines of all tasks
               cloud/                                   state of the local cloud

A task without ``outcome.json`` was interrupted: it can be continued. Everything is written to a temporary file first
and then renamed, so a killed process leaves the old or the new content.
"""

from __future__ import annotations

from vetro.engine.workspace.folder import EnvironmentFolder
from vetro.engine.workspace.store import Workspace, default_root
from vetro.engine.workspace.task_folder import TaskFolder

__all__ = ["EnvironmentFolder", "TaskFolder", "Workspace", "default_root"]
