"""`CloudHelper`: answers the requests of one unprivileged service with a driver that has root's rights.

Whoever is at the other end may have been taken over: the kernel says which user that is, every argument is parsed into
its type (`calls`), what reaches beyond servers has limits (`limits`), and sizes, times and numbers are bounded. The
helper has no secret and no database of the service, and serves one cloud: the first that asks.
"""

from __future__ import annotations

import logging
import os
import select
import socket
import stat
import struct
import threading
import time
from collections.abc import Callable, Collection, Container, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from vetro.clouds.drivers import agent_sockets, spec_files
from vetro.clouds.drivers.alone import Alone
from vetro.clouds.drivers.base import InspectedDriver, JournalDriver, MeasuringDriver, RoutingDriver, SnapshotDriver
from vetro.clouds.drivers.errors import HelperAway, HelperRefused, HostFailed
from vetro.clouds.drivers.values import Id, ValueInvalid
from vetro.clouds.guest import running_command
from vetro.clouds.guest.running_command import CommandEntry
from vetro.clouds.helper import limits
from vetro.clouds.helper.calls import DESCRIPTORS, LARGEST_REQUEST, WITHOUT_CLOUD, arguments, plain
from vetro.clouds.helper.failures import failure
from vetro.clouds.images.building import Build
from vetro.clouds.interface import CloudError, NotFound, Owner
from vetro.diagnostics import TEXTS, Text, encode_messages
from vetro.frames import Decoder, FrameError, encode, values_in

_log = logging.getLogger(__name__)

#: Connections at once, and bytes of memory that requests may take which are read at once: so many for each byte of
#: theirs and for each value.
MOST_CONNECTIONS, MOST_MEMORY = 256, 512 << 20
_OF_BYTE, _OF_VALUE = 4, 200
#: Seconds in which a request has to be complete, and an answer taken.
REQUEST_SECONDS, ANSWER_SECONDS = 30.0, 60.0
#: Seconds for which it holds what is missing on this machine.
_AGAIN = 5.0


class HelpedDriver(
    InspectedDriver, JournalDriver, MeasuringDriver, RoutingDriver, SnapshotDriver, limits.Known, Protocol
):
    """A driver that a helper may have."""

    def images(self) -> list[dict[str, Any]]:
        """The images that servers can start from."""
        ...  # pragma: no cover - protocol

    def image_names(self) -> frozenset[str]:
        """What these are called: little work."""
        ...  # pragma: no cover - protocol

    def begin_build(self, name: str) -> None:
        """See `vetro.clouds.images.building.BuildsImages`."""
        ...  # pragma: no cover - protocol

    def last_build(self) -> Build | None:
        """See `vetro.clouds.images.building.BuildsImages`."""
        ...  # pragma: no cover - protocol

    def agent_socket(self, queue: str, owner: Owner | None = None) -> Path | None:
        """The folder of the socket of an agent's queue."""
        ...  # pragma: no cover - protocol

    def entry(self, server: str, command: Any, terminal: bool) -> CommandEntry:
        """How a command gets into a server."""
        ...  # pragma: no cover - protocol


class _Gone(Exception):
    """Who connected asked nothing."""


