"""Guarded updates by two real workers on PostgreSQL, of which one after the other is killed: each environment has one
task at a time, and no update stays between. What each step does when it is killed is tried in `test_kills`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.server.operations.database.conftest import cluster
from tests.server.operations.database.kit import once
from tests.server.tasks.fleet import Fleet, database
from tests.support.waiting import until

__all__ = ["cluster"]
pytestmark = [pytest.mark.database, once, pytest.mark.slow, pytest.mark.campaign, pytest.mark.timeout(1800)]

#: Environments, each of which is updated until so many workers were killed.
ENVIRONMENTS, KILLS = 8, 12
HERE = f"{__name__}:"


@pytest.fixture
def fleet(cluster: str, tmp_path: Path) -> Iterator[Fleet]:
    """An installation without workers."""
    with database(cluster) as url:
        made = Fleet(tmp_path, {"VETRO_DATABASE__URL": url})
        yield made
        made.close()


def test_many_updates_by_workers_that_are_killed(fleet: Fleet) -> None:
    chance = random.Random("two workers")
    for _ in range(2):
        fleet.work("--tasks", "3")
    fleet.look(HERE + "found_markets", count=ENVIRONMENTS)
    until(lambda: fleet.look(HERE + "free") == ENVIRONMENTS, 600)
    killed, ends = 0, {"kept": 0, "restored": 0}
    while killed < KILLS:
        assert fleet.look(HERE + "update_all", seed=killed) == ENVIRONMENTS

        def ended() -> bool:
            nonlocal killed
            assert fleet.look(HERE + "most_at_once") <= 1, "two tasks in one environment"
            if killed < KILLS and chance.random() < 0.1:
                worker = fleet.workers.pop(0)
                worker.kill()
                worker.wait(20)
                killed += 1
                fleet.work("--tasks", "3")
            if chance.random() < 0.1:
                fleet.look(HERE + "ask", what=chance.choice(["undo", "keep"]), number=chance.randrange(ENVIRONMENTS))
            return bool(fleet.look(HERE + "free") == ENVIRONMENTS)

        until(ended, 1200)
        for told in fleet.look(HERE + "judged"):
            assert told["wrong"] == [], told
            ends[told["step"]] += 1
    print(f"{sum(ends.values())} updates, {killed} workers killed: {ends}")
    assert min(ends.values()) > 0
    assert fleet.look(HERE + "beside_each_other") == []


# -- what the nursery does ---------------------------------------------------------------------------------------------


def _caller() -> Any:
    from vetro.server.caller import Caller

    return Caller("ann", "ann", "demo", "demo")


def _draft(id: str, **properties: Any) -> str:
    from vetro.server.environments import drafts, sessions

    session = str(sessions.open_session(_caller(), id).id)
    one = {"?": {"type": "test.Shop", "id": "shop-1"}, "title": "corner", **properties}
    drafts.put_services(_caller(), id, session, (), [one])
    return session


def _ids() -> list[str]:
    from vetro.server.environments.models import Environment

    return list(Environment.objects.order_by("name").values_list("id", flat=True))


def found_markets(count: int) -> None:
    """Environments with a shop each, which are being deployed."""
    from vetro.server.environments import deploy, service

    for number in range(count):
        id = str(service.create(_caller(), {"name": f"market {number}"})["id"])
        deploy.deploy(_caller(), id, _draft(id))


def free() -> int:
    """Environments that nothing works on and no update has."""
    from vetro.server.environments.models import Environment
    from vetro.server.tasks.models import Task

    busy = Task.objects.exclude(state__in=Task.FINAL).values_list("environment_id", flat=True)
    return Environment.objects.filter(procedure_id="").exclude(id__in=list(busy)).count()


def update_all(seed: int) -> int:
    """Begins an update in each environment; a third of them fails. How many began."""
    from vetro.server.procedures import service
    from vetro.server.procedures.models import Procedure

    before = Procedure.objects.count()
    for number, id in enumerate(_ids()):
        session = _draft(id, title=f"large {seed}", fail=(number + seed) % 3 == 0)
        service.deploy(_caller(), id, session, service.Guard(wanted=True, settle=0.0))
    return Procedure.objects.count() - before


def ask(what: str, number: int) -> None:
    """Somebody wants an update back, or to keep it: whether that is possible or not."""
    from vetro.server.errors import ServiceError
    from vetro.server.procedures import service

    try:
        getattr(service, what)(_caller(), _ids()[number])
    except ServiceError:
        pass


def most_at_once() -> int:
    """The most tasks that one environment has that have not ended."""
    from django.db.models import Count

    from vetro.server.tasks.models import Task

    rows = Task.objects.exclude(state__in=Task.FINAL).exclude(environment_id="").values("environment_id")
    return max((row["n"] for row in rows.annotate(n=Count("id"))), default=0)


def judged() -> list[dict[str, Any]]:
    """Of the last update of each environment: how it ended, and what is not as it has to be."""
    from vetro.server.environments.models import State
    from vetro.server.procedures.models import Procedure

    found = []
    for id in _ids():
        row: Any = Procedure.objects.filter(environment_id=id).order_by("-created")[0]
        kinds = list(row.steps.order_by("created", "id").values_list("kind", flat=True))
        newest: Any = State.objects.filter(environment_id=id).order_by("-number")[0]
        wrong = []
        if row.finished is None or row.step not in ("kept", "restored"):
            wrong.append("it stays between")
        if kinds.count("deploy") > 1 or kinds[-1:] != ["drop"]:
            wrong.append(f"tasks: {kinds}")
        before = State.objects.get(environment_id=id, number=row.before_state)
        if row.step == "restored" and (newest.model, newest.lock_id) != (before.model, before.lock_id):
            wrong.append("model or lock are not as before")
        if row.step == "kept" and newest.model == before.model:
            wrong.append("nothing was deployed")
        found.append({"step": row.step, "wrong": wrong, "reason": str(row.about.get("reason")), "kinds": kinds})
    return found


def beside_each_other() -> list[str]:
    """Environments in which a task began before another one had ended."""
    from vetro.server.tasks.models import Task

    wrong = []
    for id in _ids():
        rows = Task.objects.filter(environment_id=id, started__isnull=False).order_by("started")
        times = list(rows.values_list("started", "finished"))
        if any(end is None or end > begin for (_, end), (begin, _) in pairwise(times)):
            wrong.append(id)
    return wrong
