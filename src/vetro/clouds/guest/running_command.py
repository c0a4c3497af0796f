"""Commands in servers that run on: what they write as they write it, what they are told, their end.

A process of its own holds each (`vetro.clouds.guest.command_process`). It ends the command when nobody listens any
more, also because the process that did was killed.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import select
import socket
import stat
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from vetro.clouds.drivers.errors import GuestCommandFailed
from vetro.clouds.drivers.tools import environment
from vetro.clouds.guest import command_process
from vetro.clouds.guest.files import open_in_root
from vetro.clouds.interface import Command, CommandEvent

#: Seconds that its process may take to begin.
_BEGIN = 10.0
#: Of terminals (`ioctl_tty(2)`): lets the other end be opened, opens it.
_UNLOCK, _PEER = 0x40045431, 0x5441
_KINDS = {b"o": "stdout", b"e": "stderr", b"i": "input"}


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """How a command gets into a server. ``terminal``: descriptors of both ends of one, which are closed here.

    ``status``: the words themselves write the command's status to descriptor 9.
    """

    words: Sequence[str]
    terminal: tuple[int, int] | None = None
    status: bool = False


def hold(
    entry: CommandEntry,
    size: tuple[int, int] | None,
    takes_input: bool,
    control: socket.socket,
    listener: socket.socket,
    place: Path | None = None,
) -> subprocess.Popen[bytes]:
    """Starts the process that holds a command, at ``control``, with input from ``listener``; both stay open here.

    ``place``: the name of ``listener``, removed at the end. Raises OSError.
    """
    launch: command_process.Launch = {
        "control": control.fileno(),
        "listener": listener.fileno(),
        "place": None if place is None else str(place),
        "terminal": None if entry.terminal is None else list(entry.terminal),
        "size": None if size is None else list(size),
        "input": takes_input,
        "status": entry.status,
    }
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(command_process.__file__)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=environment(),
            pass_fds=(control.fileno(), listener.fileno(), *(entry.terminal or ())),
            start_new_session=True,
        )
        assert process.stdin is not None
        with suppress(BrokenPipeError), process.stdin:  # it was killed: who waits for it learns that
            process.stdin.write(command_process.packed(launch, [os.fsencode(word) for word in entry.words]))
    finally:
        for number in entry.terminal or ():
            os.close(number)
    return process


def wait(process: subprocess.Popen[bytes]) -> None:
    """Until the process that holds a command nobody listens to any more has ended."""
    try:
        process.wait(command_process.GRACE + 15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class HeldCommand:
    """Implements `vetro.clouds.interface.RunningCommand` with a process that somebody makes hold the command.

    ``begin`` gets the process's ends of both sockets, as `hold` takes them, and gives what waits for the end of the
    process once nobody listens any more. Raises `GuestCommandFailed`, and what ``begin`` raises.
    """

    def __init__(self, command: Command, begin: Callable[[socket.socket, socket.socket], Callable[[], None]]) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control: socket.socket | None = ours
        self._place = command.socket
        self._wait: Callable[[], None] | None = None
        try:
            with theirs, _listening(command.socket) as listener:
                self._wait = begin(theirs, listener)
            packet = self._packet(_BEGIN)
        except BaseException:
            self.close()
            raise
        if packet != b"r":
            self.close()
            why = (packet or b"")[1:].decode("utf-8", "replace") or "its process did not begin"
            raise GuestCommandFailed(f"'{command.words[0]}' cannot be started in the server: {why}")

    def read(self, timeout: float) -> CommandEvent | None:
        """See `RunningCommand.read`."""
        packet = self._packet(timeout)
        if packet is None:
            return None
        letter, data = packet[:1], packet[1:]
        if letter == b"x":
            return CommandEvent("exit", code=int(data))
        if letter not in _KINDS:
            raise GuestCommandFailed("the process that held the command was killed")
        return CommandEvent(_KINDS[letter], data)  # type: ignore[arg-type]

    def _packet(self, timeout: float) -> bytes | None:
        """The next packet, b"" at the end; None after ``timeout`` seconds."""
        if self._control is None:
            return b""
        poll = select.poll()
        poll.register(self._control.fileno(), select.POLLIN)
        if not poll.poll(timeout * 1000):
            return None
        try:
            return self._control.recv(command_process.PACKET + 16)
        except ConnectionError:
            return b""

    def close(self) -> None:
        """See `RunningCommand.close`."""
        control, self._control = self._control, None
        if control is not None:
            control.close()
            if self._wait is not None:
                self._wait()
            self._place.unlink(missing_ok=True)

    def __del__(self) -> None:
        if hasattr(self, "_control"):
            self.close()


class GuestCommand(HeldCommand):
    """A command whose process this one starts."""

    def __init__(self, entry: CommandEntry, command: Command) -> None:
        """Starts it. Raises `GuestCommandFailed`."""

        def begin(control: socket.socket, listener: socket.socket) -> Callable[[], None]:
            process = hold(entry, command.terminal, command.input, control, listener, command.socket)
            self.process = process
            return lambda: wait(process)  # not of this object: whoever drops it closes it

        super().__init__(command, begin)


def send_input(place: Path, data: bytes, *, end: bool = False, size: tuple[int, int] | None = None) -> str:
    """Hands input to the command that takes it there: ``ok``, ``full`` (nothing was taken) or ``ended``."""
    head: command_process.Input = {"end": end}
    if size is not None:
        head["size"] = list(size)
    try:
        with _short(place) as address, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_BEGIN)
            connection.connect(address)
            connection.sendall(json.dumps(head).encode() + b"\n" + data)
            connection.shutdown(socket.SHUT_WR)
            return connection.recv(16).decode("ascii") or "ended"
    except TimeoutError:
        return "full"
    except OSError:
        return "ended"


def running(folder: Path) -> list[str]:
    """Names of the sockets in a folder whose commands run; those that were left behind are removed."""
    found = []
    for name in os.listdir(folder) if folder.is_dir() else ():
        if name.endswith(".sock"):
            with _short(folder / name) as address, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
                probe.settimeout(1)
                try:
                    probe.connect(address)
                except ConnectionRefusedError:
                    (folder / name).unlink(missing_ok=True)
                    continue
                except FileNotFoundError:
                    continue  # it has just ended
                except OSError:
                    pass  # it is busy
            found.append(name)
    return found


def open_terminal(root: str, uid: int) -> tuple[int, int]:
    """Both ends of a new terminal of the guest whose root directory is ``root``; ``uid``: its root's number here.

    It is one of the guest's own, which has a name in there. Raises `GuestCommandFailed`: the guest may have put
    anything where terminals are.
    """
    try:
        folder = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            ours = open_in_root(folder, "/dev/pts/ptmx", os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        finally:
            os.close(folder)
        try:
            found = os.fstat(ours)
            if not stat.S_ISCHR(found.st_mode) or found.st_rdev != os.makedev(5, 2):
                raise OSError(errno.ENODEV, "it has no terminals")
            fcntl.ioctl(ours, _UNLOCK, struct.pack("i", 0))
            theirs = fcntl.ioctl(ours, _PEER, os.O_RDWR | os.O_NOCTTY)
        except BaseException:
            os.close(ours)
            raise
    except OSError as error:
        raise GuestCommandFailed(f"the server gives no terminal: {error.strerror}") from None
    os.fchown(theirs, uid, -1)
    return ours, theirs


@contextmanager
def _listening(place: Path) -> Iterator[socket.socket]:
    """A new socket of this user alone at a place."""
    with _short(place) as address, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(address)
        os.chmod(address, 0o600)
        listener.listen(8)
        yield listener


@contextmanager
def _short(place: Path) -> Iterator[str]:
    """A short name of a socket: addresses have at most 108 characters."""
    folder = os.open(place.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{place.name}"
    finally:
        os.close(folder)
