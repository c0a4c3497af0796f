"""The Django app of the watcher."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.apps import AppConfig

from vetro.server.config.config import Config

if TYPE_CHECKING:
    from vetro.engine.outcome import Outcome
    from vetro.engine.task.launcher import Launcher
    from vetro.server.tasks.member import Member
    from vetro.server.tasks.models import Task
    from vetro.server.watch.watcher import Watcher


#: Whether somebody found something of the environment of task ``t`` by looking once.
_SEEN_ONCE = """EXISTS (SELECT 1 FROM watch_health h JOIN watch_watchmark m ON m.label = h.label AND m.worker = ''
  WHERE h.environment_id = t.environment_id AND h.label <> '')"""


class WatchConfig(AppConfig):
    """Watches beside the tasks of workers."""

    name = "vetro.server.watch"

    def ready(self) -> None:
        """Registers what this app does for others (`vetro.server.hooks`)."""
        from vetro.server.tasks import hooks

        hooks.beside.register(_begin)
        hooks.ended.register(_ended, _SEEN_ONCE)


def _ended(task: Task, outcome: Outcome) -> None:
    from vetro.server.watch.service import outdated  # with models

    outdated(task, outcome)


def _begin(config: Config, member: Member, launcher: Launcher) -> Watcher:
    from vetro.server.watch.watcher import Watcher  # workers need it; commands begin without

    found = Watcher(config, member, launcher)
    found.start()
    return found
