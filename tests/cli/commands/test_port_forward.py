"""`vetro port-forward`: connections to this machine end at ports of servers."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.cli.deploykit import PATIENCE, Place
from vetro.cli.environments.port_forwarding import Forward

#: The command, in a process whose recorded servers run commands here.
PROGRAM = """\
import sys
import pytest
from tests.support.commands import Execution
from vetro.cli.main import main
Execution(pytest.MonkeyPatch())
main(["port-forward", *sys.argv[1:]])
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("80", Forward(80, 80)),
        ("8080:80", Forward(8080, 80)),
        (":80", Forward(0, 80)),
        ("0", None),
        ("80:", None),
        ("web", None),
        ("1:2:3", None),
        ("70000", None),
        ("-1", None),
        ("70000:80", None),
    ],
)
def test_ports_as_people_write_them(text: str, found: Forward | None) -> None:
    assert Forward.of(text) == found


@contextmanager
def echoing() -> Iterator[int]:
    """A server that says what it was sent, backwards, when no more comes."""

    def serve() -> None:
        while True:
            try:
                connection, _ = door.accept()
            except OSError:
                return
            with connection:
                said = b""
                while data := connection.recv(65536):
                    said += data
                connection.sendall(said[::-1])

    with closing(socket.create_server(("127.0.0.1", 0))) as door:
        threading.Thread(target=serve, daemon=True).start()
        yield door.getsockname()[1]


def answer(port: int, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        said = b""
        while part := connection.recv(65536):
            said += part
    return said


@pytest.mark.campaign
def test_a_connection_reaches_the_server_and_ends_with_it(here: Path) -> None:
    place = Place(here)
    place.deploy()
    assert "simulated" in place.refused("port-forward", "e", ":80")
    assert "is no port" in place.run("port-forward", "e", "box").output
    assert "is no port" in place.run("port-forward", "e", "box", "80000").output
    assert "there is no environment 'x'" in place.refused("port-forward", "x", "80")
    with echoing() as port, closing(socket.socket()) as nobody:
        nobody.bind(("127.0.0.1", 0))  # nothing listens at it
        closed = nobody.getsockname()[1]
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, "e", f":{port}", f":{closed}"],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3]), "VETRO_WORKSPACE": str(place.root)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None and process.stderr is not None
            first, second = (re.search(r":(\d+) leads", process.stdout.readline()) for _ in range(2))
            assert first is not None and second is not None
            assert answer(int(first[1]), b"hello") == b"olleh"
            data = bytes(range(256)) * 400
            assert answer(int(first[1]), data) == data[::-1]
            assert answer(int(second[1]), b"") == b""
            assert f"port {closed}: ConnectionRefusedError" in process.stderr.readline()
        finally:
            process.kill()
            process.communicate()
