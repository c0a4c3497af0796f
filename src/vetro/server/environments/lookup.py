"""What belongs to the caller's project, looked up so that things of others are as unknown as those that there are not.

Each check is one query whose cost does not depend on whose the thing is.
"""

from __future__ import annotations

from typing import Any

from django.db.models import Q

from vetro.diagnostics import Text
from vetro.server.caller import Caller
from vetro.server.environments.limits import known_id
from vetro.server.environments.models import Environment, Session, Template
from vetro.server.errors import NotFound
from vetro.server.tasks.models import Task


def environment(caller: Caller, environment_id: str) -> str:
    """The id of an environment of the project. Raises `NotFound`."""
    rows = Environment.objects.filter(**_mine(caller, "project_id"))
    if not known_id(environment_id) or not rows.filter(id=environment_id).exists():
        raise NotFound(Text("There is no environment '{environment_id}'.", environment_id=environment_id[:80]))
    return environment_id


def session(caller: Caller, session_id: str) -> str:
    """The id of the environment that a session of the project is about. Raises `NotFound`."""
    rows = Session.objects.filter(**_mine(caller, "environment__project_id"))
    found = (
        rows.filter(id=session_id).values_list("environment_id", flat=True).first() if known_id(session_id) else None
    )
    if found is None:
        raise NotFound(Text("There is no session '{session_id}'.", session_id=session_id[:80]))
    return str(found)


def task(caller: Caller, task_id: str) -> str:
    """The id of a task of the project. Raises `NotFound`."""
    rows = Task.objects.filter(**_mine(caller, "project_id"))
    if not known_id(task_id) or not rows.filter(id=task_id).exists():
        raise NotFound(Text("There is no task '{task_id}'.", task_id=task_id[:80]))
    return task_id


def template(caller: Caller, template_id: str, *, change: bool = False) -> str:
    """The id of a template of the project, or (unless it is to be changed) of a public one. Raises `NotFound`."""
    rows = Template.objects.filter(id=template_id) if known_id(template_id) else Template.objects.none()
    if not caller.is_admin:
        mine = Q(project_id=caller.project_id)
        rows = rows.filter(mine if change else mine | Q(is_public=True))
    if not rows.exists():
        raise NotFound(
            Text("There is no template '{template_id}' of your project.", template_id=template_id[:80])
            if change
            else Text("There is no template '{template_id}'.", template_id=template_id[:80])
        )
    return template_id


def _mine(caller: Caller, field: str) -> dict[str, Any]:
    return {} if caller.is_admin else {field: caller.project_id}
