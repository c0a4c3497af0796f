"""``insecure`` accepts any certificate of a broker, at the engine and in servers; without it none that is not known."""

from __future__ import annotations

import contextlib
import datetime
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from vetro.agent.broker_accounts import broker_of, told_to_servers
from vetro.agent.guest.amqp_transport import AmqpTransport
from vetro.agent.guest.config import read_config

pytestmark = pytest.mark.attack("broker", "A7")


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A key and a certificate that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=2))
        .sign(key, hashes.SHA256())
    )
    key_file, file = folder / f"{name}.key", folder / f"{name}.pem"
    form = serialization.PrivateFormat.PKCS8
    key_file.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    file.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    return key_file, file


@dataclass
class Listener:
    """Speaks TLS with a certificate for another name, and takes what is sent first."""

    port: int
    #: A certificate that has nothing to do with it.
    other: Path
    heard: list[bytes]


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[Listener]:
    key, file = certificate(tmp_path, "elsewhere.example")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file, key)
    server = socket.create_server(("127.0.0.1", 0))
    found = Listener(server.getsockname()[1], certificate(tmp_path, "other.example")[1], [])

    def serve() -> None:
        while True:
            try:
                peer, _ = server.accept()
            except OSError:
                return
            with peer, contextlib.suppress(OSError), context.wrap_socket(peer, server_side=True) as secure:
                found.heard.append(secure.recv(8))

    thread = threading.Thread(target=serve)
    thread.start()
    yield found
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join(10)


@pytest.mark.parametrize("authorities", [False, True])
@pytest.mark.parametrize("insecure", [False, True])
def test_the_engine(listener: Listener, authorities: bool, insecure: bool) -> None:
    data = {"host": "127.0.0.1", "port": listener.port, "ssl": True, "insecure": insecure}
    settings, _ = broker_of({**data, "ca_certs": str(listener.other) if authorities else ""})
    connection = settings.connection()
    with pytest.raises(OSError, match="closed connection" if insecure else "CERTIFICATE_VERIFY_FAILED"):
        connection.connect()
    connection.release()
    assert any(b"AMQP" in text for text in listener.heard) == insecure
    assert told_to_servers(data, "e")["insecure"] is insecure


@pytest.mark.parametrize("authorities", [False, True])
@pytest.mark.parametrize("insecure", [False, True])
def test_servers(listener: Listener, tmp_path: Path, authorities: bool, insecure: bool) -> None:
    file = tmp_path / "agent.conf"
    lines: list[Any] = [
        "[DEFAULT]", f"storage = {tmp_path}", "[rabbitmq]", "host = 127.0.0.1", f"port = {listener.port}", "ssl = true",
        f"insecure = {insecure}", "input_queue = q", "result_routing_key = r",
    ]  # fmt: skip
    file.write_text("\n".join([*lines, f"ca_certs = {listener.other}"] if authorities else lines) + "\n")
    context = AmqpTransport.prepare(read_config([str(file)], []))
    assert context is not None
    with socket.create_connection(("127.0.0.1", listener.port), 10) as plain:
        if not insecure:
            with pytest.raises(ssl.SSLCertVerificationError):
                context.wrap_socket(plain, server_hostname="127.0.0.1")
            return
        with context.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
            secure.sendall(b"AMQP1234")
