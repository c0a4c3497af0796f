"""The packet filter of local servers, written anew as a whole from what there is (`Rules`): nothing is left over.

What is enforced, in tables of this cloud only:
* A server reaches nothing of this machine but the name service at its gateway, and that only where its network leads
  outside. This machine reaches every server.
* Networks with the same router reach each other, and the outside reaches floating addresses, as far as the security
  groups of the destination let in; all else that is forwarded is dropped. Established connections pass.
* A network leads outside when it has an uplink and the driver's ``nat`` is on; never to link-local addresses, where
  clouds keep the credentials of this machine.
* Rules for outgoing traffic hold for what leaves the network, once every group of the interface has some.
* An interface speaks with its own hardware and network addresses only (not where port security is off).
Servers on one network reach each other freely. Reference: LOCAL_CLOUD.md 5.6.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from vetro.clouds.local.drivers.base import GroupSpec, NetworkSpec, NicSpec, SecurityRule
from vetro.clouds.local.host.links import bridge_name, gateway, port_name
from vetro.clouds.local.host.run import attempt, run
from vetro.clouds.local.values import IPAddress, IPInterface


@dataclass(frozen=True, slots=True)
class Rules:
    """Everything that the filter follows from."""

    cloud: str
    networks: Sequence[NetworkSpec] = ()
    nics: Sequence[NicSpec] = ()
    groups: Mapping[str, GroupSpec] = field(default_factory=dict)
    nat: bool = True
    #: Address of the name server that gateways pass questions on to; null: none.
    resolver: str | None = None


def apply(rules: Rules) -> None:
    """Replaces this cloud's tables in one step. Raises `HostFailed`."""
    run(["nft", "-f", "-"], input=render(rules))


def remove(cloud: str) -> None:
    """Removes this cloud's tables; nothing when there are none."""
    for family in ("inet", "bridge"):
        attempt(["nft", "delete", "table", family, f"vetro_{cloud}"])


def present(cloud: str) -> bool:
    """Whether this cloud has tables."""
    return attempt(["nft", "list", "table", "inet", f"vetro_{cloud}"])


def render(rules: Rules) -> str:
    """The text for ``nft -f``; the same rules give the same text."""
    name = f"vetro_{rules.cloud}"
    lines: list[str] = []
    for family in ("inet", "bridge"):  # declare, delete, define: one transaction, whether it was there or not
        lines += [f"table {family} {name} {{ }}", f"delete table {family} {name}"]
    chains = {
        "type nat hook prerouting priority dstnat;": ("names", _names(rules)),
        "type nat hook postrouting priority srcnat;": ("leave", _masquerade(rules)),
        "type filter hook input priority filter - 5;": ("host", _host(rules)),
        "type filter hook forward priority filter - 5;": ("pass", _forward(rules)),
    }
    lines.append(f"table inet {name} {{")
    lines += list(_egress_chains(rules))
    for hook, (chain, body) in chains.items():
        lines += [f"chain {chain} {{", hook, *body, "}"]
    lines += ["}", f"table bridge {name} {{", "chain source {", "type filter hook prerouting priority filter;"]
    lines += [*_sources(rules), "}", "}"]
    return "\n".join(lines) + "\n"


def _leading_out(rules: Rules) -> list[NetworkSpec]:
    return [net for net in rules.networks if net.uplink and rules.nat and not net.external]


def _names(rules: Rules) -> Iterator[str]:
    for net in _leading_out(rules) if rules.resolver else ():
        for subnet in net.subnets:
            here = (gateway(subnet) or "").partition("/")[0]
            if here:
                for protocol in ("udp", "tcp"):
                    yield (
                        f'iifname "{bridge_name(rules.cloud, net.id)}" ip daddr {here} {protocol} dport 53 '
                        f"dnat ip to {rules.resolver}"
                    )


def _masquerade(rules: Rules) -> Iterator[str]:
    for net in _leading_out(rules):
        yield f'iifname "{bridge_name(rules.cloud, net.id)}" oifname != "vt*" masquerade'


def _host(rules: Rules) -> Iterator[str]:
    yield f'iifname != "vt{rules.cloud}*" accept'
    yield "ct state established,related accept"
    yield "drop"


