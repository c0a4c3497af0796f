"""What this app does for the apps below, registered at their hooks (`vetro.server.hooks`).

What that needs is loaded when it is called: every command loads this module, few have procedures.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from vetro.engine.outcome import Outcome
from vetro.server.config.config import Config
from vetro.server.environments import hooks as environments
from vetro.server.procedures.models import Procedure, ProcedureStep
from vetro.server.tasks import hooks as tasks
from vetro.server.tasks.member import Member
from vetro.server.tasks.models import Task


def register() -> None:
    """Called once, when models are there."""
    tasks.ended.register(_ended, "EXISTS (SELECT 1 FROM procedures_procedurestep s WHERE s.task_id = t.id)")
    tasks.broken_off.register(_broken_off)
    tasks.beside.register(_begin)
    environments.leaving.register(_leaving)
    environments.environment_of.register(_environment_of)


def _loaded(name: str) -> Any:
    return import_module(f"vetro.server.procedures.{name}")


def _ended(task: Task, outcome: Outcome) -> None:
    _broken_off(task)


def _broken_off(task: Task) -> None:
    if task.kind not in ("deploy", "snapshot"):
        return
    id = ProcedureStep.objects.filter(task_id=task.id).values_list("procedure_id", flat=True).first()
    if id is not None:
        _loaded("store").reconcile(id)


def _leaving(environment_id: str) -> None:
    id = Procedure.objects.filter(environment_id=environment_id, finished=None).values_list("id", flat=True).first()
    if id is not None:
        _loaded("store").reconcile(id, asked="abandon")


def _environment_of(id: str) -> str:
    return Procedure.objects.filter(id=id).values_list("environment_id", flat=True).first() or ""


def _begin(config: Config, member: Member, launcher: Any) -> Any:
    found = _loaded("sweep").Sweeper(config, launcher)
    found.start()
    return found
