"""The driver ``proot``: servers for users without root, as well as that goes.

A server is a copy of the image's tree in which proot runs programs that believe to be root. There is no init system
(``systemctl`` and ``service`` are stand-ins that start what units say), no network of its own (every server shares this
machine's ports; its name resolves to an address 127.x.y.z of its own), no limit and **no protection**: scripts can do
whatever this user can. Security groups and networks are noted and not enforced. A data volume is a folder, without a
limit, that the server sees below ``/run/vetro-volumes``; a server whose volumes change is started again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from vetro.clouds.drivers import spec_files
from vetro.clouds.drivers.base import DriverError, SnapshotMethod
from vetro.clouds.drivers.folder_sizes import FolderSizes
from vetro.clouds.drivers.guests import GuestDriver
from vetro.clouds.drivers.processes import used_below
from vetro.clouds.drivers.specs import GroupSpec, NetworkSpec, ServerSpec, VolumeSpec
from vetro.clouds.guest import first_files
from vetro.clouds.images import sources
from vetro.clouds.images.store import ImageStore, delete_tree, use
from vetro.clouds.interface import ServerMetrics
from vetro.clouds.kind_protocols import Channels
from vetro.clouds.proot.server import ProotServer, copy_tree, link_shims, write_files

#: Bytes that are copied in a second, about: an image is thousands of small files.
_PER_SECOND = 200e6


class ProotDriver(GuestDriver[ProotServer]):
    """Servers in proot. ``agent`` gives the guest agent's program, ``channels`` makes what `channel` gives."""

    name = "proot"

    def __init__(
        self,
        directory: Path,
        *,
        images: ImageStore | None = None,
        agent: Callable[[], Path] | None = None,
        channels: Channels | None = None,
    ) -> None:
        super().__init__(directory.resolve() / "proot", images, agent, channels)
        self._networks = spec_files.Table(self._folder / "networks")
        self._groups = spec_files.Table(self._folder / "groups")
        self._sizes = FolderSizes()

    # -- servers -------------------------------------------------------------------------------------------------------

    def create(self, spec: ServerSpec) -> None:
        """Makes the server and runs its user data; see `ServerDriver.create`."""
        if os.geteuid() == 0:
            error = DriverError("proot protects nothing from root: scripts of packages would run on this machine")
            error.hint = "use the driver nspawn as root, or proot as another user"
            raise error
        server = self._server(spec.id)
        if server.alive():
            return
        if not (server.folder / "binds.json").exists():
            attached = self._attached(spec)
            image = self._images.find(spec.image)
            server.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            server.attach(attached)
            spec_files.save_server(server.folder / "server.json", spec)
            use(image, server.folder)
            copy_tree(self._images.plain(image), server.root)
            name = f"{self.address(spec.id)} {spec.hostname}\n127.0.0.1 localhost\n"
            files = {
                "etc/hostname": (0o644, f"{spec.hostname}\n".encode()),
                "etc/hosts": (0o644, name.encode()),
                "etc/apt/apt.conf.d/62vetro-proot": (0o644, b'APT::Sandbox::User "root";\n'),
            }
            write_files(server.root, {**first_files.outside_files(image), **files})
            link_shims(server.root)
            self._seed(server, spec)
            socket = self._socket_folder(spec.queue) if spec.queue else None
            if socket is not None:
                socket.mkdir(exist_ok=True, mode=0o700)
            server.bind(socket, self._agent() if self._agent is not None else None)
        self._begin(server, spec)

    def update(self, spec: ServerSpec) -> None:
        """Takes over name, metadata and volumes; interfaces mean nothing here."""
        server = self._known(spec.id)
        changed = server.attach(self._attached(spec))
        spec_files.save_server(server.folder / "server.json", spec)
        self._seed(server, spec)
        if changed and server.alive():  # what runs sees what it saw when it was started
            self._begin(server, spec)

    @staticmethod
    def address(server: str) -> str:
        """The server's own address on this machine."""
        digest = hashlib.sha256(server.encode()).digest()
        return f"127.{1 + digest[0] % 254}.{digest[1]}.{1 + digest[2] % 254}"

    def server_metrics(self, servers: Collection[str]) -> Mapping[str, ServerMetrics]:
        """See `MeasuringDriver.server_metrics`: its processes, and its folder. What has ended is counted no more."""
        running = {id: data for id in servers if (data := self._server(id).first()) is not None}
        sizes = self._sizes.of({id: self._server(id).root for id in running})
        return {id: ServerMetrics(*used_below(first), None, sizes[id]) for id, first in running.items()}

    # -- volumes -------------------------------------------------------------------------------------------------------

    def ensure_volume(self, volume: VolumeSpec) -> None:
        """Makes a volume: a folder. One that begins as another one is a copy of what that has now."""
        path = self._volume(volume.id)
        if path.is_dir():
            return
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        source = self._volume(volume.source) if volume.source else None
        if source is not None and source.is_dir():
            copy_tree(source, path)
        else:
            path.mkdir()

    def delete_volume(self, volume: str) -> None:
        """Removes a volume, also a file that was noted as one before there were folders."""
        delete_tree(self._volume(volume).parent)
        super()._volume(volume).unlink(missing_ok=True)

    def _volume(self, volume: str) -> Path:
        return super()._volume(volume).with_suffix("") / "data"

    def _attached(self, spec: ServerSpec) -> dict[str, Path]:
        """The data volumes of a server by the names of their devices. Raises `DriverError` for one that it cannot
        have."""
        found: dict[str, Path] = {}
        for volume in spec.volumes:
            if volume.boot_index == 0:
                continue
            path, name = self._volume(volume.id), (volume.device or "vdb").rpartition("/")[2]
            if not path.is_dir():
                raise DriverError(f"there is no volume '{volume.name}' that '{spec.name}' could have")
            if volume.read_only:
                raise DriverError(f"'{spec.name}' cannot have the volume '{volume.name}' only to read it")
            if name in found:
                raise DriverError(f"two volumes of '{spec.name}' are to be its device {name}")
            found[name] = path
        return found

    # -- snapshots -----------------------------------------------------------------------------------------------------

    def snapshot_methods(self, servers: Collection[str]) -> Mapping[str, SnapshotMethod]:
        """See `SnapshotDriver.snapshot_methods`: copies, which share blocks where the file system can."""
        known = {id: server.root for id in servers if (server := self._server(id)).spec() is not None}
        sizes = self._sizes.of(known)
        return {id: SnapshotMethod("copy", 1 + (sizes[id] or 0) / _PER_SECOND, sizes[id] or 0, True) for id in known}

    def take_snapshot(self, server: str, name: str) -> None:
        """See `SnapshotDriver.take_snapshot`."""
        self._known(server).take_snapshot(name)

    def revert_to_snapshot(self, server: str, name: str) -> None:
        """See `SnapshotDriver.revert_to_snapshot`."""
        self._known(server).revert(name)

    def drop_snapshot(self, server: str, name: str) -> None:
        """See `SnapshotDriver.drop_snapshot`."""
        self._server(server).drop_snapshot(name)

    # -- networks and groups: noted only -------------------------------------------------------------------------------

    def networks(self) -> list[NetworkSpec]:
        """The networks that were noted here."""
        return spec_files.networks(self._networks)

    def ensure_network(self, network: NetworkSpec) -> None:
        """Notes a network."""
        self._networks.put(network.id, network)

    def taken(self) -> list[str]:
        """Nothing: its networks are none of this machine's."""
        return []

    def delete_network(self, network: str) -> None:
        """Forgets a network."""
        self._networks.remove(network)

    def ensure_group(self, group: GroupSpec) -> None:
        """Notes a security group."""
        self._groups.put(group.id, group)

    def delete_group(self, group: str) -> None:
        """Forgets a security group."""
        self._groups.remove(group)

    # -- the whole -----------------------------------------------------------------------------------------------------

    def sweep(self, servers: Container[str], networks: Container[str]) -> Sequence[str]:
        """Removes what belongs to nothing; see `ServerDriver.sweep`."""
        done = self._sweep_servers(servers)
        for network in self.networks():
            if network.id not in networks:
                self.delete_network(network.id)
                done.append(f"network {network.name} ({network.id})")
        return done

    def clear(self) -> Sequence[str]:
        """Removes everything; see `ServerDriver.clear`."""
        done = self._clear_servers()
        for group in spec_files.groups(self._groups):
            self.delete_group(group)
        return [*done, *self.sweep([], [])]

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _has_data(self, folder: Path) -> bool:
        return (folder / "root").exists() and (folder / "console.log").exists()

    def _guest(self, folder: Path) -> ProotServer:
        return ProotServer(folder)

    def _begin(self, server: ProotServer, spec: ServerSpec) -> None:
        server.start(sources.proxy_environment())

    def _seed(self, server: ProotServer, spec: ServerSpec) -> None:
        alone = replace(spec, nics=())
        facts = {**first_files.server_facts(alone, {}, True), "nics": [{"addresses": [self.address(spec.id)]}]}
        first_files.write_seed(server.folder / "seed", facts, spec, os.getuid())
