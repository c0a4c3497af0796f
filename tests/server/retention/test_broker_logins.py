"""What was left at the broker is removed: only what is this installation's, and what nobody needs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.broker import start_broker
from tests.server.tasks.test_spec import config
from vetro.agent.broker_accounts import BrokerAccounts
from vetro.agent.errors import BrokerUnavailable
from vetro.clouds.interface import Owner
from vetro.server.config import cloud_settings
from vetro.server.config.config import Config
from vetro.server.environments.models import Environment
from vetro.server.ids import new_id
from vetro.server.retention import broker_logins, sweep
from vetro.server.tasks.models import Task

pytestmark = pytest.mark.django_db


def task(environment: str = "", kind: str = "deploy", state: str = "done") -> str:
    row = Task.objects.create(project_id="p", user_id="u", environment_id=environment, kind=kind, state=state, spec={})
    return row.id


@pytest.fixture
def ids() -> dict[str, str]:
    """Of accounts; those that may go are called gone."""
    found = {name: new_id() for name in ("gone", "abandoned", "fails", "again", "stranger")}
    there = Environment.objects.create(project_id="p", name="there")
    found |= {"there": there.id, "gone alone": task(kind="static"), "at work": task(kind="static", state="running")}
    for name in ("gone", "abandoned", "fails", "there", "again"):
        task(found[name])
    for name in ("gone", "again", "there"):
        task(found[name], "destroy")
    task(found["fails"], "destroy", "failed")
    task(found["again"], state="running")
    return found


def test_what_is_left_over(ids: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = sorted([ids["gone"], ids["gone alone"]])
    assert broker_logins.left_over([*ids.values(), "prod", "ü" * 3]) == wanted
    monkeypatch.setattr(broker_logins, "_TOGETHER", 2)
    assert sorted(broker_logins.left_over(ids.values())) == wanted


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Config]:
    """Of an installation with a RabbitMQ."""
    with start_broker(tmp_path / "mq") as broker:
        management = {"url": f"http://127.0.0.1:{broker.management_port}"}
        told = {"host": "127.0.0.1", "port": broker.port, "login": "guest", "password": "guest"}
        yield config(tmp_path, engine__broker={**told, "management": management})


@pytest.mark.campaign
def test_they_go_from_the_broker(
    ids: dict[str, str], settings: Config, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    accounts = cloud_settings.broker_accounts(settings)
    assert accounts is not None
    for id in (*ids.values(), "prod"):
        accounts.ensure(Owner("p", id))
    accounts._request("DELETE", f"users/vetro-{ids['gone alone']}")  # what removed it came only so far
    before = accounts.environments()
    assert before == {*ids.values(), "prod"}
    with monkeypatch.context() as away:
        away.setattr(BrokerAccounts, "_request", _away)
        sweep._clean_broker(settings)
        assert "stay at the broker: nobody there" in caplog.text
    assert accounts.environments() == before
    sweep._clean_broker(settings)
    assert accounts.environments() == before - {ids["gone"], ids["gone alone"]}
    assert broker_logins.sweep(settings) == 0
    for id in (ids["there"], "prod"):
        accounts.ensure_server(Owner("p", id), f"e{id}-hgone")
    assert broker_logins.sweep(settings) == 1  # a server that is gone; that of another installation stays
    assert list(accounts._servers()) == ["prod"]


def _away(*_: Any, **__: Any) -> bytes:
    raise BrokerUnavailable("nobody there")


def test_without_logins_nobody_is_asked(tmp_path: Path) -> None:
    assert cloud_settings.broker_accounts(config(tmp_path, engine__broker={"host": "mq"})) is None
    assert broker_logins.sweep(config(tmp_path, cloud__kind="local", cloud__driver="record")) == 0
