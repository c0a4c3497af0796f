"""The store of procedures: whatever order tasks end in, whoever is killed, wherever clocks jump, an environment has one
task at a time, and no update stays between. Tasks are not run here: their ends are drawn.
"""

from __future__ import annotations

import random
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import transaction

from tests.server.procedures.conftest import Market
from vetro.engine.outcome import Outcome
from vetro.engine.procedures.guarded_update import RESERVED
from vetro.engine.watching.states import State
from vetro.server.environments.models import Environment
from vetro.server.environments.models import State as StateRow
from vetro.server.errors import ServiceError
from vetro.server.procedures import service, store, sweep
from vetro.server.procedures.models import Procedure
from vetro.server.tasks import clock, completion
from vetro.server.tasks.models import Task

pytestmark = pytest.mark.database


class Killed(BaseException):
    """A process is gone: what its transaction wrote is, too."""


class History:
    """One update, driven by chance."""

    def __init__(self, market: Market, chance: random.Random, monkeypatch: pytest.MonkeyPatch) -> None:
        self.market, self.chance = market, chance
        self.ahead = timedelta()
        read = clock.read
        monkeypatch.setattr(clock, "read", lambda: read() + self.ahead)
        self.id = market.guarded(
            market.draft(title="large"), settle=chance.choice([0, 30]), hold=chance.choice([0, 600])
        )

    def working(self) -> list[Task]:
        """The tasks that have not ended."""
        return list(Task.objects.filter(environment_id=self.market.id).exclude(state__in=Task.FINAL))

    def end(self, state: str) -> None:
        """Its task ends so; perhaps the process is killed while it writes that, and the next one writes it."""
        for task in self.working()[:1]:
            if self.chance.random() < 0.3:
                self.killed(partial(completion.close, task, Outcome(state)))
                task = Task.objects.get(id=task.id)
            with transaction.atomic():
                completion.close(task, Outcome(state))

    def killed(self, work: Any) -> None:
        """Whoever does this is killed before it is committed."""
        before = (list(Task.objects.order_by("id").values("id", "state")), Procedure.objects.values().get(id=self.id))
        with pytest.raises(Killed), transaction.atomic():
            work()
            raise Killed
        after = (list(Task.objects.order_by("id").values("id", "state")), Procedure.objects.values().get(id=self.id))
        assert before == after

    def step(self) -> None:
        """Something happens."""
        match self.chance.choice(["end", "end", "end", "sweep", "clock", "ask", "look", "kill", "lose"]):
            case "end":
                self.end(self.chance.choice(["done", "done", "done", "failed", "cancelled", "killed"]))
            case "sweep":
                sweep.sweep(lambda row: {"shop-1": self.chance.choice(list(State))})
            case "clock":
                self.ahead += timedelta(seconds=self.chance.choice([-86_400, -1, 5, 700]))
            case "ask":
                ask = self.chance.choice([service.undo, service.keep])
                try:
                    ask(self.market.person.caller, self.market.id)
                except ServiceError:
                    pass  # not now
            case "look":
                store.reconcile(self.id)
            case "kill":
                self.killed(lambda: store.reconcile(self.id))
            case "lose":  # retention drops a task
                for task in self.working()[:1]:
                    Task.objects.filter(id=task.id).delete()

    def check(self) -> None:
        """What always holds."""
        row = Procedure.objects.get(id=self.id)
        assert len(self.working()) <= 1, "two tasks in one environment"
        reserved = Environment.objects.values_list("procedure_id", flat=True).get(id=self.market.id)
        assert reserved == (row.id if row.step in RESERVED else "")
        assert row.steps.filter(kind="deploy").count() <= 1
        assert row.finished is not None or row.step in ("holding", "stuck") or row.wake_at is not None

    def run(self) -> str:
        """Steps, then all goes well; how it ended."""
        for _ in range(self.chance.randint(0, 25)):
            self.step()
            self.check()
        for _ in range(60):
            row = Procedure.objects.get(id=self.id)
            if row.finished is not None:
                break
            if row.step in ("stuck", "holding"):
                service.keep(self.market.person.caller, self.market.id)
            elif self.working():
                self.end("done")
            else:
                self.ahead += timedelta(seconds=700)
                sweep.sweep(lambda row: {"shop-1": State.SIMULATED})
            self.check()
        row = Procedure.objects.get(id=self.id)
        assert row.finished is not None and row.step in ("kept", "restored"), row.step
        assert not self.working()
        assert list(row.steps.order_by("created", "id").values_list("kind", flat=True))[-1] == "drop"
        newest = StateRow.objects.filter(environment_id=self.market.id).order_by("-number")[0]
        if row.step == "restored" and newest.number > 1:
            first = StateRow.objects.get(environment_id=self.market.id, number=1)
            assert (newest.model, newest.lock_id, newest.undone_of) == (first.model, first.lock_id, 2)
        return str(row.step)


@pytest.mark.parametrize("seed", range(3))
def test_no_history_leads_to_two_tasks_or_to_an_update_that_stays(
    market: Market, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    History(market, random.Random(f"store {seed}"), monkeypatch).run()


@pytest.mark.campaign
def test_many_histories(market: Market, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = {"kept": 0, "restored": 0}
    for seed in range(300):
        with transaction.atomic():
            sid = transaction.savepoint()
            ends[History(market, random.Random(f"many {seed}"), monkeypatch).run()] += 1
            transaction.savepoint_rollback(sid)
        monkeypatch.undo()
    print(ends)
    assert min(ends.values()) > 30  # both ends are reached again and again