class CloudHelper:
    """``directory``: where it notes whom it serves. ``user``: who may ask, besides root. ``lacks``: why no server can
    be made now, as (reason, hint); None when one can.
    """

    def __init__(
        self,
        directory: Path,
        driver: HelpedDriver,
        bounds: limits.HelperLimits,
        user: int,
        lacks: Callable[[], tuple[str, str | None] | None],
    ) -> None:
        self._note = directory / "cloud.json"
        self._driver = driver
        self._limits = bounds
        self._user = user
        self._lacks = lacks
        self._alone = Alone()
        self._room = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._guard = threading.Lock()
        self._memory = 0
        self._admitting = threading.Lock()
        self._making = dict[str, limits.Size]()
        self._lacking: tuple[str, str | None] | None = None
        self._looked, self._images = -_AGAIN, frozenset[str]()

    def serve(self, listener: socket.socket) -> None:
        """Answers until the socket is closed. Connections that are too many wait."""
        while True:
            self._room.acquire()
            try:
                connection, _ = listener.accept()
            except OSError:
                self._room.release()
                if listener.fileno() < 0:
                    return
                time.sleep(0.1)  # no descriptors are left, for example
                continue
            threading.Thread(target=self._connected, args=(connection,), daemon=True).start()

    def _connected(self, connection: socket.socket) -> None:
        descriptors: list[int] = []
        try:
            with connection:
                user = _user_of(connection)
                with self._request(connection, descriptors) as request:
                    if user in (0, self._user):
                        answer, sent = self._answered(connection, user, request, descriptors)
                    else:
                        _log.warning("user %d was refused", user)
                        answer, sent = failure(HelperAway("the cloud helper serves another user")), []
                try:
                    _send(connection, answer, sent)
                finally:
                    for number in sent:
                        os.close(number)
        except _Gone:
            pass
        except (OSError, FrameError) as error:
            _log.warning("a request was not answered: %s", error)
        finally:
            for number in descriptors:
                os.close(number)
            self._room.release()

    # -- requests ------------------------------------------------------------------------------------------------------

    @contextmanager
    def _request(self, connection: socket.socket, descriptors: list[int]) -> Iterator[dict[str, Any]]:
        """The request, whose memory counts until it is answered. Raises `FrameError`, OSError."""
        taken, until = 0, time.monotonic() + REQUEST_SECONDS

        def take(memory: int) -> None:
            nonlocal taken
            with self._guard:
                taken += memory
                self._memory += memory
                if self._memory > MOST_MEMORY:
                    raise FrameError("too many large requests at once")

        def weigh(body: bytes) -> None:
            take(_OF_VALUE * values_in(body, MOST_MEMORY // _OF_VALUE))

        decoder = Decoder(LARGEST_REQUEST, weigh)
        messages: list[dict[str, Any]] = []
        try:
            while not messages:
                connection.settimeout(max(0.01, until - time.monotonic()))
                data, found, flags, _ = socket.recv_fds(connection, 1 << 16, 2, socket.MSG_CMSG_CLOEXEC)
                descriptors += found
                if not data:
                    raise _Gone if not taken else FrameError("who asked has gone")
                take(_OF_BYTE * len(data))
                if time.monotonic() > until or len(descriptors) > 2 or flags & socket.MSG_CTRUNC:
                    raise FrameError("a request took too long, or has too many descriptors")
                messages = decoder.feed(data)
            yield messages[0]
        finally:
            with self._guard:
                self._memory -= taken

    def _answered(
        self, connection: socket.socket, user: int, request: dict[str, Any], descriptors: list[int]
    ) -> tuple[dict[str, Any], list[int]]:
        """The answer, and descriptors that go with it. Raises OSError where nobody hears it."""
        name = request.get("name")
        try:
            given = arguments(name, request.get("args"))
            theirs = all(_is_socket_of(user, number) for number in descriptors)
            if len(descriptors) != DESCRIPTORS.get(str(name), 0) or not theirs:
                raise ValueInvalid(
                    Text("'{name}' takes {count} sockets of who asks", name=name, count=DESCRIPTORS.get(str(name), 0))
                )
            if name not in WITHOUT_CLOUD:
                self._check_cloud(request.get("cloud"))
            return self._done(connection, str(name), given, descriptors)
        except CloudError as error:
            if isinstance(error, (ValueInvalid, HelperRefused)):
                _log.warning("a request was refused: %s", error.message)
            return failure(error), []
        except (ConnectionError, TimeoutError):
            raise
        except OSError as error:
            _log.warning("'%s' failed: %s", name, error)
            return failure(HostFailed(f"this machine refused '{name}': {error.strerror}")), []
        except Exception:
            _log.exception("'%s' failed", name)
            return failure(HelperAway("the cloud helper has a defect; its log says more")), []

    def _done(
        self, connection: socket.socket, name: str, given: tuple[Any, ...], descriptors: list[int]
    ) -> tuple[dict[str, Any], list[int]]:
        driver, sent = self._driver, list[int]()
        result: Any = None
        if name == "sweep":
            result = driver.sweep(_Known(connection, "server"), _Known(connection, "network"))
        elif name == "clear":
            result = driver.clear()
            self._note.unlink(missing_ok=True)  # the next cloud that asks is served
        elif name == "lacks":
            lack = self._missing()
            if lack is not None:
                reason, hint = lack
                # Services of earlier versions take the first two.
                result = [str(reason), hint, encode_messages({"reason": reason, "hint": hint}).get(TEXTS, {})]
        elif name == "listen":
            sent = self._listen(*given)
        elif name == "run_command":
            self._run(connection, descriptors, *given)
        elif given and isinstance(thing := getattr(given[0], "id", given[0]), Id) and name not in _READING:
            with self._alone(thing), self._admitted(name, given, thing):
                result = getattr(driver, name)(*given)
        else:
            result = getattr(driver, name)(*given)
        return {"t": "done", "result": plain(result)}, sent

    @contextmanager
    def _admitted(self, name: str, given: tuple[Any, ...], thing: str) -> Iterator[None]:
        """While this is done: a server that is being made counts. Raises `HelperRefused`."""
        with self._admitting:
            begun = {other: size for other, size in self._making.items() if other != thing}
            self._limits.check(name, given, self._driver, begun)
            if name in ("create", "update"):
                self._making[thing] = limits.size_of(given[0])
        try:
            yield
        finally:
            with self._admitting:
                self._making.pop(thing, None)

    def _check_cloud(self, cloud: Any) -> None:
        """Raises `HelperAway` for another cloud than the one that was served first."""
        cloud = Id(cloud)
        with self._guard:
            known = spec_files.load(self._note)
            if known is None:
                spec_files.save(self._note, cloud)
            elif known != cloud:
                error = HelperAway("the cloud helper makes servers for another cloud")
                error.hint = f"'vetro cloud clean' there lets it go; where that cloud is lost, remove {self._note}"
                raise error

    def _missing(self) -> tuple[str, str | None] | None:
        """What is missing, looked for once in a while, since programs are started for it, and for each new image."""
        with self._alone("lacks"):
            images = self._driver.image_names()
            if time.monotonic() > self._looked + _AGAIN or images != self._images:
                self._images = images
                self._lacking, self._looked = self._lacks(), time.monotonic()
            return self._lacking

    def _listen(self, queue: str) -> list[int]:
        """The socket of an agent, and what stands for its name."""
        folder = self._driver.agent_socket(queue)
        if folder is None:
            raise NotFound(Text("no server has the queue '{queue}'", queue=queue))
        listener, mark = agent_sockets.listen(folder)
        return [listener.detach(), mark]

    def _run(
        self,
        connection: socket.socket,
        descriptors: list[int],
        server: str,
        words: tuple[str, ...],
        terminal: tuple[int, int] | None,
        takes: bool,
    ) -> None:
        """Holds a command until its process has ended, which it does when nobody listens at the first socket."""
        entry = self._driver.entry(server, words, terminal is not None)
        control, listener = (socket.socket(fileno=descriptors.pop(0)) for _ in range(2))
        with control, listener:
            process = running_command.hold(entry, terminal, takes, control, listener)
        _send(connection, {"t": "begun"})
        handle = os.pidfd_open(process.pid)
        try:
            poll = select.poll()
            for number in (handle, connection.fileno()):
                poll.register(number, select.POLLIN)
            poll.poll()
        finally:
            os.close(handle)
        running_command.wait(process)


#: Requests about one thing that other requests about it do not wait for.
_READING = frozenset({"console", "journal", "get_file", "put_file", "configure", "signals", "routed"})


class _Known(Container[str]):
    """Ids that the cloud at the other end of a connection has, as they are when somebody looks."""

    def __init__(self, connection: socket.socket, what: str) -> None:
        self._connection = connection
        self._what = what

    def __contains__(self, id: object) -> bool:
        _send(self._connection, {"t": "known", "what": self._what, "id": str(id)})
        decoder = Decoder(1 << 10)
        self._connection.settimeout(REQUEST_SECONDS)
        while True:
            data = self._connection.recv(1 << 10)
            if not data:
                raise ConnectionResetError("who asked for a sweep has gone")  # nothing more is removed
            for message in decoder.feed(data):
                return message.get("known") is not False


def _is_socket_of(user: int, number: int) -> bool:
    """Whether both ends of a socket are this user's: what root writes to others', they believe to be root's."""
    if not stat.S_ISSOCK(os.fstat(number).st_mode):
        return False
    with socket.socket(fileno=os.dup(number)) as one:
        return one.family == socket.AF_UNIX and _user_of(one) == user


def _user_of(connection: socket.socket) -> int:
    """Who connected, or listens, at the other end of a socket or at this one, as the kernel has it."""
    found: int = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
    return found


def _send(connection: socket.socket, message: dict[str, Any], descriptors: Collection[int] = ()) -> None:
    """Sends a frame within `ANSWER_SECONDS`. Raises OSError."""
    data = memoryview(encode(message))
    until = time.monotonic() + ANSWER_SECONDS
    connection.settimeout(ANSWER_SECONDS)
    if descriptors:
        sent = socket.send_fds(connection, [data[:1]], list(descriptors))
        data = data[sent:]
    while data:
        connection.settimeout(max(0.01, until - time.monotonic()))
        data = data[connection.send(data[: 1 << 18]) :]


def listening(place: Path, group: int) -> socket.socket:
    """The socket at which a service of this group asks. Raises OSError."""
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
    with suppress(FileNotFoundError):
        place.unlink()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o117)
    try:
        listener.bind(str(place))
    finally:
        os.umask(before)
    os.lchown(place, 0, group)  # who could put a link there would get what it leads to
    listener.listen(128)
    return listener
