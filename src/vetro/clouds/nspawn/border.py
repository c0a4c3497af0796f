"""The packet filter of this machine for one cloud: what passes between the links of its projects, here and outside.

It is the same whatever tenants do: it names interfaces (all links of a cloud begin alike) and the pools of floating
addresses, which the operator sets. What the tenants' own networks need is decided within their namespaces (`firewall`).
* From a link nothing reaches this machine itself; answers do. This machine reaches every link.
* A link leads outside with the address of this machine, where the driver's ``nat`` is on; never to link-local
  addresses, where clouds keep the credentials of this machine (but to port 53 of a name server there).
* From one project to another, and from outside, only floating addresses are reached.
The kernel takes from a link only what it would send there (``rp_filter``, see `namespaces`), so that no project speaks
with an address that is not routed to it. Beside Docker, which drops what is forwarded, `docker_filter` lets links pass.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

from vetro.clouds.nspawn import docker_filter, nft
from vetro.clouds.nspawn.nft import Expression, equal, meta, within

LINK_LOCAL = IPv4Network("169.254.0.0/16")
_CONNECTIONS = Path("/proc/sys/net/netfilter/nf_conntrack_max")
#: How the links and bridges of all clouds of this kind begin.
PREFIX = "vt"


def table_name(cloud: str) -> str:
    """The table of a cloud."""
    return f"vetro_{cloud}"


def apply(cloud: str, pools: Collection[IPv4Network], nat: bool, resolver: IPv4Address | None = None) -> None:
    """Replaces this cloud's table. Raises `HostFailed`."""
    nft.load([table(cloud, pools, nat, resolver)])
    docker_filter.let_pass(f"{PREFIX}{cloud}")


def remove(cloud: str) -> None:
    """Removes this cloud's table; nothing when there is none."""
    docker_filter.withdraw(f"{PREFIX}{cloud}")
    nft.remove(table_name(cloud))


def connections() -> int:
    """How many connections a project may have through this machine at once: an eighth of all that the kernel keeps."""
    try:
        most = int(_CONNECTIONS.read_text("ascii"))
    except (OSError, ValueError):  # not before the kernel follows connections
        most = 65_536
    # The kernel looks through them for each new one.
    return max(512, min(most // 8, 16_384))


def present(cloud: str) -> bool:
    """Whether this cloud has a table."""
    return nft.present(table_name(cloud))


def table(cloud: str, pools: Collection[IPv4Network], nat: bool, resolver: IPv4Address | None = None) -> nft.Table:
    """The table; ``resolver`` is the name server that gateways pass questions on to."""
    ours, every = f"{PREFIX}{cloud}*", f"{PREFIX}*"
    made = nft.Table("inet", table_name(cloud))
    made.chain("host", _host(ours), hook=("filter", "input", -5))
    made.chain("pass", _forward(ours, every, pools, nat, resolver), hook=("filter", "forward", -5))
    leave = [[_from(ours), _not_to(every), nft.MASQUERADE]] if nat else []
    made.chain("leave", leave, hook=("nat", "postrouting", 100))
    return made


def _host(ours: str) -> Iterator[Sequence[Expression]]:
    yield nft.differs(meta("iifname"), ours), nft.ACCEPT
    yield nft.tracked("state", "established", "related"), nft.ACCEPT
    yield (nft.DROP,)


def _forward(
    ours: str, every: str, pools: Collection[IPv4Network], nat: bool, resolver: IPv4Address | None
) -> Iterator[Sequence[Expression]]:
    yield nft.differs(meta("iifname"), ours), nft.differs(meta("oifname"), ours), nft.ACCEPT
    yield nft.tracked("state", "established", "related"), nft.ACCEPT
    yield equal(meta("nfproto"), "ipv6"), nft.DROP
    if nat and resolver is not None and resolver in LINK_LOCAL:  # as some clouds have it for their machines
        names = _from(ours), equal(nft.header("ip", "daddr"), str(resolver))
        for protocol in ("udp", "tcp"):
            yield *names, equal(nft.header(protocol, "dport"), 53), nft.ACCEPT
    yield equal(nft.header("ip", "daddr"), within([LINK_LOCAL])), nft.DROP
    floating = within(pools) if pools else None
    if floating is not None:
        to = equal(meta("oifname"), ours), equal(nft.header("ip", "daddr"), floating), nft.ACCEPT
        yield _from(ours), *to
        yield nft.differs(meta("iifname"), every), *to
    if nat:
        yield _from(ours), _not_to(every), nft.ACCEPT
    yield (nft.DROP,)


def _from(interface: str) -> Expression:
    return equal(meta("iifname"), interface)


def _not_to(interface: str) -> Expression:
    return nft.differs(meta("oifname"), interface)
