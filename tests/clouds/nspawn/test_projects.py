"""Projects on real servers: what one has in its networks is nothing to another one, nor to this machine.

Nothing outside of this machine is ever spoken to: addresses are asked of the kernel's tables, or are those of servers.
"""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clouds.stacks.world import World, hot
from tests.support.needs import need
from tests.support.servers import network, real_servers, traces
from vetro.clouds.drivers.errors import AddressTaken, HostFailed
from vetro.clouds.drivers.specs import GroupSpec, SecurityRule
from vetro.clouds.interface import CloudError, Owner, StackFailed
from vetro.clouds.nspawn import border, firewall, namespaces, nft
from vetro.clouds.nspawn.driver import NspawnDriver
from vetro.clouds.nspawn.kind import KIND as NSPAWN
from vetro.clouds.stacks.cloud import StackCloud
from vetro.clouds.stacks.settings import StackSettings
from vetro.engine.watching import probes

#: What the tests' cloud hands out: nothing that people are likely to have.
SETTINGS = StackSettings(external_cidr="198.18.4.0/24", link_cidr="198.19.248.0/22", plan_ipv4="198.19.0.0")
PROJECTS = ("alice", "bob", "carol")
SERVE = "#!/bin/sh\nmkdir -p /srv/w; hostname > /srv/w/who; systemd-run -q python3 -m http.server 80 -d /srv/w\n"


class RealWorld(World):
    """A cloud whose servers run."""

    def open(self) -> None:
        self.driver = NspawnDriver(self.folder, images=real_servers(), link_cidr=SETTINGS.link_cidr)  # type: ignore[assignment]
        self.cloud = StackCloud(self.folder, self.driver, self.settings)

    def sh(self, project: str, script: str) -> str:
        """Output and status of a script in a project's server."""
        (server,) = self.cloud.servers(Owner(project, "env"))
        done = self.driver.execute(server.id, ["sh", "-c", f"exec 2>&1; {script}"], timeout=30)  # type: ignore[attr-defined]
        return f"{done.stdout.decode(errors='replace').strip()}[{done.code}]"

    def who(self, project: str, address: str) -> str:
        """What a project's server finds at an address, '' for nothing."""
        said = self.sh(project, f"curl -s -m 2 http://{address}/who")
        return said.partition("[")[0]


def site(name: str, cidr: str, address: str, floating: str | None = None) -> dict[str, Any]:
    """A network joined to the default router, with one server that says its name."""
    resources: dict[str, Any] = {
        "net": {"type": "OS::Neutron::Net", "properties": {"name": f"net-{name}"}},
        "sub": {
            "type": "OS::Neutron::Subnet",
            "properties": {"network": {"get_resource": "net"}, "cidr": cidr},
        },
        "way": {
            "type": "OS::Neutron::RouterInterface",
            "properties": {"router_id": "murano-default-router", "subnet": {"get_resource": "sub"}},
        },
        "group": {
            "type": "OS::Neutron::SecurityGroup",
            "properties": {"rules": [{"protocol": "tcp", "port_range_min": 80, "port_range_max": 80}]},
        },
        "port": {
            "type": "OS::Neutron::Port",
            "properties": {
                "network": {"get_resource": "net"},
                "fixed_ips": [{"subnet": {"get_resource": "sub"}, "ip_address": address}],
                "security_groups": [{"get_resource": "group"}],
            },
        },
        "server": {
            "type": "OS::Nova::Server",
            "properties": {
                "name": name,
                "image": "debian-12-murano",
                "flavor": "m1.tiny",
                "networks": [{"port": {"get_resource": "port"}}],
                "user_data_format": "RAW",
                "user_data": SERVE,
            },
        },
    }
    if floating is not None:
        resources["floating"] = {
            "type": "OS::Neutron::FloatingIP",
            "properties": {
                "floating_network": "ext-net",
                "port_id": {"get_resource": "port"},
                "floating_ip_address": floating,
            },
        }
    return resources


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealWorld]:
    """Three projects with the same network 10.0.0.0/24 and a server 10.0.0.5 each; alice's has a floating address."""
    made = RealWorld(tmp_path_factory.mktemp("projects"), SETTINGS)
    cloud = made.driver.cloud  # type: ignore[attr-defined]
    try:
        for project in PROJECTS:
            floating = "198.18.4.9" if project == "alice" else None
            template = hot(site(project, "10.0.0.0/24", "10.0.0.5", floating))
            made.push(template, owner=Owner(project, "env"), name=project)
        for project in PROJECTS:
            wait = "for i in $(seq 100); do curl -s http://127.0.0.1/who && break; sleep 0.1; done"
            assert made.sh(project, wait) == f"{project}[0]"
        yield made
    finally:
        made.driver.clear()  # type: ignore[attr-defined]
        made.cloud.close()
        left = traces(cloud, made.folder)
    assert not any(left.values()), left


