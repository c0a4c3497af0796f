"""What load balancers ask."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from vetro.server.tasks.models import WorkerProcess

pytestmark = [pytest.mark.database, pytest.mark.django_db]


def worker(seconds: float, **more: bool) -> None:
    seen = datetime.now(UTC) - timedelta(seconds=seconds)
    WorkerProcess.objects.create(id=f"w{seconds}", host="h", pid=1, version="1", seen=seen, **more)


def test_a_process_that_answers_is_healthy() -> None:
    answer = Client().get("/health")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_it_is_ready_while_a_worker_is_heard_of() -> None:
    worker(1)
    answer = Client().get("/ready")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok", "database": "ok", "workers": "ok"})


@pytest.mark.parametrize(("seconds", "draining"), [(600, False), (1, True)])
def test_it_is_not_ready_without_workers(seconds: float, draining: bool) -> None:
    worker(seconds, draining=draining)
    answer = Client().get("/ready")
    assert (answer.status_code, answer.json()["workers"]) == (503, "none")


def test_it_is_not_ready_without_database(monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db import OperationalError, connection

    def gone() -> None:
        raise OperationalError("gone: password=x")

    monkeypatch.setattr(connection, "cursor", gone)
    answer = Client().get("/ready")
    assert (answer.status_code, answer.json()["database"]) == (503, "does not answer")
    assert "password" not in answer.content.decode()
