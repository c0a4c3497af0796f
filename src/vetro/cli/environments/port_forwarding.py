"""`vetro port-forward`: ports of this machine that lead to ports in a server, through commands in it."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress

from vetro.cli import output as out
from vetro.cli.client.requests import Client, ClientError
from vetro.cli.environments.server_commands import PART, Sender, ServerTarget
from vetro.data_classes import dataclass

#: Connections that wait to be taken.
_BACKLOG = 16
#: Run in the server, once a connection: its own streams on the one side, the port on the other. The port is a word of
#: the command line, never part of the program.
_RELAY = """\
import os, socket, sys, threading
port = socket.create_connection((sys.argv[1], int(sys.argv[2])), 10)
port.settimeout(None)
def up():
    while data := os.read(0, 65536):
        port.sendall(data)
    port.shutdown(socket.SHUT_WR)
threading.Thread(target=up, daemon=True).start()
while data := port.recv(65536):
    while data:
        data = data[os.write(1, data):]
"""


@dataclass(frozen=True, slots=True)
class Forward:
    """A port here (0: any that is free), and the one in the server."""

    here: int
    there: int

    @classmethod
    def of(cls, text: str) -> Forward | None:
        """``8080``, ``8080:80``, ``:80``; None for anything else."""
        here, colon, there = text.rpartition(":")
        if not there.isdecimal() or not (here.isdecimal() or not here):
            return None
        found = cls(int(here or 0) if colon else int(there), int(there))
        return found if found.here < 1 << 16 and 0 < found.there < 1 << 16 else None


def forward(client: Client, name: str, server: str, forwards: Sequence[Forward], address: str) -> None:
    """Takes connections until it is interrupted. Raises `ClientError` where no command may be run in the server; fails
    the command where a port here is taken."""
    target = ServerTarget(client, name, server)
    if target.run(["python3", "-c", ""], len, len):  # better now than at the first connection
        out.fail("python3 does not run in the server")
    doors = [(_door(address, one.here), one) for one in forwards]
    try:
        for door, one in doors:
            here = door.getsockname()[1]
            shown = f"[{address}]" if ":" in address else address
            out.echo(f"{shown}:{here} leads to port {one.there}")
            sys.stdout.flush()
            threading.Thread(target=_take, args=(door, target, one.there), daemon=True).start()
        threading.Event().wait()
    finally:
        for door, _ in doors:
            door.close()


def _door(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        return socket.create_server((address, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        out.fail(
            f"port {port} of {address} cannot be used: {error.strerror or error}", f"take another one: OTHER:{port}"
        )


def _take(door: socket.socket, target: ServerTarget, port: int) -> None:
    while True:
        try:
            connection, _ = door.accept()
        except OSError:  # the command ends
            return
        threading.Thread(target=_relay, args=(connection, target, port), daemon=True).start()


def _relay(connection: socket.socket, target: ServerTarget, port: int) -> None:
    """One connection, to its end. What goes wrong is told, and the others go on."""
    said = bytearray()

    def feed(sender: Sender) -> None:
        with suppress(OSError):
            while data := connection.recv(PART):
                sender.write(data)

    with connection:
        try:
            words = ["python3", "-c", _RELAY, "localhost", str(port)]
            status = target.run(words, connection.sendall, said.extend, feed=feed)
            if status:
                last = said.decode("utf-8", "replace").strip().rpartition("\n")[2]
                out.note(f"port {port}: {last or f'the relay ended with status {status}'}")
        except (ClientError, OSError) as error:
            out.note(f"port {port}: {error}")
