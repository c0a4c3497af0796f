"""Jobs of procrastinate; needs its tables: VETRO_DISPATCH__BACKEND=procrastinate script/with-postgresql pytest …"""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection, transaction

from tests.server.dispatch import fleet, shop
from vetro.server.config import Config, ConfigError
from vetro.server.dispatch import queue
from vetro.server.dispatch.backend import backend, django_settings
from vetro.server.dispatch.claim import claim, release
from vetro.server.dispatch.dispatcher import Embedded, dispatcher
from vetro.server.dispatch.models import Task
from vetro.server.dispatch.queues import fits, served
from vetro.server.dispatch.queues import queue as name_of
from vetro.server.setup import config


@pytest.fixture
def procrastinate(db: None) -> None:
    if config()["dispatch.backend"] != "procrastinate":
        pytest.skip("another dispatcher is in use")


def waiting() -> list[str]:
    """Queues with jobs that nobody fetched."""
    return [name for name, status in fleet.jobs() if status == "todo"]


def test_it_is_refused_where_it_cannot_work(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = {"dispatch.backend": "procrastinate"}
    on_sqlite = Config.load(tmp_path, overrides=wanted, environ={})
    with pytest.raises(ConfigError, match="needs PostgreSQL"):
        django_settings(on_sqlite)
    fitting = on_sqlite.changed({"database.url": "postgresql://host/name"})
    assert backend(fitting) == "procrastinate"
    monkeypatch.setattr("vetro.server.dispatch.backend.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'vetro\[procrastinate\]'"):
        backend(fitting)
    embedded = Config.load(tmp_path, environ={})
    assert django_settings(embedded) == {"apps": [], "routers": []}
    assert isinstance(dispatcher(embedded), Embedded)


def test_queues_tell_who_may_take_a_task() -> None:
    assert [name_of("static"), name_of("deploy", "eu-1"), name_of("deploy", "", "1.2")] == [
        "short", "long/eu-1", "long@1.2"
    ]  # fmt: skip
    assert set(served("1.2", ["eu-1"], short=True)) == {"short", "short@1.2", "short/eu-1", "short/eu-1@1.2"}
    assert name_of("deploy", "eu-1", "1.2") in served("1.2", ["eu-1"])
    assert name_of("deploy", "eu-1", "1.3") not in served("1.2", ["eu-1"])
    odd = name_of("deploy", "a region with a long name, spaces and ünïcode", "1.2.3.dev45+gabcdef0123456789")
    assert len(f"procrastinate_queue_v1#{odd}".encode()) < 64
    assert odd != name_of("deploy", "a region with a long name, spaces and others", "1.2.3.dev45+gabcdef0123456789")
    assert (
        fits(odd, "1.2.3.dev45+gabcdef0123456789") and not fits(odd, "1.2") and not fits("long/eu-1", "1", short=True)
    )


@pytest.mark.usefixtures("procrastinate")
def test_a_job_is_there_with_its_task_and_not_without(ann: Any) -> None:
    package, environment = shop.add_package(ann.caller), shop.add_environment(ann.caller)
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        shop.deploy(ann.caller, environment, package)
        assert waiting() == ["long"]
        _ = 1 / 0
    assert waiting() == [] and not Task.objects.exists()
    first, second = (shop.deploy(ann.caller, environment, package) for _ in range(2))
    assert waiting() == ["long", "long"]
    fleet.forget_jobs()
    # The end of the one tells of the other, whose turn it is then.
    queue.cancel(ann.caller, first.id)
    assert waiting() == ["long"]
    dispatcher().notify(second)
    assert waiting() == ["long"]


@pytest.mark.usefixtures("procrastinate")
def test_what_is_given_back_is_for_the_version_that_began_it(ann: Any) -> None:
    from vetro.engine.version import engine_version
    from vetro.server.dispatch.resend import resend

    package, environment = shop.add_package(ann.caller), shop.add_environment(ann.caller)
    made = shop.deploy(ann.caller, environment, package)
    fleet.forget_jobs()
    assert claim("me", 60.0) is not None
    assert resend(config()) == 0
    queue.cancel(ann.caller, made.id)  # it runs: the database tells its worker, no job does
    assert waiting() == []
    assert release("me", pause=60.0) == 1 and waiting() == []
    Task.objects.update(owner="me")
    assert release("me") == 1
    assert waiting() == [name_of("deploy", "", engine_version())]
    Task.objects.update(engine="0.0.1")
    assert resend(config()) == 1  # nobody of that version: others may end it, when it has waited for long enough
    assert waiting() == [name_of("deploy", "", "0.0.1")]
    with connection.cursor() as cursor:
        cursor.execute("UPDATE dispatch_task SET lease_until = lease_until - interval '1 hour'")
    assert resend(config()) == 1 and waiting() == ["long"]
    assert resend(config()) == 0
    Task.objects.update(state="done")
    assert resend(config()) == 0 and waiting() == []


@pytest.mark.usefixtures("procrastinate")
def test_the_clock_of_a_machine_does_not_count(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from datetime import timedelta

    from django.utils import timezone

    now = timezone.now
    package, environment = shop.add_package(ann.caller), shop.add_environment(ann.caller)
    monkeypatch.setattr(timezone, "now", lambda: now() + timedelta(minutes=1))
    first = shop.deploy(ann.caller, environment, package)
    monkeypatch.setattr(timezone, "now", lambda: now() - timedelta(minutes=1))
    second = shop.deploy(ann.caller, environment, package)
    rows = list(Task.objects.order_by("created").values_list("id", flat=True))
    assert rows == [first.id, second.id]


@pytest.mark.usefixtures("procrastinate")
def test_tasks_that_have_their_job_hide_no_others(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from vetro.engine.version import engine_version
    from vetro.server.dispatch import resend

    monkeypatch.setattr(resend, "MOST", 2)
    package = shop.add_package(ann.caller)
    for number in range(5):
        shop.deploy(ann.caller, shop.add_environment(ann.caller, f"env {number}"), package)
    fleet.forget_jobs()
    Task.objects.update(engine=engine_version())  # each was begun once, and given back
    assert [resend.resend(config()) for _ in range(4)] == [2, 2, 1, 0]
    assert waiting() == [name_of("deploy", "", engine_version())] * 5
    with connection.cursor() as cursor:  # the last one loses it
        cursor.execute("DELETE FROM procrastinate_jobs WHERE id = (SELECT max(id) FROM procrastinate_jobs)")
    assert [resend.resend(config()) for _ in range(2)] == [1, 0]