def _forward(rules: Rules) -> Iterator[str]:
    every = f'"vt{rules.cloud}*"'
    yield f"iifname != {every} oifname != {every} accept"
    yield "ct state established,related accept"
    bridges = {net.id: bridge_name(rules.cloud, net.id) for net in rules.networks if not net.external}
    # Bridged frames pass here, too, where the kernel shows them to the filter (br_netfilter).
    yield from (f'iifname "{bridge}" oifname "{bridge}" accept' for bridge in bridges.values())
    if rules.resolver and _leading_out(rules):
        for protocol in ("udp", "tcp"):
            yield f"iifname {every} ct status dnat ip daddr {rules.resolver} {protocol} dport 53 accept"
    yield "meta nfproto ipv6 drop"
    yield "ip daddr 169.254.0.0/16 drop"
    for nic in rules.nics:
        if _restricted(rules, nic):
            yield f"ip saddr {{ {', '.join(_addresses(nic))} }} jump {_chain(rules, nic)}"
    for net in _leading_out(rules):
        yield f'iifname "{bridges[net.id]}" oifname != "vt*" accept'
    routers = {net.id: net.router for net in rules.networks}
    for nic in rules.nics:
        bridge = bridges.get(nic.network_id)
        if bridge is None:
            continue
        router = routers[nic.network_id]
        near = [bridges[key] for key, other in routers.items() if router and other == router and key in bridges]
        ways = [(", ".join(f'"{name}"' for name in sorted(near)), _plain([nic.ip, *_allowed(nic)]))] if near else []
        if _plain(nic.extra):
            outside = [bridges[net.id] for net in rules.networks if net.uplink and net.id in bridges]
            ways.append((", ".join(f'"{name}"' for name in sorted(outside)), _plain(nic.extra)))
        for sources, targets in ways if _addresses(nic) else ():
            to = f'oifname "{bridge}" ip daddr {{ {", ".join(targets)} }}'
            for match in _matches(rules, nic, "ingress"):
                if sources:
                    yield f"iifname {{ {sources} }} {to} {match} accept".replace("  ", " ")
                if targets == _plain(nic.extra):
                    yield f'iifname != "vt*" {to} {match} accept'.replace("  ", " ")
    yield "drop"


def _egress_chains(rules: Rules) -> Iterator[str]:
    for nic in rules.nics:
        if _restricted(rules, nic):
            yield f"chain {_chain(rules, nic)} {{"
            for match in _matches(rules, nic, "egress"):
                yield f"{match} return".strip()
            yield "drop"
            yield "}"


def _chain(rules: Rules, nic: NicSpec) -> str:
    return f"out_{port_name(rules.cloud, nic.port_id)}"


def _restricted(rules: Rules, nic: NicSpec) -> bool:
    groups = [rules.groups[key] for key in nic.groups if key in rules.groups]
    return (
        nic.security
        and bool(groups and _addresses(nic))
        and all(any(r.direction == "egress" for r in g.rules) for g in groups)
    )


def _matches(rules: Rules, nic: NicSpec, direction: str) -> Iterator[str]:
    """What the rules of an interface let through, as nft conditions; an empty one is everything."""
    if not nic.security:
        yield ""
        return
    seen: set[str] = set()
    for key in nic.groups:
        group = rules.groups.get(key)
        for rule in group.rules if group else ():
            if rule.direction == direction and rule.ethertype == "IPv4":
                match = _match(rules, rule)
                if match is not None and match not in seen:
                    seen.add(match)
                    yield match


def _match(rules: Rules, rule: SecurityRule) -> str | None:
    words: list[str] = []
    side = "saddr" if rule.direction == "ingress" else "daddr"
    if rule.remote_group is not None:
        members = sorted({a for nic in rules.nics if rule.remote_group in nic.groups for a in _addresses(nic)})
        if not members:
            return None
        words.append(f"ip {side} {{ {', '.join(members)} }}")
    elif rule.remote_ip_prefix is not None and rule.remote_ip_prefix.prefixlen:
        if rule.remote_ip_prefix.version != 4:
            return None
        words.append(f"ip {side} {rule.remote_ip_prefix}")
    if rule.protocol in (6, 17):
        name = "tcp" if rule.protocol == 6 else "udp"
        low, high = rule.port_min, rule.port_max
        if low is None and high is None:
            words.append(f"meta l4proto {name}")
        else:
            first, last = low if low is not None else high, high if high is not None else low
            words.append(f"{name} dport {first}" if first == last else f"{name} dport {first}-{last}")
    elif rule.protocol == 1:
        words.append("meta l4proto icmp")
        if rule.port_min is not None:
            words.append(f"icmp type {rule.port_min}")
    elif rule.protocol is not None:
        words.append(f"meta l4proto {rule.protocol}")
    return " ".join(words)


def _addresses(nic: NicSpec) -> list[str]:
    return _plain([nic.ip, *nic.extra, *_allowed(nic)])


def _allowed(nic: NicSpec) -> list[IPAddress]:
    """The addresses that are allowed besides; of a whole network the first."""
    return [network.network_address for network in nic.allowed]


def _plain(addresses: Sequence[IPAddress | IPInterface | None]) -> list[str]:
    """Addresses (of version 4) without the length of their network."""
    four = [address for address in addresses if address is not None and address.version == 4]
    return list(dict.fromkeys(str(address).partition("/")[0] for address in four))


def _sources(rules: Rules) -> Iterator[str]:
    for nic in rules.nics:
        if not nic.security or not _addresses(nic):
            continue
        here = f'iifname "{port_name(rules.cloud, nic.port_id)}"'
        own = ", ".join(sorted(set(_addresses(nic))))
        yield f"{here} ether saddr != {nic.mac} drop"
        yield f"{here} ether type ip6 drop"
        yield f"{here} arp saddr ip != {{ 0.0.0.0, {own} }} drop"
        yield f"{here} ip saddr != {{ {own} }} drop"
