"""What drivers have in common whose servers run programs: records of servers, going into them, sockets, volumes."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from vetro.clouds.drivers import agent_sockets, spec_files
from vetro.clouds.drivers.base import ConfigResult, DriverError, ServerStatus, Signal
from vetro.clouds.drivers.quarantine import held, lift, over, put, until
from vetro.clouds.drivers.specs import ConfigSpec, ServerSpec, VolumeSpec
from vetro.clouds.drivers.tools import run
from vetro.clouds.guest import first_files
from vetro.clouds.guest.commands import configure, get_file, journal, put_file, signals
from vetro.clouds.guest.exec import Output
from vetro.clouds.guest.running_command import CommandEntry, GuestCommand
from vetro.clouds.images.building import Build, Builds
from vetro.clouds.images.store import ImageStore, delete_tree
from vetro.clouds.interface import Command, NotAvailable, Owner, RunningCommand
from vetro.clouds.kind_protocols import Channels
from vetro.clouds.messages import Channel


class Guest(Protocol):
    """One server on this machine."""

    def spec(self) -> ServerSpec | None:
        """What it was made from; None when there is no such server."""
        ...  # pragma: no cover - protocol

    def alive(self) -> bool:
        """Whether it runs."""
        ...  # pragma: no cover - protocol

    def status(self) -> ServerStatus | None:
        """Its state; None when there is no such server."""
        ...  # pragma: no cover - protocol

    def console(self, lines: int) -> str:
        """The end of what it wrote to its console."""
        ...  # pragma: no cover - protocol

    def execute(self, command: Sequence[str], *, input: bytes = b"", timeout: float = 60) -> Output:
        """Runs a command in it. Raises `GuestCommandFailed`."""
        ...  # pragma: no cover - protocol

    def entry(self, command: Sequence[str], terminal: bool) -> CommandEntry:
        """How a command gets into it that runs on. Raises `GuestCommandFailed`."""
        ...  # pragma: no cover - protocol

    def stop(self) -> None:
        """Ends it; its files stay."""
        ...  # pragma: no cover - protocol

    def delete(self) -> None:
        """Ends it and removes what was made for it."""
        ...  # pragma: no cover - protocol


GuestT = TypeVar("GuestT", bound=Guest)


class GuestDriver(ABC, Generic[GuestT]):
    """The methods of `ServerDriver` that are the same whatever separates servers from this machine.

    ``folder`` has ``servers/ID/server.json`` for each server, ``sockets`` and ``volumes``.
    """

    executes = True

    def __init__(
        self,
        folder: Path,
        images: ImageStore | None,
        agent: Callable[[], Path] | None,
        channels: Channels | None,
    ) -> None:
        self._folder = folder
        self._images = images if images is not None else ImageStore()
        self._agent = agent
        self._channels = channels
        for part in ("servers", "sockets"):
            (folder / part).mkdir(parents=True, exist_ok=True, mode=0o700)

    @abstractmethod
    def _guest(self, folder: Path) -> GuestT:
        """The server whose folder this is; there need be none."""

    @abstractmethod
    def _begin(self, server: GuestT, spec: ServerSpec) -> None:
        """Starts a server that was made and does not run, as ``spec`` says."""

    def _deleted(self, spec: ServerSpec | None) -> None:
        """Follows the removal of a server, of which there may have been no record."""

    # -- servers -------------------------------------------------------------------------------------------------------

    def start(self, server: str) -> None:
        """Starts a stopped server."""
        found = self._known(server)
        spec = found.spec()
        if spec is not None and not found.alive():
            self._begin(found, spec)

    def stop(self, server: str) -> None:
        """Stops a server; its files stay."""
        self._server(server).stop()

    def delete(self, server: str) -> None:
        """Removes a server with everything that was made for it."""
        found = self._server(server)
        spec = found.spec()
        if spec is not None and spec.queue and not self._shared_queue(spec):
            delete_tree(self._socket_folder(spec.queue))
        found.delete()
        self._deleted(spec)
        with suppress(OSError):  # it is in nobody's way, and the next one tries it again
            self._images.tidy()

    def console(self, server: str, lines: int = 200) -> str:
        """The end of what it wrote to its console."""
        return self._known(server).console(lines)

    def journal(self, server: str, lines: int = 200) -> str:
        """The end of what its services said, as the guest's own root reads it."""
        return journal(self._known(server).execute, lines)

    def statuses(self, servers: Collection[str]) -> Mapping[str, ServerStatus]:
        """States of the servers that are known here."""
        found = {server: self._server(server).status() for server in servers}
        return {server: status for server, status in found.items() if status is not None}

    def _server(self, server: str) -> GuestT:
        if not server or "/" in server or server.startswith("."):
            raise DriverError(f"'{server}' is no id of a server")
        return self._guest(self._folder / "servers" / server)

    def _known(self, server: str) -> GuestT:
        found = self._server(server)
        if found.spec() is None:
            raise DriverError(f"there is no server {server} on this machine")
        return found

    def _folders(self) -> list[Path]:
        return sorted((self._folder / "servers").iterdir())

    def _specs(self, *, quarantined: bool = False) -> list[ServerSpec]:
        folders = [folder for folder in self._folders() if quarantined or not held(folder)]
        found = (spec_files.load_server(folder / "server.json") for folder in folders)
        return [spec for spec in found if spec is not None]

    def spec(self, server: str) -> ServerSpec | None:
        """What a server was made from; None when there is none."""
        return self._server(server).spec()

    def count(self, what: str) -> int:
        """How many servers, networks, groups or volumes there are."""
        folder = self._folder / what
        return len(os.listdir(folder)) if folder.is_dir() else 0

    def has(self, what: str, id: str) -> bool:
        """Whether there is this server, network, group or volume."""
        name = spec_files.digest(id, 32)
        return any((self._folder / what / one).exists() for one in (id, f"{name}.json", f"{name}.img"))

    def sizes(self) -> dict[str, tuple[float, float]]:
        """Memory (MiB) and disk (GiB) of each server as its flavor has them; a quarantined one has a disk only."""
        found = {}
        for folder in self._folders():
            spec = spec_files.load_server(folder / "server.json")
            if spec is not None:
                memory, disk = float(spec.flavor.get("ram") or 0), float(spec.flavor.get("disk") or 1)
                found[folder.name] = (0.0 if held(folder) else memory, disk)
        return found

    def images(self) -> list[dict[str, Any]]:
        """The records of the images that servers can start from."""
        return [image.record() for image in self._images.list()]

    def image_names(self) -> frozenset[str]:
        """What these are called."""
        return self._images.names()

    def begin_build(self, name: str) -> None:
        """See `BuildsImages.begin_build`."""
        Builds(self._images).begin_build(name)

    def last_build(self) -> Build | None:
        """See `BuildsImages.last_build`."""
        return Builds(self._images).last_build()

    # -- what the cloud does not know ----------------------------------------------------------------------------------

    @abstractmethod
    def _has_data(self, folder: Path) -> bool:
        """Whether the server kept in this folder ever had a disk that something was written to."""

    def _set_aside(self, folder: Path) -> list[str]:
        """Stops a server that the cloud does not know and keeps it for a day; then, or without data, removes it."""
        what = self._named(folder)
        if self._has_data(folder) and not (held(folder) and over(folder)):
            known = held(folder)
            put(folder)
            if not known or self._guest(folder).alive():
                self.stop(folder.name)
            return [] if known else [f"{what}: unknown to the cloud, stopped and kept for a day"]
        self.delete(folder.name)
        return [what]

    def _sweep_servers(self, servers: Container[str]) -> list[str]:
        """Sets aside servers other than these; says what was done."""
        done: list[str] = []
        for folder in self._folders():
            if folder.name not in servers:
                done += self._set_aside(folder)
            elif held(folder):
                lift(folder)
                done.append(f"quarantine of the server {folder.name}")
        return done

    def _clear_servers(self) -> list[str]:
        """Removes all servers; says which."""
        done = []
        for folder in self._folders():
            done.append(self._named(folder))
            self.delete(folder.name)
        return done

    def _named(self, folder: Path) -> str:
        spec = self._guest(folder).spec()
        return f"server {spec.name if spec else '?'} ({folder.name})"

    def quarantined(self) -> list[tuple[ServerSpec, Path, float]]:
        """Servers that the cloud does not know, with their folders, and when they will be removed."""
        found = [(self._guest(folder).spec(), folder) for folder in self._folders()]
        return [(spec, folder, until(folder)) for spec, folder in found if spec is not None and held(folder)]

    # -- inside a server -----------------------------------------------------------------------------------------------

    def execute(self, server: str, command: Sequence[str], *, input: bytes = b"", timeout: float = 60) -> Output:
        """Runs a command as root of a server (not of this machine). Raises `GuestCommandFailed`."""
        return self._known(server).execute(command, input=input, timeout=timeout)

    def run_command(self, server: str, command: Command) -> RunningCommand:
        """Starts a command as root of a server (not of this machine) that runs on. Raises `GuestCommandFailed`."""
        return GuestCommand(self.entry(server, command.words, command.terminal is not None), command)

    def entry(self, server: str, command: Sequence[str], terminal: bool) -> CommandEntry:
        """How a command gets into a server that is to run on. Raises `GuestCommandFailed`."""
        return self._known(server).entry(command, terminal)

    def put_file(self, server: str, path: str, data: bytes, mode: int = 0o644) -> None:
        """Writes a file, as the guest's own root would."""
        put_file(self._known(server).execute, path, data, mode)

    def get_file(self, server: str, path: str) -> bytes:
        """Reads a file, as the guest's own root would."""
        return get_file(self._known(server).execute, path)

    def configure(self, server: str, config: ConfigSpec) -> ConfigResult:
        """Applies a software configuration inside a server."""
        return configure(self._known(server).execute, config)

    def signal_command(self, handle: str) -> str:
        """The program that signals a wait handle."""
        return first_files.signal_program(handle)

    def signals(self, handle: str, servers: Collection[str]) -> Sequence[Signal]:
        """Signals so far; servers that do not run add none."""
        running = [server for server in map(self._server, servers) if server.alive()]
        return [signal for server in running for signal in signals(server.execute, handle)]

    # -- volumes -------------------------------------------------------------------------------------------------------

    def ensure_volume(self, volume: VolumeSpec) -> None:
        """Makes a volume, or grows it: a sparse file. One that begins as another one is a copy of its file."""
        path = self._volume(volume.id)
        path.parent.mkdir(exist_ok=True, mode=0o700)
        source = self._volume(volume.source) if volume.source else None
        if source is not None and source.is_file() and not path.exists():
            run(["cp", "--sparse=always", "--reflink=auto", "--", str(source), f"{path}.new"])
            os.replace(f"{path}.new", path)
        with open(path, "ab") as file:
            if file.tell() < volume.size_gib << 30:
                file.truncate(volume.size_gib << 30)

    def delete_volume(self, volume: str) -> None:
        """Removes a volume."""
        path = self._volume(volume)
        Path(f"{path}.new").unlink(missing_ok=True)
        path.unlink(missing_ok=True)

    def _volume(self, volume: str) -> Path:
        return self._folder / "volumes" / f"{spec_files.digest(volume, 32)}.img"

    # -- the whole -----------------------------------------------------------------------------------------------------

    def channel(self, owner: Owner) -> Channel:
        """The queues of an environment, over the sockets of its servers."""
        if self._channels is None:
            raise NotAvailable("this driver was opened without a channel to agents")

        return self._channels(
            owner, lambda queue: self.agent_socket(queue, owner), lambda queue, folder: agent_sockets.listen(folder)
        )

    def agent_socket(self, queue: str, owner: Owner | None = None) -> Path | None:
        """The folder of the socket of an agent's queue; None where no server has it, of ``owner`` if one is given."""
        known = any(spec.queue == queue and owner in (None, spec.owner) for spec in self._specs())
        return self._socket_folder(queue) if known else None

    def close(self) -> None:
        """Nothing is held open."""

    def _socket_folder(self, queue: str) -> Path:
        return self._folder / "sockets" / spec_files.digest(queue, 32)

    def _shared_queue(self, spec: ServerSpec) -> bool:
        return any(other.queue == spec.queue and other.id != spec.id for other in self._specs())
