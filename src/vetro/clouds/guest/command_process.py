"""The process that holds one command of a server: its terminal or its streams, and the socket that takes its input.

A program of its own (`python -I -S command_process.py`) that uses the standard library only. Its standard input is a
`Launch` with the words of the command (`packed`). Over a socket of packets to whoever wants the command
(`vetro.clouds.guest.running_command`) it sends packets with a letter in front: ``o`` and ``e`` what the command wrote,
``i`` that input came, ``x`` the status it ended with. When the other end is closed, because its process was killed for
example, the session of the command is ended.

Input comes over connections to a socket that listens, so that any process of the service may send it: a line of JSON
(`Input`), then bytes up to the end; the answer is ``ok``, ``full`` (nothing was taken: later) or ``ended``.
What waits is bounded both ways: a command that writes faster than is read waits, and so does who sends it input.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from typing import Any, TypedDict

#: Bytes of a packet, of input that waits, and of a line in front of input.
PACKET, WAITING, HEAD = 32 << 10, 256 << 10, 4 << 10
#: The descriptor of a command that says its status itself.
STATUS = 9
#: Seconds that a session has between being told that nobody listens, and its end.
GRACE = 0.5


class Launch(TypedDict):
    """How a command is to be held."""

    #: Descriptors: the socket of packets, and the one for input, which listens.
    control: int
    listener: int
    #: Path of the socket for input, which is removed at the end; None: who made it does that.
    place: str | None
    #: Descriptors of both ends of its terminal, with columns and rows; None: there is none.
    terminal: list[int] | None
    size: list[int] | None
    #: Whether it gets input; a command with a terminal always does.
    input: bool
    #: Whether the command writes its status to `STATUS`, and its leader may stay when it has ended.
    status: bool


class Input(TypedDict, total=False):
    """The line in front of input. ``end``: no more follows. ``size``: columns and rows that the terminal has now."""

    end: bool
    size: list[int]


def packed(launch: Launch, words: list[bytes]) -> bytes:
    """The input of the process. Words go over as they are."""
    return b"\0".join([json.dumps(launch).encode(), *words])


class Held:
    """A command that runs."""

    def __init__(self, control: socket.socket, launch: Launch, words: list[bytes]) -> None:
        self._control = control
        self._listener = socket.socket(fileno=launch["listener"])
        self._connections: dict[int, tuple[socket.socket, bytearray]] = {}
        self._pending: bytes | None = None
        self._waiting = bytearray()
        self._no_more = False
        self._status: int | None = None
        self._own_status = launch["status"]
        self._terminal = launch["terminal"] is not None
        self._outputs: dict[int, bytes] = {}
        self._input: int | None = None
        self._told = False
        self._says = self._begin(launch, words)

    def _begin(self, launch: Launch, words: list[bytes]) -> int | None:
        """Starts it; the descriptor at which it says its status, where it does."""
        says: int | None = None
        passed: tuple[int, ...] = ()
        if self._own_status:
            says, theirs = os.pipe()
            os.dup2(theirs, STATUS)
            os.close(theirs)
            passed = (STATUS,)
        common: dict[str, Any] = {"cwd": "/", "start_new_session": True, "pass_fds": passed}
        if launch["terminal"] is not None:
            ours, theirs = launch["terminal"]
            self._resize(ours, launch["size"] or [80, 24])
            self._child = subprocess.Popen(
                words, stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=_lead, **common
            )
            os.close(theirs)
            self._outputs[ours] = b"o"
            self._input = ours
        else:
            pipe = subprocess.PIPE
            self._child = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, **common)
            assert self._child.stdin and self._child.stdout and self._child.stderr
            self._outputs = {self._child.stdout.fileno(): b"o", self._child.stderr.fileno(): b"e"}
            self._input = self._child.stdin.fileno()
            if not launch["input"]:
                self._close_input()
        if says is not None:
            os.close(STATUS)
        for number in (*self._outputs, *([] if self._input is None else [self._input])):
            os.set_blocking(number, False)
        self._control.setblocking(False)
        self._handle = os.pidfd_open(self._child.pid)
        return says

    def hold(self) -> None:
        """Returns when the command has ended and all was told, or nobody listens any more."""
        while not self._told or self._pending is not None:
            wanted = {self._control.fileno(): select.POLLIN, self._listener.fileno(): select.POLLIN}
            if self._pending is not None:
                wanted[self._control.fileno()] |= select.POLLOUT
            else:
                wanted.update(dict.fromkeys(self._outputs, select.POLLIN))
            if self._waiting and self._input is not None:
                wanted[self._input] = wanted.get(self._input, 0) | select.POLLOUT
            wanted.update(dict.fromkeys(self._connections, select.POLLIN))
            if self._status is None:
                wanted[self._handle] = select.POLLIN
                if self._says is not None:
                    wanted[self._says] = select.POLLIN
            poll = select.poll()
            for number, what in wanted.items():
                poll.register(number, what)
            draining = self._status is not None and self._pending is None and not self._told
            ready = dict(poll.poll(0 if draining else None))
            if self._control.fileno() in ready and self._gone(ready[self._control.fileno()]):
                return
            busy = self._turn(ready)
            if draining and not busy:
                self._tell(b"x%d" % (self._status or 0))
                self._told = True

    def _turn(self, ready: dict[int, int]) -> bool:
        """Does what can be done now; whether the command wrote something."""
        if self._pending is not None and ready.get(self._control.fileno(), 0) & select.POLLOUT:
            pending, self._pending = self._pending, None
            self._tell(pending)
        if self._listener.fileno() in ready:
            connection, _ = self._listener.accept()
            connection.setblocking(False)
            self._connections[connection.fileno()] = (connection, bytearray())
        for number in [number for number in self._connections if number in ready]:
            self._hear(number)
        if self._input is not None and ready.get(self._input, 0) & (select.POLLOUT | select.POLLERR | select.POLLHUP):
            self._feed()
        busy = False
        for number in [number for number in self._outputs if ready.get(number, 0)]:
            busy = True
            if self._pending is None:
                self._read(number)
        if self._status is None:
            self._look(ready)
        return busy

    def _look(self, ready: dict[int, int]) -> None:
        """Finds out whether it has ended."""
        if self._says in ready and self._says is not None:
            said = os.read(self._says, 16).strip()
            if said.isdigit():
                self._status = int(said)
                return
            os.close(self._says)  # whoever was to say it was killed
            self._says = None
        if self._handle in ready:
            status = self._child.wait()
            self._status = status if status >= 0 else 128 - status

    def _read(self, number: int) -> None:
        try:
            data = os.read(number, PACKET)
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno != errno.EIO:  # a terminal whose other end is closed
                raise
            data = b""
        if data:
            self._tell(self._outputs[number] + data)
            return
        del self._outputs[number]
        if number == self._input:
            self._input = None

    def _hear(self, number: int) -> None:
        """Takes what comes over a connection."""
        connection, data = self._connections[number]
        try:
            part = connection.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            part, data = b"", bytearray()
        data += part
        if part and len(data) <= HEAD + WAITING:
            return
        del self._connections[number]
        with connection:
            if data and not part:
                try:
                    connection.send(self._take(bytes(data)))
                except OSError:
                    pass  # who sent it was killed

    def _take(self, message: bytes) -> bytes:
        """Takes input; what is answered."""
        head, _, data = message.partition(b"\n")
        about: Input = json.loads(head)
        if self._input is None or self._no_more:
            return b"ended"
        if len(self._waiting) + len(data) > WAITING:
            return b"full"
        self._waiting += data
        size = about.get("size")
        if size and self._terminal:
            self._resize(self._input, size)
        self._no_more = bool(about.get("end")) and not self._terminal
        self._feed()
        if data and self._pending is None:
            self._tell(b"i")
        return b"ok"

    def _feed(self) -> None:
        """Writes what the command takes."""
        assert self._input is not None
        try:
            while self._waiting:
                del self._waiting[: os.write(self._input, self._waiting[:PACKET])]
        except BlockingIOError:
            return
        except OSError:  # it reads no more
            self._waiting.clear()
            self._no_more = True
        if self._no_more:
            self._close_input()

    def _close_input(self) -> None:
        if self._child.stdin is not None:
            try:
                self._child.stdin.close()
            except OSError:
                pass
        self._input = None

    def _resize(self, terminal: int, size: list[int]) -> None:
        columns, rows = (max(1, min(int(number), 1000)) for number in size)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _tell(self, packet: bytes) -> None:
        """Sends a packet, or keeps it until it can be sent."""
        try:
            self._control.send(packet)
        except BlockingIOError:
            self._pending = packet
        except OSError:
            pass  # nobody listens

    def _gone(self, events: int) -> bool:
        if events & select.POLLIN:
            try:
                return not self._control.recv(16)
            except BlockingIOError:
                return False
            except OSError:
                return True
        return bool(events & (select.POLLHUP | select.POLLERR))

    def end(self) -> None:
        """Ends whatever is left of the session, unless the command has ended by itself."""
        if self._status is not None:
            return
        self._signal(signal.SIGHUP)
        self._signal(signal.SIGCONT)
        deadline = time.monotonic() + GRACE
        while self._members() and time.monotonic() < deadline:
            time.sleep(0.02)
        while self._members() and time.monotonic() < deadline + 10:
            self._signal(signal.SIGKILL)  # again: they may fork meanwhile
            time.sleep(0.02)

    def _signal(self, number: int) -> None:
        for pid in self._members():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def _members(self) -> list[int]:
        """The processes of the session. A leader that says the status of its command itself ends with the others."""
        self._child.poll()
        found = []
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                        fields = file.read().rpartition(")")[2].split()
                except OSError:
                    continue
                if len(fields) > 3 and fields[3] == str(self._child.pid) and fields[0] not in "ZX":
                    found.append(int(name))
        return [pid for pid in found if not self._own_status or pid != self._child.pid]


def _lead() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _moved(number: int) -> int:
    """Another number for a descriptor, out of the way of `STATUS`."""
    other = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 2 * STATUS)
    os.close(number)
    return other


def _ended(*_: object) -> None:
    raise SystemExit


def main() -> None:
    """Holds the command that standard input describes."""
    signal.signal(signal.SIGTERM, _ended)
    with os.fdopen(0, "rb", closefd=False) as given:
        message = given.read()
    if not message:
        return
    head, *words = message.split(b"\0")
    launch: Launch = json.loads(head)
    control = socket.socket(fileno=_moved(launch["control"]))
    launch["listener"] = _moved(launch["listener"])
    if launch["terminal"] is not None:
        launch["terminal"] = [_moved(number) for number in launch["terminal"]]
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, STATUS):  # nothing else gets these numbers
        os.dup2(null, number)
    held: Held | None = None
    try:
        held = Held(control, launch, words)
        control.send(b"r")
        held.hold()
    except OSError as error:
        try:
            control.send(b"f" + str(error).encode()[:1000])
        except OSError:
            pass
    finally:
        if launch["place"] is not None:
            try:
                os.unlink(launch["place"])
            except FileNotFoundError:
                pass
        if held is not None:
            held.end()


if __name__ == "__main__":
    main()
    sys.exit(0)
