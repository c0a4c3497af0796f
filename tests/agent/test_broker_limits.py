"""What one environment can take of a real RabbitMQ, and what others notice of it (A4)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from amqp import Connection as RawConnection
from amqp import Message as RawMessage
from amqp.exceptions import MessageNacked

from tests.agent.agentworld import PATIENCE, QUEUE, RESULTS, wait_for
from tests.agent.broker import Broker
from tests.agent.test_broker_accounts import ONE, THEIRS, TWO, connect, engine, management
from vetro.agent import broker_accounts
from vetro.agent.amqp import AmqpChannel
from vetro.agent.amqp_link import BrokerSettings
from vetro.agent.broker_accounts import BrokerAccounts, account_name
from vetro.agent.errors import BrokerUnavailable
from vetro.agent.signing import ensure_key
from vetro.clouds.messages import Message

pytestmark = pytest.mark.attack("broker", "A4")


@pytest.fixture
def accounts(broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BrokerAccounts]:
    monkeypatch.setattr(broker_accounts, "CONNECTIONS", 3)
    monkeypatch.setattr(broker_accounts, "CHANNELS", 6)
    monkeypatch.setattr(broker_accounts, "QUEUES", 4)
    monkeypatch.setattr(broker_accounts, "QUEUE_BYTES", 100_000)
    ensure_key(tmp_path / "key.pem")
    found = BrokerAccounts(BrokerSettings("127.0.0.1", broker.port), management(broker), tmp_path / "key.pem")
    yield found
    for owner in (ONE, TWO):
        found.remove(owner)


@pytest.fixture
def channels(accounts: BrokerAccounts) -> Iterator[tuple[AmqpChannel, AmqpChannel]]:
    """The engine's ways to two environments."""
    found = engine(accounts, ONE), engine(accounts, TWO)
    found[0].send(QUEUE, Message("first", "{}"))
    found[1].send(THEIRS, Message("first", "{}"))
    yield found
    for channel in found:
        channel.close()


Channels = tuple[AmqpChannel, AmqpChannel]


def others_work(channels: Channels) -> None:
    """Sending in both environments takes no longer than ever."""
    begin = time.monotonic()
    for channel, queue in zip(channels, (QUEUE, THEIRS), strict=True):
        channel.send(queue, Message(os.urandom(8).hex(), "{}"))
    assert time.monotonic() - begin < PATIENCE / 2


def test_connections_of_a_login_are_few(channels: Channels, accounts: BrokerAccounts, broker: Broker) -> None:
    made = []
    try:
        for _ in range(3):
            made.append(connect(broker, accounts, ONE, to=ONE))
        with pytest.raises(Exception, match="connection limit"):
            made.append(connect(broker, accounts, ONE, to=ONE))
        others_work(channels)
    finally:
        for connection in made:
            connection.close()


def test_channels_of_a_login_are_few(channels: Channels, accounts: BrokerAccounts, broker: Broker) -> None:
    connection = connect(broker, accounts, ONE, to=ONE)
    try:
        with pytest.raises(Exception, match=r"maximum channel limit|number of channels"):
            for _ in range(20):
                connection.channel()
        others_work(channels)
    finally:
        connection.collect()


def test_a_full_queue_takes_no_more_and_nobody_else_notices(
    channels: Channels, accounts: BrokerAccounts, broker: Broker
) -> None:
    """Answers are written until the broker refuses; plans for a server that takes none are refused with the reason."""
    channels[0].receive(RESULTS, 0.01)
    wait_for(lambda: RESULTS in channels[0]._consumers)
    with RawConnection(
        f"127.0.0.1:{broker.port}", userid="guest", password="guest", virtual_host=account_name("env1")
    ) as admin:
        admin.channel().queue_declare("-execution-results-eenv1-unread", durable=True, auto_delete=False)
    with connect(broker, accounts, ONE, to=ONE) as server:
        raw = server.channel()
        with pytest.raises(MessageNacked):
            for _ in range(1000):
                raw.basic_publish_confirm(RawMessage("x" * 10_000), "", "-execution-results-eenv1-unread")
    other = "eenv1-hfull"
    begin = time.monotonic()
    with pytest.raises(BrokerUnavailable, match="its queue is full"):
        for number in range(1000):
            channels[0].send(other, Message(str(number), '"' + "x" * 10_000 + '"'))
    assert time.monotonic() - begin < PATIENCE
    others_work(channels)


def test_queues_of_an_environment_are_few(channels: Channels) -> None:
    """A task that sends plans to servers that it made up."""
    with pytest.raises(BrokerUnavailable, match="limit"):
        for number in range(10):
            channels[0].send(f"eenv1-hmade-up-{number}", Message("1", "{}"))
    others_work(channels)


def test_limits_are_set_again_where_an_account_was_made_before(accounts: BrokerAccounts, broker: Broker) -> None:
    for _ in range(2):
        accounts.ensure(ONE)
    said = accounts._request("GET", f"user-limits/{account_name('env1')}")
    assert b'"max-connections":3' in said and b'"max-channels":6' in said


@pytest.mark.campaign
def test_an_alarm_of_the_broker_is_an_error_with_its_reason_in_time(broker: Broker, accounts: BrokerAccounts) -> None:
    channel = AmqpChannel(accounts.settings(TWO), TWO, patience=4.0, prepare=lambda: accounts.ensure(TWO))
    try:
        channel.send(THEIRS, Message("1", "{}"))
        broker.control("set_vm_memory_high_watermark", "0.000001")
        begin = time.monotonic()
        with pytest.raises(BrokerUnavailable, match="takes no messages at present: low on memory"):
            channel.send(THEIRS, Message("2", "{}"))
        assert time.monotonic() - begin < PATIENCE
    finally:
        broker.control("set_vm_memory_high_watermark", "0.9")
        channel.close()
    again = AmqpChannel(accounts.settings(TWO), TWO, patience=PATIENCE)
    try:
        again.send(THEIRS, Message("3", "{}"))
    finally:
        again.close()


def test_an_old_broker_knows_no_limits_of_logins(accounts: BrokerAccounts) -> None:
    assert accounts._request("PUT", "no-such-thing/x", {}, passing=frozenset({404, 405})) == b""
