"""What this app does for the apps below, registered at their hooks (`vetro.server.hooks`).

What that needs is loaded when it is called: every command loads this module, few end tasks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vetro.server.config.config import Config
from vetro.server.procedures import hooks as procedures
from vetro.server.procedures.models import Procedure
from vetro.server.tasks import hooks as tasks
from vetro.server.tasks.member import Member
from vetro.server.tasks.models import Task

if TYPE_CHECKING:
    from vetro.engine.task.launcher import Launcher
    from vetro.server.notices.deliverer import Deliverer


def register() -> None:
    """Called once, when models are there."""
    tasks.changed.register(_task_changed, "EXISTS (SELECT 1 FROM notices_rule r WHERE r.project_id = t.project_id)")
    tasks.beside.register(_begin)
    procedures.settled.register(_settled)


def _task_changed(task: Task) -> None:
    _outbox().task_changed(task)


def _settled(row: Procedure) -> None:
    _outbox().update_settled(row)


def _outbox() -> Any:
    from vetro.server.notices import outbox

    return outbox


def _begin(config: Config, member: Member, launcher: Launcher) -> Deliverer:
    from vetro.server.notices.deliverer import Deliverer  # workers need it

    found = Deliverer(config, member.id)
    found.start()
    return found
