"""Updates with a way back in a workspace: the command that began one goes on with it, nobody else does."""

from __future__ import annotations

from collections.abc import Mapping

from vetro.engine.watching.states import State
from vetro.server import sandboxed_workers
from vetro.server.environments.models import Environment, Session
from vetro.server.local import tasks
from vetro.server.local.workspace import Workspace
from vetro.server.procedures.models import Procedure
from vetro.server.procedures.sweep import looking, visit
from vetro.server.tasks.models import Task


def resume_procedure(workspace: Workspace, procedure_id: str) -> None:
    """Goes on with an update that waits; its environment is looked at where that decides. Tasks are not run."""
    visit(procedure_id, lambda row: _look(workspace, row))


def let_go(workspace: Workspace, environment_id: str) -> None:
    """Ends the holding of an environment whose time is over. Nothing where nothing is held, or somebody works on it."""
    row = Procedure.objects.filter(environment_id=environment_id, finished=None, step="holding").first()
    if row is None or workspace.lock(environment_id).holder() is not None:
        return
    resume_procedure(workspace, row.id)
    run_snapshots(workspace, environment_id, str(row.about["environment"]))


def run_snapshots(workspace: Workspace, environment_id: str, name: str) -> None:
    """Runs the tasks that let go of what is held of an environment; nothing is told of them."""
    waiting = Task.objects.filter(environment_id=environment_id, kind="snapshot", state=Task.QUEUED)
    for id in list(waiting.order_by("created", "id").values_list("id", flat=True)):
        tasks.run(workspace, id, name, sandboxed_workers.launcher(), events=lambda event: None)


def health_before(workspace: Workspace, session_id: str, guard: bool | None) -> Mapping[str, State] | None:
    """How the components of a session's environment are now; None where its deployment has no way back anyway."""
    session = Session.objects.filter(id=session_id).first()
    if session is None or guard is False or (guard is None and session.upgrade is None):
        return None
    return health_of(workspace, session.environment_id)


def health_of(workspace: Workspace, environment_id: str) -> Mapping[str, State]:
    """How the components of an environment are now."""
    environment = Environment.objects.get(id=environment_id)
    if not environment.version:
        return {}
    found: Mapping[str, State] = looking().seen(workspace.config, environment, sandboxed_workers.launcher())
    return found


def _look(workspace: Workspace, row: Procedure) -> Mapping[str, State]:
    found: Mapping[str, State] = looking().look(workspace.config, sandboxed_workers.launcher(), row)
    return found
