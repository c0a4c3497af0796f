"""What tests of notices share: receivers, settings that allow them, targets, things that happen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from tests.server.notices.receivers import MailRelay, WebReceiver
from vetro.engine.outcome import Outcome
from vetro.server import setup
from vetro.server.environments.models import Environment
from vetro.server.notices import service
from vetro.server.notices.deliverer import Deliverer
from vetro.server.notices.models import Delivery, Target
from vetro.server.tasks import clock, completion
from vetro.server.tasks.models import Task


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebReceiver]:
    found = WebReceiver()
    monkeypatch.setattr(setup, "_current", setup.config().changed({"notices.hosts": ["*", found.host]}))
    yield found
    found.close()


@pytest.fixture
def relay(monkeypatch: pytest.MonkeyPatch) -> Iterator[MailRelay]:
    found = MailRelay()
    settings = {
        "notices.mail_host": "127.0.0.1", "notices.mail_port": found.port, "notices.mail_security": "none",
        "notices.mail_from": "vetro@example.com",
    }  # fmt: skip
    monkeypatch.setattr(setup, "_current", setup.config().changed(settings))
    yield found
    found.close()


class Notices:
    """One person's project with an environment and things that happen in it."""

    def __init__(self, caller: Any) -> None:
        self.caller = caller
        self.environment = Environment.objects.create(
            project_id=caller.project_id, name="shop", version=1, cloud={"kind": "proot"}
        )
        self.secret = ""

    def webhook(self, url: str, name: str = "ops", *, least: str = "info", kinds: Sequence[str] = ()) -> str:
        """The id of a webhook that is told all of that."""
        made, secret = service.add_target(self.caller, name, "webhook", {"url": url})
        assert secret is not None
        self.secret = secret
        service.add_rule(self.caller, made["id"], least=least, kinds=kinds)
        return str(made["id"])

    def task(
        self,
        kind: str = "deploy",
        state: str = "done",
        environment: Any = None,
        error_text: str = "the box is broken",
        **fields: Any,
    ) -> Task:
        """A task of the environment that has ended so."""
        row = environment or self.environment
        task = Task.objects.create(
            project_id=row.project_id, user_id="u", environment_id=row.id, kind=kind, state="running", spec={}, **fields
        )
        error = {"message": error_text} if state == "failed" else None
        with transaction.atomic():
            completion.close(task, Outcome(state, model={"Objects": None}, error=error))  # type: ignore[arg-type]
        return task


@pytest.fixture
def notices(ann: Any) -> Notices:
    return Notices(ann.caller)


@pytest.fixture
def deliver(db: None) -> Callable[..., int]:
    """Sends what is due, here and now; how many were tried."""

    def run(**options: Any) -> int:
        return Deliverer(setup.config(), "here", **options).run_due()

    return run


def later(**by: float) -> None:
    """All that waits was written, tried and taken so much earlier."""
    past = timedelta(**by)
    for row in Delivery.objects.defer("body"):
        lease = None if row.lease_until is None else row.lease_until - past
        moved = {"created": row.created - past, "begins": row.begins - past, "due": row.due - past}
        Delivery.objects.filter(id=row.id).update(lease_until=lease, **moved)
    for target in Target.objects.exclude(quiet_until=None):
        assert target.quiet_until is not None
        Target.objects.filter(id=target.id).update(quiet_until=target.quiet_until - past)


def minutes_until(row: Delivery) -> float:
    """Until it is tried next."""
    return (row.due - clock.read()).total_seconds() / 60