def said(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def host_state(cloud: str) -> dict[str, str]:
    """What this machine's own tables say of addresses: those of this cloud, and ways to everywhere."""
    return {
        "routes": "\n".join(line for line in said("ip", "-4", "route").splitlines() if f"vt{cloud}" in line),
        "to 8.8.8.8": said("ip", "route", "get", "8.8.8.8"),
        "to the pool": said("ip", "route", "get", "198.18.4.9"),
        "table": said("nft", "list", "table", "inet", f"vetro_{cloud}"),
        "addresses": "\n".join(line for line in said("ip", "-4", "-o", "addr").splitlines() if f"vt{cloud}" in line),
    }


@pytest.mark.attack("networks", "C2")
def test_three_projects_with_one_subnet_reach_their_gateway_and_not_each_other(world: RealWorld) -> None:
    for project in PROJECTS:
        assert world.sh(project, "ping -c 1 -W 2 10.0.0.1 >/dev/null") == "[0]"
        assert world.who(project, "10.0.0.5") == project
    links = {project: world.driver._networks.link(project) for project in PROJECTS}  # type: ignore[attr-defined]
    assert len({str(link.network) for link in links.values()}) == 3
    for link in links.values():
        for address in (link.inside, link.host):
            for project in PROJECTS:
                assert world.sh(project, f"timeout 1 bash -c 'echo > /dev/tcp/{address}/80'") != "[0]"
    # None of it is an address of this machine, nor a way out of it.
    state = host_state(world.driver.cloud)  # type: ignore[attr-defined]
    assert "10.0.0." not in state["routes"] + state["addresses"] + state["table"]


def test_floating_addresses_are_reached_from_here_and_from_other_projects(world: RealWorld) -> None:
    with socket.create_connection(("198.18.4.9", 80), 5):
        pass
    assert world.who("bob", "198.18.4.9") == "alice"
    assert world.who("alice", "198.18.4.9") in ("alice", "")


@pytest.mark.campaign
def test_floating_addresses_are_probed_by_the_link_of_their_project(world: RealWorld) -> None:
    """And by no other one."""
    owner = Owner("alice", "env")
    (server,) = world.cloud.servers(owner)
    state = world.cloud.seen_servers({owner: [server.id]})[owner][server.id]
    link = namespaces.name_of(world.driver.cloud, "alice")  # type: ignore[attr-defined]
    assert (list(state.reachable), state.device) == (["198.18.4.9"], link)
    assert probes.allowed("198.18.4.9", link)
    assert asyncio.run(probes.run(probes.Probe("http", 80, "/who"), ["198.18.4.9"], link)) is None
    other = namespaces.name_of(world.driver.cloud, "bob")  # type: ignore[attr-defined]
    assert not probes.allowed("198.18.4.9", other)
    assert asyncio.run(probes.run(probes.Probe("http", 80, "/who"), ["198.18.4.9"], other)) is not None


@pytest.mark.attack("networks", "probes of the host's own networks")
@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
def test_a_tenants_addresses_that_are_the_hosts_are_never_probed(world: RealWorld, late: bool) -> None:
    """The tenant takes a block of the plan that the host's own network has, or gets; with an address of the host."""
    owner, device = Owner("mallory", "env"), "dmprobes"
    address = "198.19.77.7"
    host = [
        ["link", "add", device, "type", "veth", "peer", "name", "dmprobes2"],
        ["addr", "add", f"{address}/24", "dev", device],
    ]
    host += [["link", "set", device, "up"]]
    try:
        for words in [] if late else host:
            said("ip", *words)
        world.push(hot(site("mallory", "198.19.77.0/24", address)), owner=owner, name="mallory")
        (server,) = world.cloud.servers(owner)

        def reachable() -> list[str]:
            return list(world.cloud.seen_servers({owner: [server.id]})[owner][server.id].reachable)

        link = namespaces.name_of(world.driver.cloud, "mallory")  # type: ignore[attr-defined]
        if late:
            assert reachable() == [address] and probes.allowed(address, link)
            for words in host:
                said("ip", *words)
        assert reachable() == [] and not probes.allowed(address, link) and not probes.allowed(address, "")
        with socket.create_server((address, 0)) as own:
            port = own.getsockname()[1]
            own.settimeout(0.2)
            assert asyncio.run(probes.run(probes.Probe("tcp", port), [address], link)) is not None
            with pytest.raises(TimeoutError):
                own.accept()
    finally:
        subprocess.run(["ip", "link", "del", device], capture_output=True)
        world.cloud.delete_stack(owner, "", "mallory")
        world.parts.pop("mallory", None)


@pytest.mark.campaign
@pytest.mark.attack("networks", "resources of the kernel")
@pytest.mark.parametrize(("most", "rate"), [(200, 100_000), (100_000, 10)], ids=["at once", "a second"])
def test_a_flood_of_connections_leaves_the_tables_of_this_machine_to_others(
    world: RealWorld, most: int, rate: int
) -> None:
    """All connections through this machine are in one table of its kernel, which drops new ones when it is full."""
    name = world.driver._networks.namespace("bob")  # type: ignore[attr-defined]
    enter = namespaces.enter(name)
    usual = nft.document([firewall.limits(border.connections(), border.connections() // 64)])
    assert 512 <= border.connections() <= 16_384
    assert f"over {border.connections()} drop" in said(*enter, "nft", "list", "table", "inet", firewall.LIMITS)
    link = world.driver._networks.link("bob")  # type: ignore[attr-defined]

    def known() -> int:
        lines = Path("/proc/net/nf_conntrack").read_text("ascii").splitlines()
        return sum(f"src={link.inside} dst=198.18.4.9 " in line and " udp " in line for line in lines)

    flood = (
        "import socket\n"
        "for _ in range(2):\n"
        "  s = socket.socket(2, 2); s.bind(('', 0))\n"
        "  for port in range(1000, 3000): s.sendto(b'x', ('198.18.4.9', port))\n"
    )
    try:
        nft.load([firewall.limits(most, rate)], enter)
        before = known()
        assert world.sh("bob", f'python3 -c "{flood}"') == "[0]"
        # New rules of the project do not start the count anew.
        world.driver._networks.refresh("bob")  # type: ignore[attr-defined]
        assert world.sh("bob", f'python3 -c "{flood}"') == "[0]"
        # Ten a second: 320 together, and what the floods' own time adds.
        assert 100 < known() - before < 1500
        if rate > 1000:
            assert known() - before <= most + 10
        assert world.who("carol", "198.18.4.9") == "alice"
    finally:
        subprocess.run([*enter, "nft", "-j", "-f", "-"], input=usual, text=True, check=True)
    assert world.who("bob", "198.18.4.9") == "alice"


@pytest.mark.campaign
@pytest.mark.attack("networks", "resources of the kernel")
def test_rules_times_interfaces_have_a_limit(world: RealWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """nft takes 20 MiB and half a second of this machine for a thousand of them; templates may have 5,000 a server."""
    owner, folder = Owner("mallory", "env"), world.folder / "nspawn" / "servers"
    resources, before = site("mallory", "10.7.0.0/24", "10.7.0.5"), sorted(folder.iterdir())
    one = {"protocol": "tcp", "remote_ip_prefix": "10.0.0.0/8"}
    for number in range(6):
        ports = range(1 + number * 50, 51 + number * 50)
        rules = [{**one, "port_range_min": port, "port_range_max": port} for port in ports]
        resources[f"g{number}"] = {"type": "OS::Neutron::SecurityGroup", "properties": {"rules": rules}}
    resources["port"]["properties"]["security_groups"] = [{"get_resource": f"g{number}"} for number in range(6)]
    monkeypatch.setattr(firewall, "HEAVIEST", 250)
    # Each group lets everything out by two rules more.
    refusal = (
        "the project 'mallory' has 312 rules of security groups, counted for each interface that has them; 250 are"
    )
    with pytest.raises(StackFailed, match=refusal):
        world.push(hot(resources), owner=owner, name="mallory")
    assert world.sh("bob", "hostname") == "bob[0]"
    world.cloud.delete_stack(owner, "", "mallory")
    world.parts.pop("mallory", None)
    assert sorted(folder.iterdir()) == before


@pytest.mark.campaign
def test_two_projects_of_one_namespace_name_are_refused(world: RealWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    name = world.driver._networks.namespace("bob")  # type: ignore[attr-defined]
    monkeypatch.setattr(namespaces, "name_of", lambda cloud, project: name)
    resources = {key: value for key, value in site("mallory", "10.7.0.0/24", "10.7.0.5").items() if key != "server"}
    with pytest.raises(CloudError, match=f"the namespace {name} of the project 'mallory' belongs to another project"):
        world.push(hot(resources), owner=Owner("mallory", "env"), name="mallory")
    monkeypatch.undo()
    world.cloud.delete_stack(Owner("mallory", "env"), "", "mallory")
    world.parts.pop("mallory", None)
    assert world.sh("bob", "hostname") == "bob[0]"


@pytest.mark.attack("networks", "C2")
@pytest.mark.parametrize(
    ("cidr", "address"),
    [
        ("8.8.8.0/24", "8.8.8.8"),
        ("198.18.4.0/24", "198.18.4.9"),  # the pool, and alice's floating address
        ("198.19.248.0/22", "198.19.248.2"),  # the links
        ("128.0.0.0/3", "128.0.0.9"),
    ],
)
def test_a_network_with_the_addresses_of_others_is_nothing_to_them(world: RealWorld, cidr: str, address: str) -> None:
    owner, cloud = Owner("mallory", "env"), world.driver.cloud  # type: ignore[attr-defined]
    before = host_state(cloud)
    try:
        world.push(hot(site("mallory", cidr, address)), owner=owner, name="mallory")
        after = host_state(cloud)
        own = namespaces.name_of(cloud, "mallory")
        for what in ("routes", "addresses"):
            new = set(after[what].splitlines()) - set(before[what].splitlines())
            assert all(own in line and "198.19.2" in line for line in new) and len(new) == 1, new
        for what in ("to 8.8.8.8", "to the pool", "table"):
            assert after[what] == before[what]
        assert world.who("bob", "198.18.4.9") == "alice"
        if address != "198.18.4.9":
            assert world.sh("mallory", "hostname") == "mallory[0]"
    finally:
        world.cloud.delete_stack(owner, "", "mallory")
        world.parts.pop("mallory", None)
    assert host_state(cloud) == before


@pytest.mark.attack("networks", "C2")
def test_a_network_of_ones_own_is_no_pool_of_floating_addresses(world: RealWorld) -> None:
    owner = Owner("mallory", "env")
    resources = site("mallory", "8.8.8.0/24", "8.8.8.7")
    del resources["server"]
    try:
        world.push(hot(resources), owner=owner, name="mallory")
        for kind, name in (("OS::Nova::FloatingIP", "pool"), ("OS::Neutron::FloatingIP", "floating_network")):
            more = {"float": {"type": kind, "properties": {name: "net-mallory"}}}
            with pytest.raises(CloudError, match="the network 'net-mallory' is not external"):
                world.push(hot({**resources, **more}), owner=owner, name="mallory")
    finally:
        world.cloud.delete_stack(owner, "", "mallory")
        world.parts.pop("mallory", None)


@pytest.mark.campaign
@pytest.mark.attack("networks", "H1")
def test_what_the_kernel_refuses_of_one_project_stops_nobody(world: RealWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    driver: Any = world.driver
    real = firewall.tables

    def refused(rules: firewall.Rules) -> Any:
        found = real(rules)
        if "bad" in rules.groups:
            found[0].chain("worse", [[{"no": "such expression"}]])
        return found

    monkeypatch.setattr(firewall, "tables", refused)
    rule = [SecurityRule(protocol="tcp", port_min=81)]
    with pytest.raises(HostFailed):
        driver.ensure_group(GroupSpec("bad", "bad", rule, "bob"))
    # It was not written down, so the next change of the same project goes well, as does everybody else's.
    for project in PROJECTS:
        driver.ensure_group(GroupSpec(f"good-{project}", "good", rule, project))
        driver.delete_group(f"good-{project}")
        assert world.who(project, "10.0.0.5") == project


@pytest.mark.campaign
@pytest.mark.attack("networks", "H1")
def test_a_damaged_record_of_one_project_stops_nobody(world: RealWorld) -> None:
    driver: Any = world.driver
    folder = world.folder / "nspawn"
    (server,) = world.cloud.servers(Owner("bob", "env"))
    record = json.loads((folder / "servers" / server.id / "server.json").read_text())
    record["nics"][0]["allowed"] = ["10.9.9.9 } drop\n}\n}\nflush ruleset\n"]
    bad = folder / "servers" / "poisoned"
    bad.mkdir()
    try:
        (bad / "server.json").write_text(json.dumps({**record, "id": "poisoned"}))
        (folder / "networks" / "poisoned.json").write_text('{"id": "x\\ny", "name": 7, "subnets": 3}')
        for project in PROJECTS:
            driver.ensure_group(GroupSpec(f"good-{project}", "good", [SecurityRule()], project))
            driver.delete_group(f"good-{project}")
    finally:
        (folder / "networks" / "poisoned.json").unlink()
        driver.delete("poisoned")
    assert not bad.exists()


def test_networks_of_one_project_may_not_overlap(world: RealWorld) -> None:
    with pytest.raises(StackFailed, match=r"10\.0\.0\.0/24 of the project's network 'net-bob'"):
        world.push(hot(site("again", "10.0.0.0/16", "10.0.1.5")), owner=Owner("bob", "env"), name="again")
    world.cloud.delete_stack(Owner("bob", "env"), "", "again")
    assert world.who("bob", "10.0.0.5") == "bob"


# -- cut off, and made again -------------------------------------------------------------------------------------------

_KILLED = """
import os, signal, sys
from ipaddress import IPv4Network
from pathlib import Path
from tests.support.servers import network
from vetro.clouds.nspawn.driver import NspawnDriver
from vetro.clouds.drivers import tools
from vetro.clouds.nspawn import links, namespaces, nft
left = int(sys.argv[2])
real = tools.run
def counted(*words, **more):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*words, **more)
for module in (tools, links, namespaces, nft):
    module.run = counted
driver = NspawnDriver(Path(sys.argv[1]), link_cidr="198.19.248.0/22")
driver.ensure_network(network("10.3.3", project="one"))
driver.delete_network("net")
print("whole")
"""


@pytest.mark.campaign
@pytest.mark.attack("networks", "C2")
def test_killed_at_any_step_it_is_made_again_and_removed(tmp_path: Path) -> None:
    need(NSPAWN.missing())
    whole, step = False, 0
    while not whole:
        folder = tmp_path / str(step)
        words = [sys.executable, "-c", _KILLED, str(folder), str(step)]
        done = subprocess.run(words, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False)
        driver = NspawnDriver(folder)
        if done.returncode == 0:
            whole = True
            driver.clear()
            assert not any((left := traces(driver.cloud, folder)).values()), left
            continue
        assert done.returncode == -signal.SIGKILL, done.stderr
        if step % 2:
            driver.ensure_network(network("10.3.3", project="one"))
            link = driver._networks.link("one")
            assert link is not None and namespaces.complete(driver._networks.namespace("one"), link)
            assert f"{link.network}" in said("ip", "-4", "route") and "198.19." in str(link.network)
        driver.sweep([], [])
        driver.clear()
        assert not any((left := traces(driver.cloud, folder)).values()), (step, left)
        step += 1
    assert step > 20


@pytest.mark.campaign
def test_a_range_of_links_that_this_machine_uses_is_refused(tmp_path: Path) -> None:
    need(NSPAWN.missing())
    first = NspawnDriver(tmp_path / "a", link_cidr="198.19.247.0/30")
    second = NspawnDriver(tmp_path / "b", link_cidr="198.19.247.0/30")
    try:
        first.ensure_network(network("10.3.3", project="one"))
        with pytest.raises(AddressTaken, match="no four addresses in a row are left") as caught:
            second.ensure_network(network("10.3.3", project="one"))
        assert "link_cidr" in str(caught.value.hint)
        with pytest.raises(AddressTaken, match="all are used"):
            first.ensure_network(network("10.3.3", project="two"))
    finally:
        first.clear()
        second.clear()
    for driver, name in ((first, "a"), (second, "b")):
        assert not any((left := traces(driver.cloud, tmp_path / name)).values()), left
