"""A login for each server at a real RabbitMQ: servers of one environment get nothing of each other (A5)."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from amqp import Connection as RawConnection
from amqp import Message as RawMessage
from amqp.exceptions import AccessRefused

from tests.agent.agentworld import PATIENCE, QUEUE, RESULTS, AgentProcess, body_plan, wait_for
from tests.agent.broker import Broker
from tests.agent.test_broker_accounts import ONE, engine, names
from tests.agent.test_broker_accounts import accounts as accounts
from tests.library.deploying import Deployed, server
from vetro.agent.amqp import AmqpChannel
from vetro.agent.broker_accounts import BrokerAccounts, account_name, server_account_name, told_to_servers
from vetro.clouds.messages import Message
from vetro.engine.host.answer import Request
from vetro.engine.host.performer import EffectsHost
from vetro.library.broker_names import answers_exchange, server_mark

pytestmark = pytest.mark.attack("broker", "A5")

OTHER = "eenv1-hother"
HERE = {"host": "127.0.0.1", "management": {"url": "http://m"}, "login": "v", "password": "p"}


def login(broker: Broker, accounts: BrokerAccounts, queue: str) -> RawConnection:
    """As the server with an input queue signs in."""
    mark = server_mark(queue)
    found = RawConnection(
        f"127.0.0.1:{broker.port}",
        userid=server_account_name("env1", mark),
        password=accounts.server_password(ONE, mark),
        virtual_host=account_name("env1"),
    )
    found.connect()
    return found


@pytest.fixture
def channel(accounts: BrokerAccounts) -> Iterator[AmqpChannel]:
    found = AmqpChannel(
        accounts.settings(ONE),
        ONE,
        patience=PATIENCE,
        prepare=lambda: accounts.ensure(ONE),
        servers=lambda queue: accounts.ensure_server(ONE, queue),
    )
    yield found
    found.close()


class NoCloud:
    """These tests make no stack."""

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def host(channel: AmqpChannel) -> Iterator[EffectsHost]:
    found = EffectsHost(NoCloud(), channel, ONE)  # type: ignore[arg-type]
    yield found
    found.close()


def begin(host: EffectsHost, plan: dict[str, Any], queue: str, **more: Any) -> Callable[[], Any]:
    """Begins a call; what comes of it is given when there is something."""
    ends: list[Any] = []
    args = {"queue": queue, "listener": RESULTS, "id": plan["ID"], "plan": plan, "timeout": 30, "login": True}
    request = Request(plan["ID"], "agent.call", {**args, **more})
    host.begin(request, lambda key, answer, error: ends.append(answer or error))
    return lambda: ends[0] if ends else None


def result(plan: dict[str, Any], body: Any) -> RawMessage:
    said = {"FormatVersion": "2.0.0", "SourceID": plan["ID"], "ErrorCode": 0, "Body": body}
    return RawMessage(json.dumps(said), message_id=plan["ID"])


def test_a_server_reaches_its_own_plans_and_nothing_else(
    channel: AmqpChannel, accounts: BrokerAccounts, broker: Broker
) -> None:
    for queue in (QUEUE, OTHER):
        channel.send(queue, Message("1", "{}", None, RESULTS, login=True))
    with login(broker, accounts, OTHER) as connection:
        raw = connection.channel()
        for forbidden in (
            lambda raw: raw.basic_get(QUEUE),
            lambda raw: raw.basic_consume(QUEUE),
            lambda raw: raw.queue_purge(QUEUE),
            lambda raw: raw.queue_delete(OTHER),
            lambda raw: raw.basic_get(RESULTS),
            lambda raw: raw.queue_purge(RESULTS),
            lambda raw: raw.basic_publish_confirm(RawMessage("{}"), "", QUEUE),
            lambda raw: raw.basic_publish_confirm(RawMessage("{}"), "", RESULTS),
            lambda raw: raw.basic_publish_confirm(RawMessage("{}"), answers_exchange(QUEUE), RESULTS),
            lambda raw: raw.basic_publish_confirm(RawMessage("{}"), "amq.direct", RESULTS),
            lambda raw: raw.queue_bind(OTHER, answers_exchange(QUEUE), "x"),
            lambda raw: raw.exchange_delete(answers_exchange(QUEUE)),
            lambda raw: raw.queue_declare("mine"),
        ):
            with pytest.raises(AccessRefused):
                forbidden(raw)
        assert raw.basic_get(OTHER, no_ack=True).properties["message_id"] == "1"
        # What a header says about further receivers goes through its own exchange, too, which leads to answers only.
        copies = {"CC": [QUEUE], "BCC": [QUEUE]}
        raw.basic_publish_confirm(RawMessage("{}", application_headers=copies), answers_exchange(OTHER), RESULTS)
        raw.basic_publish_confirm(RawMessage("{}"), answers_exchange(OTHER), QUEUE)
        with pytest.raises(Exception, match="user_id"):
            forged = RawMessage("{}", user_id=server_account_name("env1", server_mark(QUEUE)))
            raw.basic_publish_confirm(forged, answers_exchange(OTHER), RESULTS)
    with login(broker, accounts, QUEUE) as connection:
        assert connection.channel().queue_declare(QUEUE, passive=True).message_count == 1


def test_an_answer_of_a_server_that_was_not_asked_counts_for_nothing(
    host: EffectsHost, channel: AmqpChannel, accounts: BrokerAccounts, broker: Broker
) -> None:
    """It answers first, and twice, with the right id; then the one that was asked answers."""
    channel.send(OTHER, Message("0", "{}", None, RESULTS, login=True))
    plan = body_plan("return 1")
    came = begin(host, plan, QUEUE)
    admin = RawConnection(
        f"127.0.0.1:{broker.port}", userid="guest", password="guest", virtual_host=account_name("env1")
    )
    with login(broker, accounts, OTHER) as connection, admin:
        wait_for(lambda: _waiting(admin, QUEUE))
        for _ in range(2):
            connection.channel().basic_publish_confirm(result(plan, "forged"), answers_exchange(OTHER), RESULTS)
        # As a server that was made before servers had logins might, which may write to every queue.
        admin.channel().basic_publish_confirm(result(plan, "forged"), "", RESULTS)
        wait_for(lambda: not _waiting(admin, RESULTS))
        assert came() is None
        with login(broker, accounts, QUEUE) as rightful:
            rightful.channel().basic_publish_confirm(result(plan, "right"), answers_exchange(QUEUE), RESULTS)
        assert wait_for(came)["result"]["Body"] == "right"
        host.stored(plan["ID"])
        wait_for(lambda: not _waiting(admin, RESULTS))
        # After the end nothing changes it any more.
        connection.channel().basic_publish_confirm(result(plan, "late"), answers_exchange(OTHER), RESULTS)
        wait_for(lambda: not _waiting(admin, RESULTS))
        assert came()["result"]["Body"] == "right"


def _waiting(connection: RawConnection, queue: str) -> int:
    with connection.channel() as raw:
        return int(raw.queue_declare(queue, passive=True).message_count)


def test_who_forged_while_the_engine_was_away_is_not_believed(
    channel: AmqpChannel, accounts: BrokerAccounts, broker: Broker
) -> None:
    """A worker starts again and adopts its call; both answers wait in the queue, the forged one first."""
    for queue in (QUEUE, OTHER):
        channel.send(queue, Message("0", "{}", None, RESULTS, login=True))
    plan = body_plan("return 1")
    for queue, said in ((OTHER, "forged"), (QUEUE, "right")):
        with login(broker, accounts, queue) as connection:
            connection.channel().basic_publish_confirm(result(plan, said), answers_exchange(queue), RESULTS)
    second = EffectsHost(NoCloud(), channel, ONE)  # type: ignore[arg-type]
    try:
        second.expect([plan["ID"]])
        second.perform("0", "agent.listen", {"queue": RESULTS, "on": True})
        wait_for(lambda: len(second._agents._plans.get(plan["ID"], _Nothing).early) == 2)
        came = begin(second, plan, QUEUE)
        assert wait_for(came)["result"]["Body"] == "right"
    finally:
        second.close()


class _Nothing:
    early = ()


def test_a_real_agent_with_a_login_of_its_own(
    host: EffectsHost, accounts: BrokerAccounts, broker: Broker, tmp_path: Path, program: Path
) -> None:
    """It starts before its login is there, and finds it."""
    mark = server_mark(QUEUE)
    told = told_to_servers({**HERE, "port": broker.port}, "env1")
    settings = {name: told[name] for name in ("host", "port", "virtual_host")}
    settings |= {"login": told["server_login"].format(server=mark), "password": accounts.server_password(ONE, mark)}
    agent = AgentProcess(tmp_path / "agent", program, {**settings, "result_exchange": answers_exchange(QUEUE)}).start()
    try:
        wait_for(lambda: "cannot" in agent.log or "ACCESS_REFUSED" in agent.log)
        for number in range(2):
            assert wait_for(begin(host, body_plan(f"return {number}"), QUEUE))["result"]["Body"] == number
            accounts.remove(ONE)  # a broker that lost everything gets it again with the next plan
    finally:
        agent.stop()


def test_logins_go_with_their_queues_and_their_environment(accounts: BrokerAccounts, broker: Broker) -> None:
    accounts.ensure(ONE)
    channel = engine(accounts, ONE)
    try:
        channel.send(QUEUE, Message("1", "{}"))
    finally:
        channel.close()
    for queue in (QUEUE, OTHER):
        accounts.ensure_server(ONE, queue)
    assert accounts.environments() >= {"env1"} and not any("." in name for name in accounts.environments())
    assert accounts.remove_unused(["env1", "nowhere"]) == 1
    mine = [name for name in names(broker, "users") if name.startswith("vetro-env1")]
    assert mine == ["vetro-env1", server_account_name("env1", server_mark(QUEUE))]
    accounts.remove(ONE)
    assert not [name for name in names(broker, "users") if name.startswith("vetro-env1")]


def test_many_servers_at_once(channel: AmqpChannel, accounts: BrokerAccounts, broker: Broker) -> None:
    queues = [f"eenv1-h{number}" for number in range(12)]
    threads = [
        threading.Thread(target=channel.send, args=(queue, Message("1", "{}", None, RESULTS, login=True)))
        for queue in queues
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {server_account_name("env1", server_mark(queue)) for queue in queues} <= set(names(broker, "users"))


# -- what packages see -------------------------------------------------------------------------------------------------


def scripts(made: Deployed) -> list[str]:
    return [json.dumps(push["put"]) for push in made.host.performed("stack.push")]


def test_a_server_that_was_made_before_keeps_its_boot_script() -> None:
    """Another one in it would have the cloud replace the server."""
    plain = {"rabbitmq": {"host": "mq", "port": 5672, "login": "vetro-env", "password": "x", "virtual_host": "v"}}
    before = Deployed(server(), settings=plain)
    old = before.host.performed("stack.push")[-1]["digest"]
    again = Deployed(
        server(), settings={"rabbitmq": {**told_to_servers(HERE, "env"), **plain["rabbitmq"]}}, deploy=False
    )
    again.model, again.cloud = before.model, before.cloud
    again.cloud.install(again.host)
    again.deploy()
    pushes = again.host.performed("stack.push")
    assert all(push["digest"] == old for push in pushes)
    new = Deployed(server(), settings={"rabbitmq": {**told_to_servers(HERE, "env"), **plain["rabbitmq"]}})
    assert new.host.performed("stack.push")[-1]["digest"] != old
    # And one with its own login keeps that.
    digest = new.host.performed("stack.push")[-1]["digest"]
    new.deploy()
    assert new.host.performed("stack.push")[-1]["digest"] == digest
