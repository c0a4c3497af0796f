"""A private RabbitMQ: own node, own folder, free ports, own port mapper; nothing of it outlives the tests."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support import rabbitmq
from tests.support.certificates import self_signed
from tests.support.needs import need

#: Seconds that it may take on a machine that does much else.
_START = 300.0


@dataclass(frozen=True)
class Broker:
    port: int
    tls_port: int
    management_port: int
    ca_file: Path
    #: Of its programs.
    variables: dict[str, str]

    def control(self, *arguments: str) -> None:
        """Has ``rabbitmqctl`` do something."""
        command = [str(rabbitmq.PROGRAM.with_name("rabbitmqctl")), *arguments]
        subprocess.run(command, env=self.variables, check=True, capture_output=True, timeout=_START)


@contextmanager
def start_broker(folder: Path) -> Iterator[Broker]:
    """A broker that accepts connections on 127.0.0.1; it is gone at the end. ``folder`` is made where it is missing.

    Skips the test on a machine without RabbitMQ; in CI that is a failure."""
    missing = rabbitmq.missing()
    need(f"needs rabbitmq-server: {', '.join(missing)} not found" if missing else None)
    folder.mkdir(exist_ok=True)
    ports = rabbitmq.free_ports(5)
    self_signed(folder / "cert.pem", folder / "key.pem", "localhost")
    (folder / "rabbit.conf").write_text(
        f"listeners.tcp.1 = 127.0.0.1:{ports[0]}\n"
        f"listeners.ssl.1 = 127.0.0.1:{ports[1]}\n"
        f"ssl_options.cacertfile = {folder}/cert.pem\n"
        f"ssl_options.certfile = {folder}/cert.pem\n"
        f"ssl_options.keyfile = {folder}/key.pem\n"
        "ssl_options.verify = verify_none\n"
        f"management.tcp.ip = 127.0.0.1\nmanagement.tcp.port = {ports[4]}\n"
        f"{rabbitmq.QUIET}"
    )
    (folder / "plugins").write_text("[rabbitmq_management].\n")
    environment = rabbitmq.environment(folder, ports[2], ports[3])
    mapper = subprocess.Popen(["epmd"], env=environment, stdin=subprocess.DEVNULL)
    try:
        server = subprocess.Popen(
            [str(rabbitmq.PROGRAM)],
            cwd=folder,  # where Erlang leaves a core of its database when it is killed
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _wait_until_started(server)
            yield Broker(ports[0], ports[1], ports[4], folder / "cert.pem", environment)
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
