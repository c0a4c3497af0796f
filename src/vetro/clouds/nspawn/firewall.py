"""The packet filter of one project, in its network namespace; written anew as a whole from what there is (`Rules`).

What is enforced:
* A server reaches nothing of the namespace but an answer to a ping, and the name service at its gateway where its
  network leads outside. This machine reaches every server.
* Networks with the same router reach each other, and the outside reaches floating addresses, as far as the security
  groups of the destination let in; all else that is forwarded is dropped. Established connections pass.
* A network leads outside when it has an uplink and the driver's ``nat`` is on; never to link-local addresses. Outside
  of the namespace servers have the address of its link, unless they speak with a floating address of their own.
* Rules for outgoing traffic hold for what leaves the network, once every group of the interface has some.
* What leaves the namespace has a limit of connections (`limits`).
* An interface speaks with its own hardware and network addresses only (not where port security is off).
Servers on one network reach each other freely. What lies beyond the link is `border`'s. Reference: LOCAL_CLOUD.md 5.6.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from ipaddress import IPv4Address, IPv4Network

from vetro.clouds.drivers.specs import GroupSpec, NetworkSpec, NicSpec, SecurityRule
from vetro.clouds.drivers.values import ICMP
from vetro.clouds.nspawn import nft
from vetro.clouds.nspawn.border import LINK_LOCAL
from vetro.clouds.nspawn.links import bridge_name, port_name
from vetro.clouds.nspawn.namespaces import UPLINK, NetworkLink
from vetro.clouds.nspawn.nft import Expression, differs, equal, header, meta, one_of, within
from vetro.data_classes import dataclass

#: Name of the tables in the namespace.
TABLE = "vetro"
LIMITS = "vetro_limits"
#: The largest `weight` of a project: 500 servers that have the default group and a dozen rules each.
HEAVIEST = 25_000
_PORTS = {6: "tcp", 17: "udp", 33: "dccp", 132: "sctp", 136: "udplite"}
_ICMP = {1: "icmp", 58: "icmpv6"}


@dataclass(frozen=True, slots=True)
class Rules:
    """Everything that the filter follows from: what one project has, and nothing of another one."""

    link: NetworkLink
    networks: Sequence[NetworkSpec] = ()
    nics: Sequence[NicSpec] = ()
    groups: Mapping[str, GroupSpec] = field(default_factory=dict)
    nat: bool = True
    #: Address of the name server that gateways pass questions on to; null: none.
    resolver: IPv4Address | None = None


def tables(rules: Rules) -> list[nft.Table]:
    """The tables; the same rules give the same ones."""
    inet = nft.Table("inet", TABLE)
    for nic in rules.nics:
        if _restricted(rules, nic):
            matches = [(*match, nft.RETURN) for match in _matches(rules, nic, "egress")]
            inet.chain(_chain(nic), [*matches, (nft.DROP,)])
    inet.chain("names", _names(rules), hook=("nat", "prerouting", -100))
    inet.chain("leave", _leave(rules), hook=("nat", "postrouting", 100))
    inet.chain("host", _host(), hook=("filter", "input", -5))
    inet.chain("pass", _forward(rules), hook=("filter", "forward", -5))
    bridge = nft.Table("bridge", TABLE)
    bridge.chain("source", _sources(rules), hook=("filter", "prerouting", -200))
    return [inet, bridge]


def weight(rules: Rules) -> int:
    """How much the filter is about: each rule counts for each interface that has it, and more with a group's members.

    nft needs about 20 MiB and half a second for a thousand.
    """
    members = Counter(key for nic in rules.nics for key in nic.groups)

    def of(group: GroupSpec) -> int:
        named = [0 if rule.remote_group is None else members[rule.remote_group] for rule in group.rules]
        return sum(1 + count // 16 for count in named)

    return sum(count * of(rules.groups[key]) for key, count in members.items() if key in rules.groups)


def limits(most: int, rate: int) -> nft.Table:
    """The table that bounds what leaves: each connection takes a place in this machine's own table of connections,
    which all projects and the machine itself share. A table of its own: what it has counted outlives new rules.

    ``most``: connections at once. Those that were closed are known for two minutes more and not counted, so new ones
    have a ``rate``, in a second; half a minute's may come together.
    """
    table = nft.Table("inet", LIMITS)
    new = _to(UPLINK), nft.tracked("state", "new")
    bounds = nft.more_connections_than(most), nft.faster_than(rate, 32 * rate)
    table.chain("leave", [(*new, bound, nft.DROP) for bound in bounds], hook=("filter", "forward", -6))
    return table


def _from(interface: str) -> Expression:
    return equal(meta("iifname"), interface)


def _to(interface: str) -> Expression:
    return equal(meta("oifname"), interface)


def _leading_out(rules: Rules) -> list[NetworkSpec]:
    return [net for net in rules.networks if net.uplink and rules.nat]


def _names(rules: Rules) -> Iterator[Sequence[Expression]]:
    for net in _leading_out(rules) if rules.resolver else ():
        for subnet in net.subnets:
            if isinstance(subnet.gateway, IPv4Address) and rules.resolver:
                at = _from(bridge_name(net.id)), equal(header("ip", "daddr"), str(subnet.gateway))
                for protocol in ("udp", "tcp"):
                    yield *at, equal(header(protocol, "dport"), 53), nft.dnat(rules.resolver)


def _leave(rules: Rules) -> Iterator[Sequence[Expression]]:
    own = within([IPv4Network(address) for nic in rules.nics for address in floating(nic)])
    kept = [differs(header("ip", "saddr"), own)] if own is not None and own["set"] else []
    yield _to(UPLINK), *kept, nft.snat(rules.link.inside)


def _host() -> Iterator[Sequence[Expression]]:
    yield nft.tracked("state", "established", "related"), nft.ACCEPT
    yield equal(header("icmp", "type"), "echo-request"), nft.ACCEPT
    yield (nft.DROP,)


def _forward(rules: Rules) -> Iterator[Sequence[Expression]]:
    yield nft.tracked("state", "established", "related"), nft.ACCEPT
    bridges: dict[str, str] = {net.id: bridge_name(net.id) for net in rules.networks}
    # Bridged frames pass here, too, where the kernel shows them to the filter (br_netfilter).
    yield from ((_from(bridge), _to(bridge), nft.ACCEPT) for bridge in bridges.values())
    if rules.resolver and _leading_out(rules):
        to = nft.tracked("status", "dnat"), equal(header("ip", "daddr"), str(rules.resolver))
        for protocol in ("udp", "tcp"):
            yield *to, equal(header(protocol, "dport"), 53), nft.ACCEPT
    yield equal(meta("nfproto"), "ipv6"), nft.DROP
    yield equal(header("ip", "daddr"), within([LINK_LOCAL])), nft.DROP
    yield _from(UPLINK), equal(header("ip", "saddr"), str(rules.link.host)), nft.ACCEPT
    for nic in rules.nics:
        source = _in("saddr", addresses(nic))
        if _restricted(rules, nic) and nic.network_id in bridges:
            yield _from(bridges[nic.network_id]), *source, nft.jump(_chain(nic))
    for net in _leading_out(rules):
        yield _from(bridges[net.id]), _to(UPLINK), nft.ACCEPT
    for nic in rules.nics:
        if nic.network_id in bridges:
            yield from _inward(rules, nic, bridges)
    yield (nft.DROP,)


def _inward(rules: Rules, nic: NicSpec, bridges: Mapping[str, str]) -> Iterator[Sequence[Expression]]:
    """What reaches an interface from other networks of its project, and its floating addresses from outside."""
    routers = {net.id: net.router for net in rules.networks}
    router = routers[nic.network_id]
    near = sorted(bridges[key] for key, other in routers.items() if router and other == router)
    ways = [(near, [*_own(nic), *_allowed(nic)])]
    # The outside, and networks that lead there.
    ways.append((sorted({bridges[net.id] for net in rules.networks if net.uplink} | {UPLINK}), _single(nic)))
    for sources, targets in ways:
        if not sources or not targets:
            continue
        way = equal(meta("iifname"), one_of(sources)), _to(bridges[nic.network_id]), *_in("daddr", targets)
        for match in _matches(rules, nic, "ingress"):
            yield *way, *match, nft.ACCEPT


def _chain(nic: NicSpec) -> str:
    return f"out_{port_name(nic.port_id)}"


def _restricted(rules: Rules, nic: NicSpec) -> bool:
    groups = [rules.groups[key] for key in nic.groups if key in rules.groups]
    return (
        nic.security
        and bool(groups and addresses(nic))
        and all(any(rule.direction == "egress" for rule in group.rules) for group in groups)
    )


def _matches(rules: Rules, nic: NicSpec, direction: str) -> Iterator[Sequence[Expression]]:
    """What the rules of an interface let through, as conditions; no condition is everything."""
    if not nic.security:
        yield ()
        return
    seen: list[Sequence[Expression]] = []
    for key in nic.groups:
        group = rules.groups.get(key)
        for rule in group.rules if group else ():
            if rule.direction == direction and rule.ethertype == "IPv4":
                match = _match(rules, rule)
                if match is not None and match not in seen:
                    seen.append(match)
                    yield match


def _match(rules: Rules, rule: SecurityRule) -> Sequence[Expression] | None:
    """The conditions of one rule; None when nothing fits it."""
    found: list[Expression] = []
    side = "saddr" if rule.direction == "ingress" else "daddr"
    if rule.remote_group is not None:
        members = [net for nic in rules.nics if rule.remote_group in nic.groups for net in addresses(nic)]
        if not members:
            return None
        found += _in(side, members)
    elif rule.remote_ip_prefix is not None:
        if not isinstance(rule.remote_ip_prefix, IPv4Network):
            return None
        found += _in(side, [rule.remote_ip_prefix])
    low, high = rule.port_min, rule.port_max
    if rule.protocol is None:
        return found
    if rule.protocol in ICMP:
        found.append(equal(meta("l4proto"), rule.protocol))
        for name, value in (("type", low), ("code", high if high != low else None)):
            if value is not None:
                found.append(equal(header(_ICMP[rule.protocol], name), value))
    elif rule.protocol in _PORTS and (low is not None or high is not None):
        first, last = (low if low is not None else high), (high if high is not None else low)
        ports = first if first == last else {"range": [first, last]}
        found.append(equal(header(_PORTS[rule.protocol], "dport"), ports))
    else:
        found.append(equal(meta("l4proto"), rule.protocol))
    return found


def _in(side: str, networks: Sequence[IPv4Network]) -> Sequence[Expression]:
    """Holds for these addresses; without a condition when they are all there are."""
    found = within(networks)
    return () if found is None else (equal(header("ip", side), found),)


def floating(nic: NicSpec) -> list[IPv4Address]:
    """The floating addresses of an interface."""
    return [address for address in nic.floating if isinstance(address, IPv4Address)]


def _own(nic: NicSpec) -> list[IPv4Network]:
    single = [nic.ip, *(one.ip for one in nic.extra)]
    return [IPv4Network(address) for address in single if isinstance(address, IPv4Address)]


def _allowed(nic: NicSpec) -> list[IPv4Network]:
    return [net for net in nic.allowed if isinstance(net, IPv4Network)]


def _single(nic: NicSpec) -> list[IPv4Network]:
    return [IPv4Network(address) for address in floating(nic)]


def addresses(nic: NicSpec) -> list[IPv4Network]:
    """All (of version 4) that an interface may speak with."""
    return [*_own(nic), *_single(nic), *_allowed(nic)]


def _sources(rules: Rules) -> Iterator[Sequence[Expression]]:
    for nic in rules.nics:
        own = addresses(nic)
        if not nic.security or not own:
            continue
        here = _from(port_name(nic.port_id))
        yield here, differs(header("ether", "saddr"), str(nic.mac)), nft.DROP
        yield here, equal(header("ether", "type"), "ip6"), nft.DROP
        arp, ip = within([IPv4Network("0.0.0.0"), *own]), within(own)
        if arp is not None and ip is not None:
            yield here, differs(header("arp", "saddr ip"), arp), nft.DROP
            yield here, differs(header("ip", "saddr"), ip), nft.DROP
