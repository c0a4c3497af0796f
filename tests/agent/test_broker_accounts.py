"""Logins of environments at a real RabbitMQ: what they may, and what the broker refuses them."""

from __future__ import annotations

import base64
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from amqp import Connection as RawConnection
from amqp import Message as RawMessage
from amqp.exceptions import AccessRefused, NotAllowed

from tests.agent.agentworld import PATIENCE, QUEUE, RESULTS, AgentProcess, answer, body_plan, message_of
from tests.agent.broker import Broker
from vetro.agent.amqp import QUEUE_ARGUMENTS, AmqpChannel
from vetro.agent.amqp_link import BrokerSettings
from vetro.agent.broker_accounts import BrokerAccounts, Management, account_name, broker_of, told_to_servers
from vetro.agent.errors import AccountRefused, BrokerUnavailable
from vetro.agent.hidden_password import PLACEHOLDER, SERVER_PLACEHOLDER
from vetro.agent.signing import ensure_key
from vetro.clouds.interface import Owner
from vetro.clouds.messages import Message

ONE, TWO = Owner("project", "env1"), Owner("project", "Env2")
THEIRS = "eenv2-hserver"


def management(broker: Broker, **more: Any) -> Management:
    return Management(f"http://127.0.0.1:{broker.management_port}", "guest", "guest", **more)


@pytest.fixture
def accounts(broker: Broker, tmp_path: Path) -> Iterator[BrokerAccounts]:
    ensure_key(tmp_path / "key.pem")
    settings = BrokerSettings("127.0.0.1", broker.port)
    found = BrokerAccounts(settings, management(broker), tmp_path / "key.pem")
    yield found
    for owner in (ONE, TWO):
        found.remove(owner)


def names(broker: Broker, what: str) -> list[str]:
    request = urllib.request.Request(
        f"http://127.0.0.1:{broker.management_port}/api/{what}",
        headers={"Authorization": "Basic " + base64.b64encode(b"guest:guest").decode()},
    )
    with urllib.request.urlopen(request) as said:
        return sorted(row["name"] for row in json.load(said))


def connect(broker: Broker, accounts: BrokerAccounts, owner: Owner, to: Owner) -> RawConnection:
    """As a server of ``owner`` knows to."""
    found = RawConnection(
        f"127.0.0.1:{broker.port}",
        userid=account_name(owner.environment),
        password=accounts.password(owner),
        virtual_host=account_name(to.environment),
    )
    found.connect()
    return found


def engine(accounts: BrokerAccounts, owner: Owner) -> AmqpChannel:
    return AmqpChannel(accounts.settings(owner), owner, patience=PATIENCE, prepare=lambda: accounts.ensure(owner))


def test_an_agent_answers_with_the_login_of_its_environment(
    accounts: BrokerAccounts, broker: Broker, tmp_path: Path, program: Path
) -> None:
    told = told_to_servers({"host": "127.0.0.1", "port": broker.port, "management": {"url": "http://x"}}, "env1")
    settings = accounts.password_filter(ONE).fill(told)
    agent = AgentProcess(tmp_path / "agent", program, settings)
    channel = engine(accounts, ONE)
    try:
        agent.start()
        channel.send(QUEUE, message_of(body_plan("return 1")))
        assert answer(channel)["Body"] == 1
    finally:
        agent.stop()
        channel.close()


@pytest.mark.attack("broker", "logins of environments")
def test_another_environment_is_out_of_reach(accounts: BrokerAccounts, broker: Broker) -> None:
    channels = [engine(accounts, owner) for owner in (ONE, TWO)]
    try:
        channels[0].send(QUEUE, Message("1", "{}"))
        channels[1].send(THEIRS, Message("2", "{}"))
    finally:
        for channel in channels:
            channel.close()
    with pytest.raises(NotAllowed):
        connect(broker, accounts, ONE, to=TWO)
    # What is sent from here does not get there, whatever it is called.
    with connect(broker, accounts, ONE, to=ONE) as connection:
        connection.channel().basic_publish_confirm(RawMessage("{}"), "", THEIRS)
    with RawConnection(
        f"127.0.0.1:{broker.port}", userid="guest", password="guest", virtual_host=account_name("env2")
    ) as admin:
        assert admin.channel().queue_declare(THEIRS, passive=True).message_count == 1


@pytest.mark.attack("broker", "logins of environments")
def test_a_server_reads_plans_and_publishes_and_does_nothing_else(accounts: BrokerAccounts, broker: Broker) -> None:
    channel = engine(accounts, ONE)
    try:
        channel.send(QUEUE, Message("1", "{}"))
        channel.receive(RESULTS, 0.01)
        with connect(broker, accounts, ONE, to=ONE) as connection:
            message = connection.channel().basic_get(QUEUE, no_ack=True)
            assert message is not None and message.properties["message_id"] == "1"
            connection.channel().basic_publish_confirm(RawMessage("{}", message_id="9"), "", RESULTS)
            for forbidden in (
                lambda raw: raw.basic_get(RESULTS),
                lambda raw: raw.queue_purge(RESULTS),
                lambda raw: raw.queue_delete(QUEUE),
                lambda raw: raw.queue_declare("mine", durable=True, auto_delete=False, arguments=QUEUE_ARGUMENTS),
                lambda raw: raw.basic_publish_confirm(RawMessage("{}"), "amq.topic", "x"),
            ):
                with pytest.raises(AccessRefused):
                    forbidden(connection.channel())
        said = channel.receive(RESULTS, PATIENCE)
        assert said is not None and said.id == "9"
    finally:
        channel.close()
    with pytest.raises(urllib.error.HTTPError, match="401"):
        request = urllib.request.Request(f"http://127.0.0.1:{broker.management_port}/api/vhosts")
        login = f"{account_name('env1')}:{accounts.password(ONE)}"
        request.add_header("Authorization", "Basic " + base64.b64encode(login.encode()).decode())
        urllib.request.urlopen(request)


