"""The network namespace of a project, and the link by which it leads out.

Everything of a project that has a name or an address in a network is in there: bridges, gateways, rules, floating
addresses. Whatever networks a tenant invents, this machine's own addresses, routes and rules are out of reach, and so
are those of other projects. One link, a pair of interfaces with addresses from a range of the operator, joins the
namespace to this machine. This machine routes to it what the *operator* handed out to the project, nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

from vetro import file_lock
from vetro.clouds.drivers.errors import AddressTaken, HostFailed
from vetro.clouds.drivers.spec_files import digest
from vetro.clouds.drivers.tools import attempt, run
from vetro.clouds.nspawn import links
from vetro.clouds.nspawn.border import PREFIX
from vetro.data_classes import dataclass

#: Where iproute2 keeps namespaces.
FOLDER = Path("/run/netns")
#: Held while a link gets its addresses: all clouds of this machine take theirs from what is free here.
LOCK = Path("/run/vetro/links.lock")
#: The end of the link in the namespace.
UPLINK = "uplink"
_INSIDE = "echo 1 > /proc/sys/net/ipv4/ip_forward; cd /proc/sys/net/ipv6/conf 2>/dev/null || exit 0; " + "; ".join(
    f"echo 1 > {name}/disable_ipv6" for name in ("all", "default")
)


@dataclass(frozen=True, slots=True)
class NetworkLink:
    """The addresses of a link: four in a row, of which the middle two are used."""

    network: IPv4Network

    @property
    def host(self) -> IPv4Address:
        """This machine's end."""
        return self.network[1]

    @property
    def inside(self) -> IPv4Address:
        """The namespace's end: what servers are seen as from outside."""
        return self.network[2]


def name_of(cloud: str, project: str) -> str:
    """What the namespace of a project is called, and this machine's end of its link."""
    return f"{PREFIX}{cloud}{digest(project, 8)}"


def names(cloud: str) -> list[str]:
    """The namespaces of a cloud."""
    if not FOLDER.is_dir():
        return []
    return sorted(name for name in os.listdir(FOLDER) if name.startswith(f"{PREFIX}{cloud}"))


def enter(name: str) -> list[str]:
    """Words in front of a command that is to run in the namespace."""
    return ["nsenter", f"--net={FOLDER / name}"]


def exists(name: str) -> bool:
    """Whether there is such a namespace (and not only its place, which a killed process may leave)."""
    try:
        return os.stat(FOLDER / name).st_dev != os.stat(FOLDER).st_dev
    except FileNotFoundError:
        return False


def complete(name: str, link: NetworkLink) -> bool:
    """Whether namespace and link are as `ensure` makes them."""
    return exists(name) and links.exists(name) and links.taken().get(str(link.network)) == name


def ensure(name: str, link: NetworkLink | None, ranges: IPv4Network) -> NetworkLink:
    """Makes the namespace with its link, or what is missing of it; gives the link.

    Its addresses are those of ``link``, unless this machine uses them for something else meanwhile, or the first free
    ones of ``ranges``. Raises `AddressTaken` when none are free, `HostFailed`.
    """
    if link is not None and complete(name, link):
        return link
    if not exists(name):
        (FOLDER / name).unlink(missing_ok=True)
        run(["ip", "netns", "add", name])
    run([*enter(name), "sh", "-ec", _INSIDE])
    run(["ip", "-n", name, "link", "set", "lo", "up"])
    if not links.exists(name):
        attempt(["ip", "-n", name, "link", "del", UPLINK])
        run(["ip", "link", "add", name, "type", "veth", "peer", "name", UPLINK, "netns", name])
    # Strictly: a packet comes in only from where an answer would go to. So no project speaks as somebody else.
    # Nor does anybody tell this machine another way.
    settings = (("ipv6/conf/{}/disable_ipv6", 1), ("ipv4/conf/{}/rp_filter", 1), ("ipv4/conf/{}/accept_redirects", 0))
    for setting, value in settings:
        _set(setting.format(name), value)
    with _locked():
        found = links.taken()
        if link is None or not _free(link.network, {net: at for net, at in found.items() if at != name}):
            link = _choose(ranges, found)
        run(["ip", "addr", "flush", "dev", name])
        run(["ip", "addr", "add", f"{link.host}/{link.network.prefixlen}", "dev", name])
        run(["ip", "link", "set", name, "up"])
    inside = ["ip", "-n", name]
    run([*inside, "addr", "flush", "dev", UPLINK])
    run([*inside, "addr", "add", f"{link.inside}/{link.network.prefixlen}", "dev", UPLINK])
    run([*inside, "link", "set", UPLINK, "up"])
    run([*inside, "route", "replace", "default", "via", str(link.host), "dev", UPLINK])
    _set(f"ipv4/conf/{name}/forwarding", 1)
    return link


def remove(name: str) -> Iterator[str]:
    """Removes the namespace with all that is in it; a line for each thing. Raises `HostFailed` when something stays."""
    if links.remove(name):
        yield f"interface {name}"
    if (FOLDER / name).exists():
        attempt(["ip", "netns", "del", name])
        (FOLDER / name).unlink(missing_ok=True)
        if exists(name):
            raise HostFailed(f"the network namespace {name} cannot be removed")
        yield f"network namespace {name}"


def free_of(link_range: IPv4Network) -> str | None:
    """What this machine uses of the range of links, other than for links; None when it is free."""
    for net, device in links.taken().items():
        if not device.startswith(PREFIX) and link_range.overlaps(IPv4Network(net)):
            return f"{net} of the interface {device}"
    return None


def _choose(ranges: IPv4Network, taken: Mapping[str, str]) -> NetworkLink:
    here = [net for net in map(IPv4Network, taken) if net.overlaps(ranges)]
    whole = any(ranges.subnet_of(net) for net in here)
    for block in () if whole else ranges.subnets(new_prefix=30):
        if not any(block.overlaps(net) for net in here):
            return NetworkLink(block)
    error = AddressTaken(f"no four addresses in a row are left in {ranges} for the link of a project: {_whose(ranges)}")
    error.hint = "set link_cidr in the settings of the cloud to a private range that this machine does not use"
    raise error


def _whose(ranges: IPv4Network) -> str:
    other = free_of(ranges)
    return f"this machine uses {other}" if other else "all are used by projects"


def _free(block: IPv4Network, taken: Mapping[str, str]) -> bool:
    return not any(block.overlaps(IPv4Network(net)) for net in taken)


def _set(setting: str, value: int) -> None:
    path = Path("/proc/sys/net") / setting
    try:
        path.write_text(str(value), "ascii")
    except FileNotFoundError:
        if "ipv6" not in setting:  # a kernel without IPv6 has nothing to switch off
            raise HostFailed(f"the kernel has no setting {path}") from None
    except OSError as error:
        raise HostFailed(f"{path} cannot be set to {value}: {error.strerror}") from None


@contextmanager
def _locked() -> Iterator[None]:
    LOCK.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
    with file_lock.exclusive(LOCK):
        yield
