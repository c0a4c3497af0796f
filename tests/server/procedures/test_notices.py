"""Updates with a way back are told: kept, taken back, in need of a person."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction

from tests.server.procedures.conftest import Market
from vetro.diagnostics import decode_messages
from vetro.engine.outcome import Outcome
from vetro.engine.procedures.guarded_update import ATTEMPTS
from vetro.server.notices import message, service
from vetro.server.notices.models import Delivery, Target
from vetro.server.procedures import store
from vetro.server.procedures.models import Procedure
from vetro.server.tasks import completion
from vetro.server.tasks.models import Task

KINDS = ("update.kept", "update.restored", "update.stuck")


@pytest.fixture
def told(market: Market) -> Any:
    """(kind, level) of what was written of updates, after somebody wants to be told of them."""
    made, _ = service.add_target(market.person.caller, "ops", "webhook", {"url": "https://ops.example.com/vetro"})
    service.add_rule(market.person.caller, made["id"], kinds=KINDS)
    return lambda: list(Delivery.objects.order_by("created", "id").values_list("kind", "level"))


def test_what_stays_and_what_was_taken_back(market: Market, told: Any) -> None:
    market.run(market.guarded(market.draft(title="large")))
    assert told() == [("update.kept", "info")]
    procedure = market.guarded(market.draft(title="larger", fail=True))
    market.run(procedure)
    assert told()[1:] == [("update.restored", "warning")]
    row = Delivery.objects.order_by("created", "id")[1]
    assert row.body["update"] == {"id": procedure, "step": "restored"}
    assert "the deployment ended as failed" in decode_messages(row.body)["reason"]
    sent = message.message_of(row, Target.objects.get())
    said = "The update of environment 'market' was taken back: all is as it was before"
    assert sent.title == f"{said} (simulated: nothing was executed)"
    assert sent.lines == ["the deployment ended as failed"]


def test_what_needs_a_person_is_told_once(market: Market, told: Any) -> None:
    procedure = market.guarded(market.draft(title="large", fail=True))
    for _ in range(20):
        row = Procedure.objects.get(id=procedure)
        if row.step == "stuck":
            break
        task = Task.objects.filter(environment_id=market.id).exclude(state__in=Task.FINAL).first()
        if task is None:  # its turn comes later
            row.record = {**row.record, "since": 1.0, "until": 2.0}
            row.save()
            store.reconcile(procedure)
            continue
        well = task.kind == "snapshot" and row.step == "snapshotting"
        with transaction.atomic():
            completion.close(task, Outcome("done" if well else "failed"))
    assert row.steps.filter(kind="restore").count() == ATTEMPTS
    assert told() == [("update.stuck", "error")]
    store.reconcile(procedure)
    assert len(told()) == 1
