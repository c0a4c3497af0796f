"""Commands and terminals in servers: who may, how many, how long, and what is written down about it.

A command belongs to whoever started it and to the request that follows it: it ends with that request, and then, too,
when its person may not run it any more. Input comes with requests of its own, to any process of the service: the socket
of a command lies in one folder and is named after its environment and its person, so nobody finds a stranger's.
What a command is given and what it says is kept nowhere.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from django.db import connection

from vetro import file_lock
from vetro.clouds.errors import CloudError
from vetro.clouds.guest import running_command
from vetro.clouds.guest.command_process import WAITING
from vetro.clouds.interface import Cloud, Command, NotAvailable, Owner, RunningCommand, RunsCommands
from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.config import cloud_settings
from vetro.server.environments import lookup
from vetro.server.environments.models import Environment
from vetro.server.environments.simulation import NOTHING_EXISTS
from vetro.server.errors import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    NotSignedIn,
    ServiceError,
    TooLarge,
    TooMany,
    Unavailable,
)
from vetro.server.requests.streams import stopping
from vetro.server.servers import logs
from vetro.server.setup import config

#: What somebody gets who names no command.
SHELL: Final = ("sh", "-c", "cd; if command -v bash > /dev/null; then exec bash -l; fi; exec sh -l")
#: Bytes of all words of a command, and of input that is sent at once.
LONGEST, LARGEST_INPUT = 64 << 10, WAITING // 2
#: Seconds between looks whether who asked is there, and whether they may still.
_GLANCE, _CHECK = 0.5, 2.0
#: Seconds without anything after which a comment is sent.
_HEARTBEAT = 15.0
#: Ends the names of files that hold the place of a command while it is started; seconds that they count.
_NEW, _STARTING = ".new", 60.0
#: Statuses of commands that were killed, as by the end of their server; seconds within which that is seen to end.
_KILLED, _ENDING, _LOOK = frozenset({129, 137, 143}), 1.0, 0.25
_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Event:
    """``kind``: begin, stdout, stderr, exit (the command has ended), end (it was ended), beat and '' (nothing new)."""

    kind: str
    data: bytes = b""
    #: Of ``exit``.
    code: int = 0
    #: Of ``end``.
    reason: str = ""


class ServerCommand:
    """A command that was started. ``id``: by which input finds it. Who reads no `events` closes it. ``runs``: whether
    its server does.
    """

    def __init__(
        self, id: str, server: logs.Server, running: RunningCommand, terminal: bool, runs: Callable[[], bool]
    ) -> None:
        self.id = id
        self.server = server
        self._running = running
        self._runs = runs
        self._terminal = terminal

    def events(self, still: Callable[[], Any]) -> Iterator[Event]:
        """What happens, to its end. ``still()`` raises a `ServiceError` once the caller may not follow it any more."""
        settings = config()
        begun = heard = spoken = checked = time.monotonic()
        most, idle = float(settings["commands.seconds"]), float(settings["commands.idle_seconds"])
        try:
            yield Event("begin")
            while True:
                event = self._running.read(_GLANCE)
                now = time.monotonic()
                if event is not None and event.kind == "exit":
                    if event.code in _KILLED and self._server_ended():
                        raise Unavailable(Text("server '{name}' does not run any more", name=self.server.name))
                    yield Event("exit", code=event.code)
                    return
                if event is not None:
                    heard = now
                if now - checked >= _CHECK:
                    checked = now
                    _look(still)
                if stopping():
                    raise Forbidden(Text("the service is being stopped"))
                if now - begun >= most:
                    raise Forbidden(Text("it ran for {seconds} seconds, the most that it may", seconds=int(most)))
                if self._terminal and now - heard >= idle:
                    raise Forbidden(Text("nothing happened for {seconds} seconds", seconds=int(idle)))
                if event is not None and event.data:
                    spoken = now
                    yield Event(event.kind, event.data)
                elif event is None:
                    yield Event("beat" if now - spoken >= _HEARTBEAT else "")
                    spoken = now if now - spoken >= _HEARTBEAT else spoken
        except (Forbidden, NotFound, NotSignedIn, Unavailable, CloudError) as error:
            self.close()
            yield Event("end", reason=error.message)
        finally:
            self.close()

    def _server_ended(self) -> bool:
        """Whether its server has ended, or does so just now: its commands end a moment before it."""
        until = time.monotonic() + _ENDING
        while self._runs():
            if time.monotonic() >= until:
                return False
            time.sleep(_LOOK)
        return True

    def close(self) -> None:
        """Ends it, unless it has ended."""
        self._running.close()


def start(
    caller: Caller,
    environment_id: str,
    what: str,
    words: Sequence[str] = (),
    *,
    terminal: tuple[int, int] | None = None,
    takes_input: bool = False,
) -> ServerCommand:
    """Starts a command in a server, named as for `logs.read`; without words a shell. It is audited before it begins.

    Raises `NotFound`, `Conflict` where servers run no commands, `Invalid`, `TooMany`, `Unavailable`.
    """
    row = logs.row_of(caller, environment_id)
    words = tuple(words) or SHELL
    _check(words)
    check_offered(row)
    server = logs.chosen(logs.servers(caller, environment_id, small=True), what)
    id = secrets.token_hex(16)
    with _place(caller, environment_id, id) as socket:
        program = "shell" if words == SHELL else words[0][:100].encode("utf-8", "replace").decode()
        about = {"server": server.id, "server_name": server.name, "program": program}
        record(caller, "server.command", row.id, row.name, **about, terminal=terminal is not None)
        command = Command(words=words, terminal=terminal, input=takes_input, socket=socket)

        def run(cloud: Cloud, owner: Owner) -> RunningCommand:
            if not isinstance(cloud, RunsCommands):
                raise NotAvailable(Text("servers of this cloud run no commands"))
            return cloud.run_command(owner, server.id, command)

        return ServerCommand(id, server, logs.ask(row, run), terminal is not None, lambda: _runs(row, server.id))


def _runs(row: Environment, server: str) -> bool:
    """Whether a server runs, as far as its cloud tells."""
    try:
        found = logs.ask(row, lambda cloud, owner: cloud.servers(owner))
    except (ServiceError, CloudError):
        return True
    return any(one.id == server and one.status == "ACTIVE" for one in found)


def send(
    caller: Caller,
    environment_id: str,
    id: str,
    data: bytes = b"",
    *,
    end: bool = False,
    size: tuple[int, int] | None = None,
) -> None:
    """Gives a command of this caller input, tells it that no more follows (``end``), or that its terminal has another
    size. Raises `NotFound` for a command that has ended, or is somebody else's, `TooMany` while enough waits,
    `TooLarge`.
    """
    lookup.environment(caller, environment_id)
    if len(data) > LARGEST_INPUT:
        raise TooLarge(Text("input has at most {bytes} bytes at once", bytes=LARGEST_INPUT))
    answer = "ended"
    if _ID.fullmatch(id):
        answer = running_command.send_input(_folder() / _name(caller, environment_id, id), data, end=end, size=size)
    if answer == "ended":
        raise NotFound(Text("the command has ended, or reads no more input"))
    if answer == "full":
        raise TooMany(Text("the command has not read what it was given before"), details={"retry_after": 1})


def offered(environment: Environment) -> bool:
    """Whether commands can be run in the servers of an environment at all."""
    able = cloud_settings.capabilities(config(), environment.cloud)
    return able is None or able.commands


def check_offered(row: Environment) -> None:
    """Raises `Conflict` where no commands can be run in the servers of an environment, with what else can be done."""
    if offered(row):
        return
    if cloud_settings.simulated(config(), row.cloud):
        raise Conflict(Text("servers of this environment are simulated and run no commands"), hint=NOTHING_EXISTS)
    raise Conflict(
        Text("servers of this cloud run no commands through Vetro"),
        hint=Text("sign in to the server itself, with ssh and its key pair"),
    )


def _check(words: Sequence[str]) -> None:
    if not words[0] or any("\0" in word for word in words):
        raise Invalid(Text("a command is a program and its arguments, without the character U+0000"))
    if sum(len(word.encode("utf-8", "surrogatepass")) + 1 for word in words) > LONGEST:
        raise TooLarge(Text("the words of a command have at most {bytes} bytes", bytes=LONGEST))


@contextmanager
def _place(caller: Caller, environment_id: str, id: str) -> Iterator[Path]:
    """Where the socket of a new command belongs: a place among those that this person and environment may have is held
    for it meanwhile. Raises `TooMany`."""
    folder = _folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    name = _name(caller, environment_id, id)
    held = folder / f"{name}{_NEW}"
    with file_lock.exclusive(folder / "lock"):
        _check_room(folder, name)
        held.touch()
    try:
        yield folder / name
    finally:
        held.unlink(missing_ok=True)


def _check_room(folder: Path, new: str) -> None:
    names = set(running_command.running(folder))
    for held in folder.glob(f"*{_NEW}"):
        with suppress(FileNotFoundError):
            if time.time() - held.stat().st_mtime < _STARTING:
                names.add(held.name.removesuffix(_NEW))
            else:
                held.unlink()  # its process was killed
    for setting, place, text in (
        ("each_person", 1, Text("you have as many commands and terminals running as you may")),
        ("each_environment", 0, Text("this environment has as many commands and terminals running as it may")),
    ):
        own = new.split(".")[place]
        if sum(name.split(".")[place] == own for name in names) >= int(config()[f"commands.{setting}"]):
            raise TooMany(text, hint=Text("end one of them"), details={"retry_after": 10})


def _folder() -> Path:
    return config().data / "commands"


def _name(caller: Caller, environment_id: str, id: str) -> str:
    marks = (environment_id, f"{caller.user_id}\0{caller.project_id}")
    environment, person = (hashlib.blake2b(text.encode(), digest_size=10).hexdigest() for text in marks)
    return f"{environment}.{person}.{id}.sock"


def _look(still: Callable[[], Any]) -> None:
    """Asks again; no connection to the database is held meanwhile."""
    if not connection.in_atomic_block:
        connection.close_if_unusable_or_obsolete()
    try:
        still()
    finally:
        if connection.settings_dict["CONN_MAX_AGE"] == 0 and not connection.in_atomic_block:
            connection.close()  # a pool lends it to others meanwhile
