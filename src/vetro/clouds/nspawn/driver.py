"""The driver ``nspawn``: each server is a systemd in namespaces of its own (LOCAL_CLOUD.md 4, experiment 10).

A server lies over a shared image; it has a disk file of its flavor's size, a control group with its flavor's limits of
memory and processors, a user namespace with a range of ids of its own, and an interface on a bridge for each of its
networks, in the network namespace of its project. What separates servers from each other and from this machine is said
in `vetro.clouds.nspawn`: `firewall`, `border`, `namespaces`, `id_ranges`. Data volumes are file systems that the server
sees below `/run/vetro-volumes` (`volumes`). Where the machine has no loop devices, disks have no
limit, and there are no volumes.

Everything is noted in the driver's folder before it is made, so `NspawnDriver.sweep` finds what a crash left. Servers
do not depend on the process that made them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import replace
from ipaddress import IPv4Network
from pathlib import Path

from vetro.clouds.drivers import spec_files
from vetro.clouds.drivers.base import DriverError, SnapshotMethod
from vetro.clouds.drivers.errors import HostFailed
from vetro.clouds.drivers.folder_sizes import FolderSizes
from vetro.clouds.drivers.guests import GuestDriver
from vetro.clouds.drivers.routes import route_to
from vetro.clouds.drivers.specs import GroupSpec, NetworkSpec, ServerSpec, VolumeSpec
from vetro.clouds.guest import first_files
from vetro.clouds.helper.driver import HelperDriver as HelperDriver
from vetro.clouds.images.store import ImageStore, delete_tree, use
from vetro.clouds.interface import ServerMetrics
from vetro.clouds.kind_protocols import Channels
from vetro.clouds.nspawn import border, id_ranges, inotify, links, registry, snapshots, supervisor
from vetro.clouds.nspawn.cgroups import Cgroups
from vetro.clouds.nspawn.networks import Networks
from vetro.clouds.nspawn.server import NspawnServer

#: Where links get their addresses unless the settings say otherwise; `StackSettings.link_cidr`.
LINK_RANGE = "10.255.0.0/16"


class NspawnDriver(GuestDriver[NspawnServer]):
    """Servers in systemd-nspawn. Needs root; `vetro.clouds.nspawn.kind` says whether this machine has it all.

    ``directory`` belongs to one cloud. ``agent`` gives the guest agent's program, asked for each new server.
    ``channels`` makes what `channel` gives. ``nat``: whether servers reach the outside. ``link_cidr``: the range out of
    which projects are joined to this machine; null: that of the last time. ``boot_timeout``: seconds until a server's
    network must be set.
    """

    name = "nspawn"

    def __init__(
        self,
        directory: Path,
        *,
        images: ImageStore | None = None,
        agent: Callable[[], Path] | None = None,
        channels: Channels | None = None,
        nat: bool = True,
        link_cidr: str | None = None,
        boot_timeout: float = 60,
    ) -> None:
        folder = directory.resolve() / "nspawn"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        super().__init__(folder, images, agent, channels)
        self.cloud = links.cloud_id(folder)
        self._boot_timeout = boot_timeout
        self._sizes = FolderSizes()
        self._networks = Networks(self._folder, self.cloud, nat, self._link_range(link_cidr), self._specs)

    # -- servers -------------------------------------------------------------------------------------------------------

    def create(self, spec: ServerSpec) -> None:
        """Makes the server and starts it; see `ServerDriver.create`. About a second."""
        server = self._server(spec.id)
        if server.alive():
            return
        if server.spec() is not None and (server.folder / "launch.json").exists():
            self._begin(server, spec)
            return
        attached = self._attached(spec)
        image = self._images.find(spec.image)
        if not image.shifted.is_dir():
            error = DriverError(f"the image '{image.name}' was made without root and serves proot servers only")
            error.hint = f"make it as root: vetro image build {image.name} --again"
            raise error
        others = [self._guest(folder) for folder in self._folders() if folder.name != spec.id]
        if any(other.machine == server.machine for other in others):
            raise DriverError(f"the machine {server.machine} of the server '{spec.name}' belongs to another server")
        registry.note(self.cloud, self._folder)
        self._networks.restore(spec.owner.project)
        server.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._networks.admit(spec, lambda: spec_files.save_server(server.folder / "server.json", spec))
        use(image, server.folder)
        own = id_ranges.lacking(image.shifted, image.uid) is None
        uid = id_ranges.take(server.folder) if own else image.uid
        names: dict[str, str] = {nic.port_id: f"eth{number}" for number, nic in enumerate(spec.nics)}
        uplink = any(self._networks.leads_out(nic.network_id) for nic in spec.nics)
        first_files.write_seed(server.folder / "seed", first_files.server_facts(spec, names, uplink), spec, uid)
        first_files.write_tree(server.folder / "tree", image, spec, self._name_servers(spec), uplink=uplink, uid=uid)
        agent = self._agent() if self._agent is not None else None
        socket = self._socket(spec, uid)
        server.prepare(spec, image, uid, self._nics(spec, names), socket, agent, self._owned(attached, own, uid))
        self._boot(server)

    def update(self, spec: ServerSpec) -> None:
        """Brings interfaces, addresses, name and metadata to those of ``spec``; see `ServerDriver.update`."""
        server = self._known(spec.id)
        before = server.spec()
        assert before is not None
        attached = self._attached(spec)
        launch = spec_files.load(server.folder / "launch.json") or {}
        by_end = {nic.get("port"): nic["guest"] for nic in launch.get("nics", [])}
        ends = {nic.port_id: links.port_name(nic.port_id) for nic in spec.nics}
        names: dict[str, str] = {port: by_end[end] for port, end in ends.items() if end in by_end}
        free = (f"eth{number}" for number in range(1000) if f"eth{number}" not in names.values())
        names.update({port: next(free) for port in [*ends] if port not in names})
        kept = {nic.port_id for nic in spec.nics}
        self._networks.admit(spec, lambda: spec_files.save_server(server.folder / "server.json", spec))
        uplink = any(self._networks.leads_out(nic.network_id) for nic in spec.nics)
        facts = first_files.server_facts(spec, names, uplink)
        first_files.write_seed(server.folder / "seed", facts, spec, int(launch.get("uid", 0)))
        server.rewire(self._nics(spec, names), [nic for nic in before.nics if nic.port_id not in kept])
        own, uid = launch.get("uid") != launch.get("image_uid"), int(launch.get("uid", 0))
        try:
            lost = server.attach(self._owned(attached, own, uid))
        except DriverError:
            spec_files.save_server(server.folder / "server.json", replace(spec, volumes=before.volumes))
            raise
        if lost:
            server.power_off()
            self._boot(server)
        if server.alive():
            done = server.execute(["python3", "-I", f"{first_files.SEED}/boot.py", "network"])
            if done.code != 0:
                said = done.stderr.decode("utf-8", "replace").strip()[-500:]
                raise HostFailed(f"the server '{spec.name}' could not take its new addresses: {said}")

    def server_metrics(self, servers: Collection[str]) -> Mapping[str, ServerMetrics]:
        """See `MeasuringDriver.server_metrics`: control groups, and what disk files and folders take."""
        running = {id: server for id in servers if (server := self._server(id)).alive()}
        folders = {id: server.folder / "disk" for id, server in running.items()}
        plain = {id: path for id, path in folders.items() if not (path.parent / "disk.img").exists()}
        sizes = self._sizes.of(plain)
        found = {}
        for id, server in running.items():
            cpu, memory = server.cgroup.usage()
            spec = server.spec()
            limit = int(spec.flavor.get("ram") or 0) << 20 if spec is not None else 0
            disk = sizes[id] if id in sizes else _blocks(server.folder / "disk.img")
            found[id] = ServerMetrics(cpu, memory, limit or None, disk)
        return found

    def agents_run(self, servers: Collection[str]) -> Mapping[str, bool]:
        """See `AgentDriver.agents_run`: whether the guest's systemd has processes in the agent's unit."""
        found = {id: self._server(id).cgroup.service(first_files.AGENT_UNIT) for id in servers}
        return {id: runs for id, runs in found.items() if runs is not None}

    # -- snapshots -----------------------------------------------------------------------------------------------------

    def snapshot_methods(self, servers: Collection[str]) -> Mapping[str, SnapshotMethod]:
        """See `SnapshotDriver.snapshot_methods`."""
        found = {id: self._server(id) for id in servers}
        return {id: snapshots.method(server) for id, server in found.items() if server.spec() is not None}

    def take_snapshot(self, server: str, name: str) -> float | None:
        """See `SnapshotDriver.take_snapshot`."""
        return snapshots.take(self._known(server), name)

    def revert_to_snapshot(self, server: str, name: str) -> None:
        """See `SnapshotDriver.revert_to_snapshot`."""
        snapshots.revert(self._known(server), name)

    def drop_snapshot(self, server: str, name: str) -> None:
        """See `SnapshotDriver.drop_snapshot`."""
        snapshots.drop(self._server(server), name)

    # -- networks and groups ------------------------------------------------------------------------------------------

    def ensure_network(self, network: NetworkSpec) -> None:
        """Makes or changes a network. Raises `AddressTaken` when its project uses its addresses otherwise."""
        registry.note(self.cloud, self._folder)
        self._networks.ensure(network)

    def networks(self) -> list[NetworkSpec]:
        """The networks that were made here."""
        return self._networks.all()

    def taken(self) -> list[str]:
        """Networks of this machine that are not this cloud's, those of other clouds of this kind among them."""
        ours = f"{border.PREFIX}{self.cloud}"
        return [cidr for cidr, device in links.taken().items() if not device.startswith(ours)]

    def routed(self, project: str, addresses: Collection[str]) -> tuple[str, Sequence[str]]:
        """See `RoutingDriver.routed`: what the kernel sends over the project's own link."""
        device = self._networks.namespace(project)
        ways = {address: route_to(address) for address in addresses}
        return device, [at for at, way in ways.items() if way is not None and not way.local and way.device == device]

    def delete_network(self, network: str) -> None:
        """Removes a network."""
        self._networks.delete(network)

    def ensure_group(self, group: GroupSpec) -> None:
        """Makes or changes a security group."""
        self._networks.ensure_group(group)

    def delete_group(self, group: str) -> None:
        """Removes a security group."""
        self._networks.delete_group(group)

    # -- the whole -----------------------------------------------------------------------------------------------------

    def sweep(self, servers: Container[str], networks: Container[str]) -> Sequence[str]:
        """Removes what belongs to nothing; see `ServerDriver.sweep`."""
        # Other processes make things meanwhile, each after its record: what there is is looked at before the records.
        done = self._sweep_servers(servers)
        for folder in self._folders():
            server = NspawnServer(folder, self.cloud)
            if folder.name in servers and not server.alive() and server.cgroup.pids() and server.end_unless_starting():
                old = server.outdated()
                what = "the server {}, which an earlier version ran" if old else "processes of the dead server {}"
                done.append(what.format(folder.name))
        groups = Cgroups()
        names = list(groups.group(f"vetro-{self.cloud}").names())
        known = {NspawnServer(folder, self.cloud).machine for folder in self._folders()}
        for name in names:
            if name not in known and name != "keepers":
                groups.group(f"vetro-{self.cloud}", name).kill()
                groups.group(f"vetro-{self.cloud}", name).remove()
                done.append(f"control group {name}")
        done += self._networks.sweep(networks)
        sockets = list((self._folder / "sockets").iterdir())
        queues = {self._socket_folder(spec.queue) for spec in self._specs(quarantined=True) if spec.queue}
        for folder in sockets:
            if folder not in queues:
                delete_tree(folder)
        self._tidy_groups()
        if not self._folders() and not self._networks.projects():
            done += registry.purge(self.cloud)
        return done

    def clear(self) -> Sequence[str]:
        """Removes everything that this cloud made on this machine; see `ServerDriver.clear`."""
        done = [*self._clear_servers(), *self.sweep([], [])]
        self._networks.clear()
        return [*done, *registry.purge(self.cloud)]

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _link_range(self, given: str | None) -> IPv4Network:
        """The range for links: as given, which is noted for who opens the cloud without its settings."""
        note = self._folder / "links.json"
        if given is not None and spec_files.load(note) != given:
            spec_files.save(note, given)
        return IPv4Network(given or spec_files.load(note) or LINK_RANGE)

    def _begin(self, server: NspawnServer, spec: ServerSpec) -> None:
        if server.outdated():
            server.power_off()
            self.update(spec)
        self._networks.restore(spec.owner.project)
        launch = spec_files.load(server.folder / "launch.json") or {}
        own = launch.get("uid") != launch.get("image_uid")
        server.attach(self._owned(self._attached(spec), own, int(launch.get("uid", 0))))
        self._boot(server)

    def _deleted(self, spec: ServerSpec | None) -> None:
        if spec is not None:
            self._networks.refresh(spec.owner.project)
        self._tidy_groups()

    def _boot(self, server: NspawnServer) -> None:
        running = sum(self._guest(folder).alive() for folder in self._folders())
        with inotify.room(running):
            server.start(self._boot_timeout)

    def _has_data(self, folder: Path) -> bool:
        return (folder / "disk.img").exists() or (folder / "disk" / "filled").exists()

    def _guest(self, folder: Path) -> NspawnServer:
        return NspawnServer(folder, self.cloud)

    def _nics(self, spec: ServerSpec, names: Mapping[str, str]) -> list[supervisor.Nic]:
        return [
            {
                "namespace": self._networks.namespace(spec.owner.project),
                "port": links.port_name(nic.port_id),
                "guest": names[nic.port_id],
                "mac": nic.mac,
                "bridge": links.bridge_name(nic.network_id),
            }
            for nic in spec.nics
        ]

    def _name_servers(self, spec: ServerSpec) -> list[str]:
        """The gateway passes questions on to this machine's own name server; the subnets' follow."""
        found: list[str] = []
        for nic in spec.nics:
            network = self._networks.get(nic.network_id)
            if network is None or not self._networks.leads_out(nic.network_id):
                continue
            found += [str(nic.gateway)] if nic.gateway is not None and nic.gateway.version == 4 else []
            found += [str(address) for net in network.subnets for address in net.dns]
        return list(dict.fromkeys(found))[:3]

    def _socket(self, spec: ServerSpec, uid: int) -> Path | None:
        if spec.queue is None:
            return None
        folder = self._socket_folder(spec.queue)
        folder.mkdir(exist_ok=True, mode=0o700)
        # Only the guest's root goes in (and we, who may everything).
        os.chown(folder, uid, uid)
        return folder

    def _attached(self, spec: ServerSpec) -> list[VolumeSpec]:
        """The data volumes of a server. Raises `DriverError` for one that it cannot have, with the reason."""
        found = [volume for volume in spec.volumes if volume.boot_index != 0]
        names = [_device(volume) for volume in found]
        for volume, name in zip(found, names, strict=True):
            path = self._volume(volume.id)
            if not os.path.exists("/dev/loop-control"):
                error = DriverError(f"'{spec.name}' cannot have the volume '{volume.name}': no loop devices are here")
                error.hint = "load the kernel's module: modprobe loop"
                raise error
            if not path.exists():
                raise DriverError(f"there is no volume '{volume.name}' that '{spec.name}' could have")
            if volume.source and not path.stat().st_blocks:
                what = f"the volume '{volume.name}' would have to begin as a copy of {volume.source}"
                raise DriverError(f"{what}: servers of this machine can have copies of volumes only")
            if names.count(name) > 1:
                raise DriverError(f"two volumes of '{spec.name}' are to be its device {name}")
        return found

    def _owned(self, attached: Sequence[VolumeSpec], own: bool, uid: int) -> list[supervisor.Volume]:
        """As the server's supervisor mounts them. ``own``: the server has a range of ids of its own, as of ``uid``."""
        return [
            {
                "name": _device(volume), "title": volume.name, "image": str(self._volume(volume.id)),
                "base": 0 if own else uid, "read_only": volume.read_only,
            }
            for volume in attached
        ]  # fmt: skip

    def _tidy_groups(self) -> None:
        """Removes the cloud's own control groups once the last server is gone."""
        if not self._folders():
            top = Cgroups().group(f"vetro-{self.cloud}")
            if top.exists() and not top.pids():
                top.remove()


def _device(volume: VolumeSpec) -> str:
    """Name of the device that a server has a volume as."""
    return (volume.device or "vdb").rpartition("/")[2]


def _blocks(path: Path) -> int | None:
    """What a sparse file takes."""
    try:
        return path.stat().st_blocks * 512
    except OSError:
        return None
