"""A private RabbitMQ: own node, own folder, free ports, own port mapper; nothing of it outlives the tests."""

from __future__ import annotations

import datetime
import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

_SERVER = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
_START = 60.0


@dataclass(frozen=True)
class Broker:
    port: int
    tls_port: int
    management_port: int
    ca_file: Path


def missing_broker() -> str | None:
    """Why there is no broker on this machine; an error where CI promises one."""
    missing = [name for name in ("epmd", "erl") if shutil.which(name) is None]
    missing += [] if _SERVER.exists() else [str(_SERVER)]
    if missing and os.environ.get("CI") == "true":
        raise RuntimeError(f"rabbitmq-server must be installed: {', '.join(missing)} not found")
    return f"needs rabbitmq-server: {', '.join(missing)} not found" if missing else None


@contextmanager
def start_broker(folder: Path) -> Iterator[Broker]:
    """A broker that accepts connections on 127.0.0.1; it is gone at the end."""
    ports = _free_ports(5)
    _make_certificates(folder)
    (folder / "rabbit.conf").write_text(
        f"listeners.tcp.1 = 127.0.0.1:{ports[0]}\n"
        f"listeners.ssl.1 = 127.0.0.1:{ports[1]}\n"
        f"ssl_options.cacertfile = {folder}/cert.pem\n"
        f"ssl_options.certfile = {folder}/cert.pem\n"
        f"ssl_options.keyfile = {folder}/key.pem\n"
        "ssl_options.verify = verify_none\n"
        f"management.tcp.ip = 127.0.0.1\nmanagement.tcp.port = {ports[4]}\n"
        "loopback_users = none\nlog.console = true\nlog.file = false\nvm_memory_high_watermark.relative = 0.9\n"
    )
    (folder / "plugins").write_text("[rabbitmq_management].\n")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "RABBITMQ_CONF_ENV_FILE": "/dev/null",
        "RABBITMQ_BASE": str(folder),
        "RABBITMQ_CONFIG_FILE": str(folder / "rabbit"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        "RABBITMQ_MNESIA_BASE": str(folder / "db"),
        "RABBITMQ_LOG_BASE": str(folder / "log"),
        "RABBITMQ_GENERATED_CONFIG_DIR": str(folder / "generated"),
        "RABBITMQ_PID_FILE": str(folder / "pid"),
        "RABBITMQ_NODENAME": f"vetro{os.getpid()}@localhost",
        "RABBITMQ_DIST_PORT": str(ports[2]),
        "ERL_EPMD_PORT": str(ports[3]),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
    }
    mapper = subprocess.Popen(["epmd"], env=environment, stdin=subprocess.DEVNULL)
    try:
        server = subprocess.Popen(
            [str(_SERVER)],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _wait_until_started(server)
            yield Broker(ports[0], ports[1], ports[4], folder / "cert.pem")
        finally:
            _end(server, folder / "pid")
            assert server.stdout is not None
            server.stdout.close()
    finally:
        mapper.terminate()
        mapper.wait()


def _end(server: subprocess.Popen[bytes], pid_file: Path) -> None:
    try:
        # The node first: its shell is then still there to see its end.
        os.kill(int(pid_file.read_text()), signal.SIGKILL)
        server.wait(10)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        pass
    if server.poll() is None:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def _wait_until_started(server: subprocess.Popen[bytes]) -> None:
    assert server.stdout is not None
    stream, lines, started = server.stdout, [], threading.Event()

    def read() -> None:
        try:
            for line in stream:
                lines.append(line.decode("utf-8", "replace"))
                if "Server startup complete" in lines[-1]:
                    started.set()
        except ValueError:
            pass  # closed at the end
        started.set()

    threading.Thread(target=read, daemon=True).start()
    if not started.wait(_START) or not any("Server startup complete" in line for line in lines):
        raise RuntimeError("RabbitMQ did not start:\n" + "".join(lines[-30:]))


def _free_ports(number: int) -> list[int]:
    sockets = [socket.socket() for _ in range(number)]
    try:
        for sock in sockets:
            sock.bind(("127.0.0.1", 0))
        return [sock.getsockname()[1] for sock in sockets]
    finally:
        for sock in sockets:
            sock.close()


def _make_certificates(folder: Path) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
    )
