"""Repairs: what is not as it was left is made so again, when somebody says so; servers also without being asked.

A repair deploys what is deployed (`vetro.server.environments.deploy.repair`). Without being asked nothing is deployed:
servers that do not run, and that nobody stopped, are started with their disks.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from datetime import timedelta

from django.db import Error as DatabaseFailed

from vetro.diagnostics import Text
from vetro.server.audit.record import record
from vetro.server.caller import SYSTEM, Caller
from vetro.server.environments import deploy, plan, power, queries
from vetro.server.environments.models import Environment, Session
from vetro.server.errors import Invalid, ServiceError
from vetro.server.quotas.errors import QuotaBusy
from vetro.server.tasks import clock
from vetro.server.tasks.models import Task
from vetro.server.watch import drift

_log = logging.getLogger("vetro.worker")

#: Repairs of one environment that nobody asked for in a day, and seconds without one after a draft was changed.
MOST, WORKED_ON = 3, 3600.0
_DAY = 86400.0
#: What is repaired without being asked: it is started.
_STARTED = frozenset({"server-ended", "server-stopped"})


def planned(caller: Caller, environment_id: str) -> Task:
    """Enqueues the plan of a repair. Raises as `repaired`, but not for a task that works on the environment."""
    return plan.of_repair(caller, environment_id)


def repaired(caller: Caller, environment_id: str) -> Task:
    """Starts a repair. Raises `NotFound`, `Busy`, and `Conflict` where nothing is deployed, or not all of it was."""
    return deploy.repair(caller, environment_id)


def choose(caller: Caller, environment_id: str, how: str) -> None:
    """Says what happens when the environment is not as it was left (`Environment.REPAIRS`). Raises `Invalid`."""
    found = queries.get(caller, environment_id)
    if how not in Environment.REPAIRS:
        raise Invalid(Text("repairs are {known}, not '{how}'", known=", ".join(Environment.REPAIRS), how=how[:40]))
    Environment.objects.filter(id=found.id).update(repair=how)
    record(caller, "environment.change", found.id, found.name, repair=how)


def automatic(environment_ids: Collection[str]) -> list[str]:
    """Those of these environments that are to be repaired without being asked."""
    rows = Environment.objects.filter(id__in=list(environment_ids), repair="auto")
    return list(rows.values_list("id", flat=True))


def unasked(environment_ids: Collection[str]) -> list[str]:
    """Starts the servers that do not run of those environments that are to be repaired without being asked. Those that
    have to wait, since their project has too many tasks already."""
    waiting, full = [], set()
    for row in Environment.objects.filter(id__in=list(environment_ids), repair="auto"):
        if row.project_id in full:  # known without another look
            waiting.append(row.id)
            continue
        try:
            _start(row)
        except DatabaseFailed:
            raise
        except QuotaBusy:
            waiting.append(row.id)
            full.add(row.project_id)
        except ServiceError as error:
            _log.warning("environment %s is not repaired: %s", row.id, error.message)
        except Exception:  # whatever one environment holds, the others are watched and repaired
            _log.exception("environment %s cannot be repaired", row.id)
    return waiting


def _start(row: Environment) -> None:
    now = clock.read()
    recent = Session.objects.filter(environment=row, state=Session.OPENED, revision__gt=0)
    if row.failure or recent.filter(updated__gte=now - timedelta(seconds=WORKED_ON)).exists():
        return  # somebody works on it, or has to
    mine = Task.objects.filter(environment_id=row.id, kind="power", user_id=SYSTEM.user_id)
    if mine.filter(created__gte=now - timedelta(seconds=_DAY)).count() >= MOST:
        return
    found = queries.get(SYSTEM, row.id, model=True)
    ids = {item.id for item in drift.of(found).items if item.kind in _STARTED}
    if found.busy or not ids or not power.able(row):
        return
    task = power.change(SYSTEM, row.id, "start", only=ids, force=True)
    _log.warning("%d servers of environment %s do not run: task %s starts them", len(ids), row.id, task.id)
