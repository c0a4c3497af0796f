"""`HelperDriver`: the driver of a service without root's rights. Each call is a request to the cloud helper."""

from __future__ import annotations

import base64
import functools
import os
import secrets
import socket
import time
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from vetro.clouds.drivers import spec_files
from vetro.clouds.drivers.base import ConfigResult, ServerStatus, Signal, SnapshotMethod
from vetro.clouds.drivers.errors import HelperAway
from vetro.clouds.drivers.specs import ConfigSpec, GroupSpec, NetworkSpec, ServerSpec, VolumeSpec
from vetro.clouds.guest import first_files
from vetro.clouds.guest.command_process import GRACE
from vetro.clouds.guest.running_command import HeldCommand
from vetro.clouds.helper.calls import WITHOUT_CLOUD, plain
from vetro.clouds.helper.failures import error_of
from vetro.clouds.helper.presence import address, note_of
from vetro.clouds.images.building import Build, build_of
from vetro.clouds.interface import (
    Command,
    NotAvailable,
    Owner,
    RunningCommand,
    ServerMetrics,
)
from vetro.clouds.kind_protocols import Channels
from vetro.clouds.messages import Channel
from vetro.frames import Decoder, FrameError, encode

#: Seconds in which a helper that is started anew has to answer again, and a look may take whether there is one.
_PATIENCE, _GLANCE = 30.0, 5.0