def test_accounts_come_and_go(accounts: BrokerAccounts, broker: Broker) -> None:
    for _ in range(2):
        accounts.ensure(ONE)
    assert "vetro-env1" in names(broker, "vhosts") and "vetro-env1" in names(broker, "users")
    for _ in range(2):
        accounts.remove(ONE)
    assert "vetro-env1" not in names(broker, "vhosts") + names(broker, "users")


def test_an_account_that_the_broker_lost_is_made_again(accounts: BrokerAccounts, broker: Broker) -> None:
    channel = engine(accounts, ONE)
    try:
        channel.send(QUEUE, Message("1", "{}"))
        accounts.remove(ONE)  # ends the connection
        channel.send(QUEUE, Message("2", "{}"))
        with connect(broker, accounts, ONE, to=ONE) as connection:
            assert connection.channel().basic_get(QUEUE).properties["message_id"] == "2"
    finally:
        channel.close()


def test_passwords_follow_from_key_and_environment(accounts: BrokerAccounts, broker: Broker, tmp_path: Path) -> None:
    settings = BrokerSettings("127.0.0.1", broker.port)
    same = BrokerAccounts(settings, management(broker), tmp_path / "key.pem")
    other = BrokerAccounts(settings, management(broker), tmp_path / "other.pem")
    found = {accounts.password(ONE), accounts.password(TWO), accounts.password(Owner("x", "env1")), other.password(ONE)}
    assert len(found) == 4
    assert same.password(ONE) == accounts.password(ONE)


def test_who_is_no_administrator_is_told(accounts: BrokerAccounts, broker: Broker) -> None:
    accounts.ensure(TWO)
    settings = BrokerSettings("127.0.0.1", broker.port)
    for wrong, said in (
        (replace(management(broker), password="s3cret"), "401"),
        (replace(management(broker), login=account_name("env2"), password=accounts.password(TWO)), "401"),
    ):
        refused = BrokerAccounts(settings, wrong, accounts._signing_key)
        channel = AmqpChannel(
            refused.settings(ONE), ONE, patience=PATIENCE, prepare=lambda refused=refused: refused.ensure(ONE)
        )
        try:
            with pytest.raises(BrokerUnavailable, match=said) as caught:
                channel.send(QUEUE, Message("1", "{}"))
            assert wrong.password not in str(caught.value) + repr(wrong)
        finally:
            channel.close()
        with pytest.raises(AccountRefused):
            refused.ensure(ONE)


def test_no_plug_in(tmp_path: Path) -> None:
    accounts = BrokerAccounts(BrokerSettings(), Management("http://127.0.0.1:1", "a", "b"), tmp_path / "key.pem")
    with pytest.raises(BrokerUnavailable, match=r"engine\.broker\.management"):
        accounts.remove(ONE)


@pytest.mark.parametrize("status", [408, 429, 503])
def test_answers_that_pass_are_no_refusals(tmp_path: Path, status: int) -> None:
    """A refusal ends what waits for the broker at once; these are tried again until its patience is over."""

    class Busy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is printed."""

    with HTTPServer(("127.0.0.1", 0), Busy) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        where = Management(f"http://127.0.0.1:{server.server_address[1]}", "a", "b")
        with pytest.raises(BrokerUnavailable, match=str(status)):
            BrokerAccounts(BrokerSettings(), where, tmp_path / "key.pem").remove(ONE)
        thread.join()


def test_settings_are_read() -> None:
    broker, management = broker_of({"host": "mq", "login": "vetro", "password": "p"})
    assert (broker.host, management) == ("mq", None)
    broker, management = broker_of({"host": "mq", "login": "v", "password": "p", "management": {"url": "https://mq:1"}})
    assert management == Management("https://mq:1", "v", "p")
    for wrong in ({"url": "mq:1"}, {"url": "http://a:b@mq"}, "mq", {}, {"url": "http://mq", "colour": 1}):
        with pytest.raises((TypeError, ValueError)):
            broker_of({"management": wrong})


def test_servers_are_told_no_password() -> None:
    given = {"host": "mq", "login": "v", "password": "p", "ca_certs": "/f", "management": {"url": "http://m"}}
    assert told_to_servers(given, "Env") == {
        "host": "mq", "login": "vetro-env", "virtual_host": "vetro-env", "password": PLACEHOLDER,
        "server_login": "vetro-env.{server}", "server_password": SERVER_PLACEHOLDER,
        "server_exchange": "vetro-answers-{server}",
    }  # fmt: skip
    del given["management"]
    assert told_to_servers(given, "Env") == {"host": "mq", "login": "v", "password": "p"}
