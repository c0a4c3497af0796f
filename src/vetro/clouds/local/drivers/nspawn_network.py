"""Networks of the nspawn driver: bridges, packet filter and what the machine forwards, in step with the records."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from vetro.clouds.local.drivers.base import GroupSpec, NetworkSpec, NicSpec, ServerSpec
from vetro.clouds.local.host import firewall, forwarding, links, records
from vetro.clouds.local.image import sources
from vetro.clouds.local.values import IPInterface


class Networks:
    """The networks and security groups of one cloud. ``servers`` lists the servers that exist."""

    def __init__(self, folder: Path, cloud: str, nat: bool, servers: Callable[[], Sequence[ServerSpec]]) -> None:
        self._folder = folder
        self._cloud = cloud
        self._nat = nat
        self._servers = servers
        self._networks = records.Table(folder / "networks")
        self._groups = records.Table(folder / "groups")

    def all(self) -> list[NetworkSpec]:
        """The networks that exist."""
        return records.networks(self._networks)

    def get(self, network: str) -> NetworkSpec | None:
        """One network."""
        return next((found for found in self.all() if found.id == network), None)

    def leads_out(self, network: str) -> bool:
        """Whether servers on it reach the outside."""
        found = self.get(network)
        return found is not None and found.uplink and self._nat

    def bridge(self, network: str) -> str:
        """Name of its bridge."""
        return links.bridge_name(self._cloud, network)

    def ensure(self, network: NetworkSpec) -> None:
        """Makes a network or changes it."""
        with self._locked():
            known = self._networks.has(network.id)
            self._networks.put(network.id, network)
            if not network.external:
                try:
                    links.ensure_bridge(self.bridge(network.id), network)
                except BaseException:
                    if not known:
                        links.remove(self.bridge(network.id))
                        self._networks.remove(network.id)
                    raise
            self._refresh()

    def restore(self) -> None:
        """Makes the bridges again that a restart of the machine took away."""
        with self._locked():
            found = self.all()
            for network in found:
                if not network.external and not links.exists(self.bridge(network.id)):
                    links.ensure_bridge(self.bridge(network.id), network)
            if found and not firewall.present(self._cloud):
                self._refresh()

    def delete(self, network: str) -> bool:
        """Removes a network; False when there was none."""
        with self._locked():
            bridge = links.remove(self.bridge(network))
            known = self._networks.remove(network)
            if bridge or known:
                self._refresh()
            return bridge or known

    def ensure_group(self, group: GroupSpec) -> None:
        """Makes a security group or changes its rules."""
        with self._locked():
            self._groups.put(group.id, group)
            self._refresh()

    def delete_group(self, group: str) -> bool:
        """Removes a security group; False when there was none."""
        with self._locked():
            known = self._groups.remove(group)
            if known:
                self._refresh()
            return known

    def refresh(self) -> None:
        """Brings the packet filter and routes in step with the servers' interfaces."""
        with self._locked():
            self._refresh()

    def sweep(self, networks: Collection[str]) -> Iterator[str]:
        """Removes networks that are not listed, and interfaces and rules that belong to nothing."""
        for network in self.all():
            if network.id not in networks and self.delete(network.id):
                yield f"network {network.name} ({network.id})"
        with self._locked():
            names = links.ours(self._cloud)
            known = {self.bridge(network.id) for network in self.all()}
            known |= {links.port_name(self._cloud, nic.port_id) for server in self._servers() for nic in server.nics}
            for name in names:
                if name not in known and links.remove(name):
                    yield f"interface {name}"
            had = firewall.present(self._cloud)
            self._refresh()
            if had and not firewall.present(self._cloud):
                yield "packet filter"

    def clear_groups(self) -> None:
        """Forgets all security groups."""
        for group in list(records.groups(self._groups)):
            self._groups.remove(group)

    def _refresh(self) -> None:
        networks = self.all()
        real = [network for network in networks if not network.external]
        if not real:
            firewall.remove(self._cloud)
            forwarding.switch_off(self._cloud)
            return
        nics = [nic for server in self._servers() for nic in server.nics]
        firewall.apply(
            firewall.Rules(
                cloud=self._cloud,
                networks=networks,
                nics=nics,
                groups=records.groups(self._groups),
                nat=self._nat,
                resolver=sources.name_server(),
            )
        )
        present = [network for network in real if links.exists(self.bridge(network.id))]
        routed = [self.bridge(network.id) for network in present if network.router or network.uplink]
        out = links.uplinks() if any(network.uplink for network in real) else []
        forwarding.switch_on(self._cloud, [*routed, *out])
        for network in present:
            links.set_routes(self.bridge(network.id), _single(nics, network.id))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One process at a time changes networks."""
        handle = os.open(self._folder / "network.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _single(nics: Sequence[NicSpec], network: str) -> list[IPInterface]:
    """Floating addresses of a network's interfaces."""
    mine = [nic for nic in nics if nic.network_id == network]
    return [
        address for nic in mine for address in nic.extra if address.version == 4 and address.network.prefixlen == 32
    ]