class HelperDriver:
    """``folder``: where the cloud keeps the name by which the helper knows it. ``channels``: see `Place`.

    Every method raises `HelperAway` when there is no helper, and does again what was broken off.
    """

    executes = True

    def __init__(self, name: str, folder: Path, channels: Channels | None = None) -> None:
        self.name = name
        self._channels = channels
        self._folder = folder

    @functools.cached_property
    def _cloud(self) -> str:
        """The name by which the helper knows the cloud."""
        return _name_of(self._folder)

    def _ask(self, name: str, *arguments: Any, known: Mapping[str, Container[str]] | None = None) -> Any:
        cloud = None if name in WITHOUT_CLOUD else self._cloud
        request = {"t": "call", "cloud": cloud, "name": name, "args": plain(arguments)}
        until = time.monotonic() + _PATIENCE
        while True:
            # Every call is convergent: one that nobody answered, because the helper was stopped, is made again.
            try:
                with _connected(until) as connection:
                    return _answer(connection, request, known)[0]
            except (OSError, FrameError) as error:
                if time.monotonic() > until:
                    raise HelperAway(f"the cloud helper does not answer '{name}': {error}") from None
                time.sleep(0.2)

    # -- servers -------------------------------------------------------------------------------------------------------

    def create(self, spec: ServerSpec) -> None:
        """See `ServerDriver.create`."""
        self._ask("create", spec)

    def update(self, spec: ServerSpec) -> None:
        """See `ServerDriver.update`."""
        self._ask("update", spec)

    def start(self, server: str) -> None:
        """See `ServerDriver.start`."""
        self._ask("start", server)

    def stop(self, server: str) -> None:
        """See `ServerDriver.stop`."""
        self._ask("stop", server)

    def delete(self, server: str) -> None:
        """See `ServerDriver.delete`."""
        self._ask("delete", server)

    def statuses(self, servers: Collection[str]) -> Mapping[str, ServerStatus]:
        """See `ServerDriver.statuses`."""
        found: Mapping[str, ServerStatus] = self._ask("statuses", list(servers)) if servers else {}
        return found

    def server_metrics(self, servers: Collection[str]) -> Mapping[str, ServerMetrics]:
        """See `MeasuringDriver.server_metrics`."""
        found = self._ask("server_metrics", list(servers)) if servers else {}
        return {server: ServerMetrics(**one) for server, one in found.items()}

    def agents_run(self, servers: Collection[str]) -> Mapping[str, bool]:
        """See `AgentDriver.agents_run`."""
        found: Mapping[str, bool] = self._ask("agents_run", list(servers)) if servers else {}
        return found

    def snapshot_methods(self, servers: Collection[str]) -> Mapping[str, SnapshotMethod]:
        """See `SnapshotDriver.snapshot_methods`."""
        found = self._ask("snapshot_methods", list(servers)) if servers else {}
        return {server: SnapshotMethod(**one) for server, one in found.items()}

    def take_snapshot(self, server: str, name: str) -> float | None:
        """See `SnapshotDriver.take_snapshot`."""
        stood = self._ask("take_snapshot", server, name)
        return None if stood is None else float(stood)

    def revert_to_snapshot(self, server: str, name: str) -> None:
        """See `SnapshotDriver.revert_to_snapshot`."""
        self._ask("revert_to_snapshot", server, name)

    def drop_snapshot(self, server: str, name: str) -> None:
        """See `SnapshotDriver.drop_snapshot`."""
        self._ask("drop_snapshot", server, name)

    def console(self, server: str, lines: int = 200) -> str:
        """See `ServerDriver.console`."""
        return str(self._ask("console", server, lines))

    def journal(self, server: str, lines: int = 200) -> str:
        """See `JournalDriver.journal`."""
        return str(self._ask("journal", server, lines))

    def put_file(self, server: str, path: str, data: bytes, mode: int = 0o644) -> None:
        """See `ServerDriver.put_file`."""
        self._ask("put_file", server, path, data, mode)

    def get_file(self, server: str, path: str) -> bytes:
        """See `ServerDriver.get_file`."""
        return base64.b64decode(self._ask("get_file", server, path))

    def configure(self, server: str, config: ConfigSpec) -> ConfigResult:
        """See `ServerDriver.configure`."""
        return ConfigResult(**self._ask("configure", server, config))

    def signal_command(self, handle: str) -> str:
        """See `ServerDriver.signal_command`."""
        return first_files.signal_program(handle)

    def signals(self, handle: str, servers: Collection[str]) -> Sequence[Signal]:
        """See `ServerDriver.signals`."""
        return [Signal(**one) for one in self._ask("signals", handle, list(servers))]

    def run_command(self, server: str, command: Command) -> RunningCommand:
        """See `CommandDriver.run_command`: the helper starts its process, which speaks with this one alone."""

        def begin(control: socket.socket, listener: socket.socket) -> Callable[[], None]:
            arguments = (server, list(command.words), command.terminal, command.input)
            request = {"t": "call", "cloud": self._cloud, "name": "run_command", "args": plain(arguments)}
            connection = _connected(time.monotonic() + _GLANCE)
            try:
                _send(connection, request, (control.fileno(), listener.fileno()))
                _answer(connection, None, kind="begun")
            except BaseException:
                connection.close()
                raise

            def wait() -> None:
                with connection, suppress(OSError):
                    connection.settimeout(GRACE + 20)
                    while connection.recv(1 << 16):
                        pass

            return wait

        return HeldCommand(command, begin)

    # -- networks, groups, volumes -------------------------------------------------------------------------------------

    def ensure_network(self, network: NetworkSpec) -> None:
        """See `ServerDriver.ensure_network`."""
        self._ask("ensure_network", network)

    def delete_network(self, network: str) -> None:
        """See `ServerDriver.delete_network`."""
        self._ask("delete_network", network)

    def networks(self) -> list[NetworkSpec]:
        """See `InspectedDriver.networks`."""
        return [NetworkSpec(**one) for one in self._ask("networks")]

    def taken(self) -> list[str]:
        """See `ServerDriver.taken`."""
        return list(self._ask("taken"))

    def routed(self, project: str, addresses: Collection[str]) -> tuple[str, Sequence[str]]:
        """See `RoutingDriver.routed`."""
        device, there = self._ask("routed", project, list(addresses))
        return str(device), list(there)

    def ensure_group(self, group: GroupSpec) -> None:
        """See `ServerDriver.ensure_group`."""
        self._ask("ensure_group", group)

    def delete_group(self, group: str) -> None:
        """See `ServerDriver.delete_group`."""
        self._ask("delete_group", group)

    def ensure_volume(self, volume: VolumeSpec) -> None:
        """See `ServerDriver.ensure_volume`."""
        self._ask("ensure_volume", volume)

    def delete_volume(self, volume: str) -> None:
        """See `ServerDriver.delete_volume`."""
        self._ask("delete_volume", volume)

    # -- the whole -----------------------------------------------------------------------------------------------------

    def channel(self, owner: Owner) -> Channel:
        """See `ServerDriver.channel`: this process listens at sockets that the helper has made."""
        if self._channels is None:
            raise NotAvailable("this driver was opened without a channel to agents")

        def place(queue: str) -> Path | None:
            found = self._ask("agent_socket", queue, owner)
            return None if found is None else Path(found)

        def listen(queue: str, folder: Path) -> tuple[socket.socket, int]:
            request = {"t": "call", "cloud": self._cloud, "name": "listen", "args": [queue]}
            with _connected(time.monotonic() + _GLANCE) as connection:
                _, (listener, mark) = _answer(connection, request, descriptors=2)
            return socket.socket(fileno=listener), mark

        return self._channels(owner, place, listen)

    def images(self) -> list[dict[str, Any]]:
        """The records of the images that servers can start from."""
        return list(self._ask("images"))

    def begin_build(self, name: str) -> None:
        """See `BuildsImages.begin_build`."""
        self._ask("begin_build", name)

    def last_build(self) -> Build | None:
        """See `BuildsImages.last_build`."""
        return build_of(self._ask("last_build"))

    def quarantined(self) -> list[tuple[ServerSpec, Path, float]]:
        """See `InspectedDriver.quarantined`."""
        return [(ServerSpec(**spec), Path(folder), until) for spec, folder, until in self._ask("quarantined")]

    def sweep(self, servers: Container[str], networks: Container[str]) -> Sequence[str]:
        """See `ServerDriver.sweep`. The helper asks about each thing when it is about to remove it."""
        return list(self._ask("sweep", known={"server": servers, "network": networks}))

    def clear(self) -> Sequence[str]:
        """See `ServerDriver.clear`."""
        return list(self._ask("clear"))

    def close(self) -> None:
        """Nothing is held open."""


