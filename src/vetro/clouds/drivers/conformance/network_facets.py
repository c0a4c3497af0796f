"""Networks, groups and floating addresses: what drivers have to do that claim them."""

from __future__ import annotations

import socket
import time
from dataclasses import replace

from vetro.clouds.drivers.base import ServerDriver
from vetro.clouds.drivers.conformance.case import OWNER, DriverCase, spec_of
from vetro.clouds.drivers.specs import ConfigSpec, GroupSpec, NetworkSpec, NicSpec, SecurityRule, ServerSpec, SubnetSpec

#: Where the servers of these tests serve pages.
PORT = 8080

#: Serves pages at every address of a server, also after it was started again.
SERVES = f"#!/bin/sh\nmkdir -p /srv/www\ncd /srv/www\nsetsid python3 -m http.server {PORT} > /dev/null 2>&1 &\n"


class NetworkCase(DriverCase):
    """What tests of networks share."""

    def _second_network(self) -> NetworkSpec:
        """A network with the same router."""
        block = self.other_block()
        subnet = spec_of(SubnetSpec, "sub-second", f"{block}.0/24", f"{block}.1", leased=True)
        return spec_of(NetworkSpec, "second", "second", [subnet], router="router", project=OWNER.project)

    def _second_nic(self, number: int) -> NicSpec:
        block = self.other_block()
        mac, address = f"02:00:00:00:04:{number:02x}", f"{block}.{number + 10}"
        return spec_of(NicSpec, f"second-{number}", "second", mac, address, 24, f"{block}.1")

    def _grouped(self, spec: ServerSpec) -> ServerSpec:
        """The server in the group ``web``."""
        return replace(spec, nics=(replace(spec.nics[0], groups=("web",)),))  # type: ignore[arg-type]

    def _served(self, driver: ServerDriver, spec: ServerSpec) -> ServerSpec:
        """Makes a server that serves pages."""
        spec = replace(spec, user_data=f"{SERVES}echo > /root/done\n")
        driver.create(spec)
        self._file(driver, spec, "/root/done")
        return spec

    def _reaches(self, driver: ServerDriver, spec: ServerSpec, address: str, often: int = 20) -> bool:
        """Whether a server gets a page from an address, tried so often."""
        ask = f"import urllib.request as u; u.urlopen('http://{address}:{PORT}/', timeout=2)"
        for number in range(often):
            id = f"reach-{spec.id}-{time.monotonic_ns()}-{number}"
            script = f'#!/bin/sh\nexec python3 -c "{ask}"\n'
            if driver.configure(spec.id, spec_of(ConfigSpec, id, "c", "script", script, timeout=30)).code == 0:
                return True
            time.sleep(0.25)
        return False

    def _has_address(self, driver: ServerDriver, spec: ServerSpec, address: str) -> bool:
        """Whether a server sees an address as its own; True where nothing runs in it."""
        if not self._able().executes:
            return True
        id = f"addresses-{time.monotonic_ns()}"
        script = "#!/bin/sh\nip -4 -o addr show\n"
        return f" {address}/" in driver.configure(spec.id, spec_of(ConfigSpec, id, "c", "script", script)).stdout


class Networks(NetworkCase):
    """`Capabilities.networks`."""

    def test_a_server_joins_and_leaves_networks(self) -> None:
        """While it runs; inside it has the addresses of the networks that it is on."""
        self._needs(networks=("own",))
        with self._cloud() as driver:
            spec = self._server(1)
            driver.create(spec)
            driver.ensure_network(self._second_network())
            both = replace(spec, nics=(*spec.nics, self._second_nic(1)))
            self._twice(lambda: driver.update(both))
            assert self._has_address(driver, spec, f"{self.other_block()}.11")
            self._twice(lambda: driver.update(spec))
            assert not self._able().executes or not self._has_address(driver, spec, f"{self.other_block()}.11")
            self._twice(lambda: driver.delete_network("second"))
            assert self._status(driver, spec) == "ACTIVE"

    def test_servers_of_a_network_reach_each_other(self) -> None:
        """And not those on a network of another project."""
        self._needs_execution()
        self._needs(networks=("own",))
        with self._cloud() as driver:
            served = self._served(driver, self._server(1))
            near = self._server(2)
            driver.create(near)
            assert self._reaches(driver, near, f"{self.block()}.11")
            driver.ensure_network(replace(self._second_network(), project="stranger"))  # type: ignore[arg-type]
            far = replace(self._server(3), nics=(self._second_nic(3),), owner=replace(OWNER, project="stranger"))
            driver.create(far)
            assert not self._reaches(driver, far, f"{self.block()}.11", often=1)
            assert self._status(driver, served) == "ACTIVE"


class Groups(NetworkCase):
    """`Capabilities.groups`."""

    def test_groups_let_in_what_their_rules_say(self) -> None:
        """From another network of the same router; a change of the rules holds for servers that run."""
        self._needs_execution()
        self._needs(networks=("own",), groups=("outside", "full"))
        with self._cloud() as driver:
            rules = [spec_of(SecurityRule, protocol="tcp", port_min=PORT, port_max=PORT)]
            open_, closed = (spec_of(GroupSpec, "web", "web", given, OWNER.project) for given in (rules, []))
            driver.ensure_group(open_)
            self._served(driver, self._grouped(self._server(1)))
            driver.ensure_network(self._second_network())
            other = replace(self._server(2), nics=(self._second_nic(2),))
            driver.create(other)
            assert self._reaches(driver, other, f"{self.block()}.11")
            driver.ensure_group(closed)
            assert not self._reaches(driver, other, f"{self.block()}.11", often=1)
            driver.ensure_group(open_)
            assert self._reaches(driver, other, f"{self.block()}.11")


class FloatingAddresses(NetworkCase):
    """`Capabilities.floating`."""

    def test_a_floating_address_leads_to_its_server(self) -> None:
        """From this machine, while the server has it. Nobody is asked for it afterwards: that may be somebody else."""
        self._needs(floating=(True,))
        with self._cloud() as driver:
            address = f"{self.floating_block()}.7"
            subnet = spec_of(SubnetSpec, "sub-pool", f"{self.floating_block()}.0/28")
            driver.ensure_network(spec_of(NetworkSpec, "pool", "pool", [subnet], external=True, project="admin"))
            rules = [spec_of(SecurityRule, protocol="tcp", port_min=PORT, port_max=PORT)]
            driver.ensure_group(spec_of(GroupSpec, "web", "web", rules, OWNER.project))
            spec = self._grouped(self._server(1))
            having = replace(spec, nics=(replace(spec.nics[0], floating=(address,)),))  # type: ignore[arg-type]
            if not self._able().executes:
                driver.create(spec)
                self._twice(lambda: driver.update(having))
                self._twice(lambda: driver.update(spec))
                return
            self._served(driver, spec)
            self._twice(lambda: driver.update(having))
            assert self._connects(address)
            self._twice(lambda: driver.update(spec))
            assert self._status(driver, spec) == "ACTIVE"

    def _connects(self, address: str) -> bool:
        """Whether this machine soon reaches what a server serves at an address."""
        end = time.monotonic() + self.patience / 10
        while time.monotonic() < end:
            try:
                socket.create_connection((address, PORT), timeout=2).close()
                return True
            except OSError:
                time.sleep(0.1)
        return False
