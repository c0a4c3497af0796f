"""Who the broker is: certificates that neither the engine nor an agent takes, and addresses of the newer protocol."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from amqp import Connection as RawConnection

from tests.agent.agentworld import (
    OWNER,
    PATIENCE,
    QUEUE,
    RESULTS,
    AgentProcess,
    answer,
    body_plan,
    message_of,
    wait_for,
)
from tests.agent.broker import Broker
from tests.agent.relay import Relay
from tests.support.certificates import self_signed
from tests.support.needs import need
from vetro.agent.amqp import AmqpChannel
from vetro.agent.amqp_link import BrokerSettings
from vetro.agent.errors import BrokerUnavailable
from vetro.clouds.messages import Message

pytestmark = pytest.mark.attack("broker", "a false broker")


class Listener:
    """A server that shows a certificate and keeps what comes after."""

    def __init__(self, certificate: Path, key: Path) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._context = context
        self._sock = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._sock.getsockname()[1]
        self.heard = b""
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                sock, _ = self._sock.accept()
            except OSError:
                return
            sock.settimeout(PATIENCE)
            try:
                with self._context.wrap_socket(sock, server_side=True) as inside:
                    self.heard += inside.recv(4096)
            except OSError:
                sock.close()

    def close(self) -> None:
        self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()
        self._thread.join(PATIENCE)


@contextmanager
def shown(folder: Path, *names: str, days: int = 1) -> Iterator[tuple[Listener, Path]]:
    """A false broker with such a certificate, and the file that makes its signer an authority."""
    certificate, key = folder / "cert.pem", folder / "key.pem"
    self_signed(certificate, key, *names, days=days)
    listener = Listener(certificate, key)
    try:
        yield listener, certificate
    finally:
        listener.close()


FALSE = [
    pytest.param(("other.example",), 1, True, id="wrong name"),
    pytest.param(("localhost",), -2, True, id="expired"),
    pytest.param(("localhost",), 1, False, id="own authority"),
]


@pytest.mark.parametrize(("names", "days", "known"), FALSE)
def test_the_engine_tells_a_false_broker_nothing(
    tmp_path: Path, names: tuple[str, ...], days: int, known: bool
) -> None:
    with shown(tmp_path, *names, days=days) as (listener, authority):
        trusted = str(authority) if known else ""
        settings = BrokerSettings("localhost", listener.port, "vetro", "s3cret", ssl=True, ca_certs=trusted)
        channel = AmqpChannel(settings, OWNER, patience=2.0)
        try:
            with pytest.raises(BrokerUnavailable, match=r"(?i)certificate"):
                channel.send(QUEUE, Message("1", "{}"))
        finally:
            channel.close()
        assert listener.heard == b""


@pytest.mark.parametrize(("names", "days", "known"), FALSE)
def test_an_agent_tells_a_false_broker_nothing(
    tmp_path: Path, program: Path, names: tuple[str, ...], days: int, known: bool
) -> None:
    with shown(tmp_path, *names, days=days) as (listener, authority):
        told = {"host": "localhost", "port": listener.port, "ssl": True, "login": "me", "password": "s3cret"}
        agent = AgentProcess(
            tmp_path / "agent", program, {**told, **({"ca_certs": authority} if known else {})}
        ).start()
        try:
            wait_for(lambda: "certificate" in agent.log.lower())
            assert listener.heard == b""
            assert "s3cret" not in agent.log
        finally:
            agent.stop()


@pytest.mark.parametrize("verified", [True, False], ids=["authority", "insecure"])
def test_the_right_broker_is_spoken_to(broker: Broker, tmp_path: Path, program: Path, verified: bool) -> None:
    authority = str(broker.ca_file) if verified else ""
    settings = BrokerSettings("localhost", broker.tls_port, ssl=True, ca_certs=authority, insecure=not verified)
    told = {"host": "localhost", "port": broker.tls_port, "ssl": True, "insecure": not verified, "ca_certs": authority}
    _round_trip(broker, settings, tmp_path, program, told)


def test_a_broker_with_an_address_of_ipv6(broker: Broker, tmp_path: Path, program: Path) -> None:
    try:
        relay = Relay(broker.port, "::1")
    except OSError:
        need("an address of IPv6 (::1)")
    with relay:
        told = {"host": "::1", "port": relay.port}
        _round_trip(broker, BrokerSettings("::1", relay.port), tmp_path, program, told)
        assert relay.accepted >= 2


def _round_trip(broker: Broker, settings: BrokerSettings, folder: Path, program: Path, told: dict[str, object]) -> None:
    with RawConnection(f"127.0.0.1:{broker.port}", userid="guest", password="guest") as connection:
        for queue in (QUEUE, RESULTS):
            connection.channel().queue_delete(queue)
    channel = AmqpChannel(settings, OWNER, patience=PATIENCE)
    agent = AgentProcess(folder / "agent", program, told).start()
    try:
        channel.send(QUEUE, message_of(body_plan("return 1")))
        assert answer(channel)["Body"] == 1
    finally:
        agent.stop()
        channel.close()
