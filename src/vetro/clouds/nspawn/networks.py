"""Networks of the nspawn driver: a network namespace for each project, in step with the records.

Nothing that one project has is read, checked or applied together with another one's: a lock, a namespace and a packet
filter each. Rules are applied before what they are for is written down, so what the kernel refuses leaves no record
behind that would be refused again with the next change.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

from vetro import file_lock
from vetro.clouds.drivers import spec_files
from vetro.clouds.drivers.errors import AddressTaken, DriverError
from vetro.clouds.drivers.specs import GroupSpec, NetworkSpec, NicSpec, ServerSpec
from vetro.clouds.images import sources
from vetro.clouds.nspawn import border, firewall, ip_forwarding, links, namespaces, nft
from vetro.clouds.nspawn.namespaces import NetworkLink


class Networks:
    """The networks and security groups of one cloud. ``servers`` lists the servers that exist.

    ``link_range``: where the links between projects and this machine get their addresses from.
    """

    def __init__(
        self, folder: Path, cloud: str, nat: bool, link_range: IPv4Network, servers: Callable[[], Sequence[ServerSpec]]
    ) -> None:
        self._folder = folder
        self._cloud = cloud
        self._nat = nat
        self._range = link_range
        self._servers = servers
        self._networks = spec_files.Table(folder / "networks")
        self._groups = spec_files.Table(folder / "groups")
        self._links = folder / "links"
        self._links.mkdir(exist_ok=True, mode=0o700)

    # -- what there is -------------------------------------------------------------------------------------------------

    def all(self) -> list[NetworkSpec]:
        """The networks that exist, without the pools of floating addresses."""
        return [network for network in spec_files.networks(self._networks) if not network.external]

    def get(self, network: str) -> NetworkSpec | None:
        """One network."""
        return next((found for found in self.all() if found.id == network), None)

    def leads_out(self, network: str) -> bool:
        """Whether servers on it reach the outside."""
        found = self.get(network)
        return found is not None and found.uplink and self._nat

    def namespace(self, project: str) -> str:
        """Name of a project's namespace."""
        return namespaces.name_of(self._cloud, project)

    def link(self, project: str) -> NetworkLink | None:
        """The link of a project; None while it has none."""
        data = spec_files.load(self._link_record(project))
        return NetworkLink(IPv4Network(data["link"])) if isinstance(data, dict) and data["link"] else None

    def projects(self) -> list[str]:
        """Projects that have a namespace, or are about to get one."""
        found = (spec_files.load(path) for path in sorted(self._links.glob("*.json")))
        return [data["project"] for data in found if isinstance(data, dict)]

    def _of(self, project: str) -> list[NetworkSpec]:
        return [network for network in self.all() if network.project == project]

    def _pools(self) -> list[IPv4Network]:
        pools = [network for network in spec_files.networks(self._networks) if network.external]
        return [net for pool in pools for sub in pool.subnets if isinstance(net := sub.cidr, IPv4Network)]

    # -- changes -------------------------------------------------------------------------------------------------------

    def ensure(self, network: NetworkSpec) -> None:
        """Makes a network or changes it. Raises `AddressTaken` when it overlaps another one of its project."""
        if network.external:
            with self._locked(""):
                self._networks.put(network.id, network)
                if border.present(self._cloud):
                    self._guard()
            return
        with self._locked(network.project):
            before = self.get(network.id)
            others = [one for one in self._of(network.project) if one.id != network.id]
            self._check_name(network.project)
            _check_free(network, others)
            try:
                self._make(network.project, [*others, network])
                self._refresh(network.project, [*others, network])
            except BaseException:
                if before is None:
                    links.remove_inside(self.namespace(network.project), links.bridge_name(network.id))
                    if not others:
                        self._remove(network.project)
                raise
            self._networks.put(network.id, network)

    def restore(self, project: str) -> None:
        """Makes again of a project's networks what a restart of the machine took away."""
        with self._locked(project):
            found, name = self._of(project), self.namespace(project)
            link = self.link(project)
            whole = link is not None and namespaces.complete(name, link) and border.present(self._cloud)
            if found and not (whole and {links.bridge_name(net.id) for net in found} <= links.inside(name)):
                self._make(project, found)
                self._refresh(project, found)

    def delete(self, network: str) -> bool:
        """Removes a network; False when there was none."""
        found = next((one for one in spec_files.networks(self._networks) if one.id == network), None)
        if found is None:
            return False
        with self._locked(found.project):
            if not found.external:
                rest = [one for one in self._of(found.project) if one.id != network]
                if rest:
                    links.remove_inside(self.namespace(found.project), links.bridge_name(network))
                    self._refresh(found.project, rest)
                else:
                    self._remove(found.project)
            return self._networks.remove(network)

    def ensure_group(self, group: GroupSpec) -> None:
        """Makes a security group or changes its rules."""
        with self._locked(group.project):
            self._refresh(group.project, changed=group)
            self._groups.put(group.id, group)

    def delete_group(self, group: str) -> None:
        """Removes a security group. Nothing when there is none."""
        found = spec_files.groups(self._groups).get(group)
        if found is not None:
            with self._locked(found.project):
                self._groups.remove(group)
                self._refresh(found.project)

    def admit(self, spec: ServerSpec, write: Callable[[], None]) -> None:
        """Brings rules and routes to what they are with this server, then has it written down.

        Raises `DriverError` when it cannot have its interfaces or addresses; nothing has changed then.
        """
        project = spec.owner.project
        with self._locked(project):
            networks = self._of(project)
            for nic in spec.nics:
                if nic.network_id not in {network.id for network in networks}:
                    raise DriverError(f"the project of the server '{spec.name}' has no network {nic.network_id} here")
            self._check_floating(spec)
            self._refresh(project, networks, joined=spec)
            write()

    def refresh(self, project: str) -> None:
        """Brings the packet filter and routes of a project in step with its servers' interfaces."""
        with self._locked(project):
            self._refresh(project)

    def sweep(self, networks: Container[str]) -> Iterator[str]:
        """Removes networks that are not listed, and interfaces, namespaces and rules that belong to nothing."""
        for network in spec_files.networks(self._networks):
            if network.id not in networks and self.delete(network.id):
                yield f"network {network.name} ({network.id})"
        for project in self.projects():
            with self._locked(project):
                if self._of(project):
                    yield from self._sweep_inside(project)
                else:
                    yield from self._remove(project)
        with self._locked(""):
            there = {*namespaces.names(self._cloud), *links.ours(self._cloud)}
            known = {self.namespace(project) for project in self.projects()}
            for name in sorted(there - known):
                yield from namespaces.remove(name)
            if not known:
                if border.present(self._cloud):
                    border.remove(self._cloud)
                    yield "packet filter"
                ip_forwarding.switch_off(self._cloud)

    def clear(self) -> None:
        """Forgets all security groups and pools."""
        for group in list(spec_files.groups(self._groups)):
            self._groups.remove(group)
        for network in spec_files.networks(self._networks):
            self._networks.remove(network.id)

    # -- parts; called with the project's lock ------------------------------------------------------------------------

    def _make(self, project: str, networks: Sequence[NetworkSpec]) -> None:
        """Namespace, link, border and bridges."""
        name = self.namespace(project)
        before = self.link(project)
        if not self._link_record(project).exists():
            # What is noted first is found by a sweep, and what is not noted is removed by one.
            spec_files.save(self._link_record(project), {"project": project, "link": None})
        link = namespaces.ensure(name, before, self._range)
        if link != before:
            spec_files.save(self._link_record(project), {"project": project, "link": str(link.network)})
        with self._locked(""):
            self._guard()
            if self._nat and any(network.uplink for network in networks):
                ip_forwarding.switch_on(self._cloud, links.uplinks())
        if not nft.present(firewall.LIMITS, namespaces.enter(name)):
            most = border.connections()
            nft.load([firewall.limits(most, most // 64)], namespaces.enter(name))
        for network in networks:
            links.ensure_bridge(name, links.bridge_name(network.id), network)

    def _guard(self) -> None:
        border.apply(self._cloud, self._pools(), self._nat, _resolver())

    def _refresh(
        self,
        project: str,
        networks: Sequence[NetworkSpec] | None = None,
        *,
        joined: ServerSpec | None = None,
        changed: GroupSpec | None = None,
    ) -> None:
        """Rules and routes; with a server or a group as it is about to be."""
        networks = self._of(project) if networks is None else networks
        link, name = self.link(project), self.namespace(project)
        if not networks or link is None or not namespaces.exists(name):
            return
        nics = self._nics(project, joined)
        groups = {id: group for id, group in spec_files.groups(self._groups).items() if group.project == project}
        if changed is not None:
            groups[changed.id] = changed
        rules = firewall.Rules(link, networks, nics, groups, self._nat, _resolver())
        weight = firewall.weight(rules)
        if weight > firewall.HEAVIEST and (joined is not None or changed is not None):
            error = DriverError(
                f"the project '{project}' has {weight:,} rules of security groups, counted for each interface that has"
                f" them; {firewall.HEAVIEST:,} are the most"
            )
            error.hint = "use ranges of ports and larger networks instead of many rules, or fewer groups at a server"
            raise error
        nft.load(firewall.tables(rules), namespaces.enter(name))
        known = links.taken()
        outer = {net for net in self._routed(networks, nics) if links.overlapping(net, known, name) is None}
        links.set_routes(name, outer, ["via", str(link.inside)])
        present = links.inside(name)
        for network in networks:
            bridge = links.bridge_name(network.id)
            single = {IPv4Network(at) for nic in nics if nic.network_id == network.id for at in firewall.floating(nic)}
            if bridge in present:
                links.set_routes(bridge, single, [], name)

    def _routed(self, networks: Sequence[NetworkSpec], nics: Sequence[NicSpec]) -> set[IPv4Network]:
        """What this machine leads to a project: what the operator handed out to it, and nothing that it invented."""
        pools = self._pools()
        leased = {sub.cidr for network in networks for sub in network.subnets if sub.leased}
        single = {IPv4Network(address) for nic in nics for address in firewall.floating(nic)}
        return {net for net in leased if isinstance(net, IPv4Network)} | {
            net for net in single if any(net.subnet_of(pool) for pool in pools)
        }

    def _nics(self, project: str, joined: ServerSpec | None) -> list[NicSpec]:
        servers = [spec for spec in self._servers() if spec.owner.project == project]
        if joined is not None:
            servers = [*(spec for spec in servers if spec.id != joined.id), joined]
        return [nic for server in servers for nic in server.nics]

    def _check_name(self, project: str) -> None:
        """Raises `DriverError` where another project's namespace has the name that this one's would have."""
        name = self.namespace(project)
        if any(other != project and self.namespace(other) == name for other in self.projects()):
            raise DriverError(f"the namespace {name} of the project '{project}' belongs to another project")

    def _check_floating(self, spec: ServerSpec) -> None:
        name, known = self.namespace(spec.owner.project), links.taken()
        for address in {address for nic in spec.nics for address in firewall.floating(nic)}:
            other = links.overlapping(IPv4Network(address), known, name)
            # A wider network here, as a host's own way to the pool, is no contradiction: the longest prefix wins.
            if other is not None and known.get(str(address), known.get(f"{address}/32")) == other:
                error = AddressTaken(f"the address {address} belongs to the interface {other} on this machine")
                error.hint = "another cloud of this kind gave it to a server: use another pool (setting external_cidr)"
                raise error

    def _sweep_inside(self, project: str) -> Iterator[str]:
        name = self.namespace(project)
        if not namespaces.exists(name):
            return
        known = {links.bridge_name(network.id) for network in self._of(project)}
        known |= {links.port_name(nic.port_id) for nic in self._nics(project, None)}
        for one in sorted(links.inside(name) - known):
            if one.startswith(("br", "po")) and links.remove_inside(name, one):
                yield f"interface {one} of the namespace {name}"
        self._refresh(project)

    def _remove(self, project: str) -> list[str]:
        done = list(namespaces.remove(self.namespace(project)))
        self._link_record(project).unlink(missing_ok=True)
        with self._locked(""):
            if not [name for name in namespaces.names(self._cloud) if namespaces.exists(name)]:
                border.remove(self._cloud)
                ip_forwarding.switch_off(self._cloud)
        return done

    def _link_record(self, project: str) -> Path:
        return self._links / f"{spec_files.digest(project, 32)}.json"

    @contextmanager
    def _locked(self, project: str) -> Iterator[None]:
        """One process at a time changes a project's networks or, with '', what is one for all: the inner lock."""
        # Locks stay when projects have gone, so there is a number of them: some projects share one.
        path = self._folder / f"network{'-' + spec_files.digest(project, 3) if project else ''}.lock"
        with file_lock.exclusive(path):
            yield


def _resolver() -> IPv4Address | None:
    """The name server that gateways pass questions on to."""
    found = sources.name_server()
    return IPv4Address(found) if found is not None else None


def _check_free(network: NetworkSpec, others: Sequence[NetworkSpec]) -> None:
    """Raises `AddressTaken` when networks of one project, which share a namespace, overlap."""
    for other in others:
        for theirs in other.subnets:
            for subnet in network.subnets:
                if type(subnet.cidr) is type(theirs.cidr) and subnet.cidr.overlaps(theirs.cidr):
                    error = AddressTaken(
                        f"the network {subnet.cidr} overlaps {theirs.cidr} of the project's network '{other.name}'"
                    )
                    error.hint = "delete the other environment, or give this network another range"
                    raise error