def _name_of(folder: Path) -> str:
    """The name that is noted in the folder of a cloud, and made at the first use."""
    place = note_of(folder)
    if (known := spec_files.load(place)) is None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = folder / f".helper-{secrets.token_hex(8)}"
        spec_files.save(fresh, secrets.token_hex(16))
        with suppress(FileExistsError):  # another process was first
            os.link(fresh, place)
        fresh.unlink()
        known = spec_files.load(place)
    return str(known)


def _connected(until: float) -> socket.socket:
    """A connection to the helper, which may just be starting. Raises OSError."""
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(str(address()))
            return connection
        except OSError as error:
            connection.close()
            if time.monotonic() > until or not isinstance(error, (ConnectionError, FileNotFoundError)):
                raise
            time.sleep(0.2)


def _send(connection: socket.socket, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
    data = memoryview(encode(message))
    if descriptors:
        data = data[socket.send_fds(connection, [data[:1]], descriptors) :]
    connection.sendall(data)


def _answer(
    connection: socket.socket,
    request: dict[str, Any] | None,
    known: Mapping[str, Container[str]] | None = None,
    *,
    descriptors: int = 0,
    kind: str = "done",
) -> tuple[Any, list[int]]:
    """What is answered, with so many descriptors. Raises the error that the helper tells of, OSError, `FrameError`."""
    if request is not None:
        _send(connection, request)
    decoder, found = Decoder(), list[int]()
    try:
        while True:
            data, more, _, _ = socket.recv_fds(connection, 1 << 18, descriptors, socket.MSG_CMSG_CLOEXEC)
            found += more
            if not data:
                raise ConnectionResetError("it ended before it answered")
            for message in decoder.feed(data):
                if message["t"] == "known" and known is not None:
                    _send(connection, {"t": "known", "known": message["id"] in known[message["what"]]})
                elif message["t"] == "failed":
                    raise error_of(message)
                elif message["t"] == kind and len(found) == descriptors:
                    return message.get("result"), found
                else:
                    raise FrameError("the cloud helper answered something else")
    except BaseException:
        for number in found:
            os.close(number)
        raise
