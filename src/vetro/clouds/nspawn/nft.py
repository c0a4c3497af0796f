"""Rules of the kernel's packet filter as nft takes them in JSON (libnftables-json(5)), built of typed values only.

No text of a rule is ever put together: addresses, networks, ports and names of interfaces are values of the JSON
document, which nft's parser reads as values and as nothing else.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Collection, Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network
from typing import Any, Literal

from vetro.clouds.drivers.tools import attempt, run

Family = Literal["inet", "bridge"]
Expression = dict[str, Any]

ACCEPT: Expression = {"accept": None}
DROP: Expression = {"drop": None}
RETURN: Expression = {"return": None}
MASQUERADE: Expression = {"masquerade": None}
EVERYTHING = IPv4Network("0.0.0.0/0")


def equal(left: Expression, right: Any) -> Expression:
    """Holds where both are equal, or where ``right`` is a set or a range, for its members."""
    return {"match": {"op": "==", "left": left, "right": right}}


def differs(left: Expression, right: Any) -> Expression:
    """Holds where `equal` does not."""
    return {"match": {"op": "!=", "left": left, "right": right}}


def meta(key: str) -> Expression:
    """What the kernel knows of a packet: iifname, oifname, l4proto, nfproto."""
    return {"meta": {"key": key}}


def header(protocol: str, field: str) -> Expression:
    """A field of a packet's header: ip daddr, tcp dport, ether saddr…"""
    return {"payload": {"protocol": protocol, "field": field}}


def tracked(key: str, *states: str) -> Expression:
    """Holds where the connection is in one of the states: established, related; or has a status: dnat."""
    return {"match": {"op": "in", "left": {"ct": {"key": key}}, "right": list(states)}}


def one_of(values: Iterable[Any]) -> Expression:
    """A set without a name."""
    return {"set": list(values)}


def within(networks: Collection[IPv4Network]) -> Expression | None:
    """The networks as a set; None when there is no address that it leaves out. They may overlap."""
    joined = list(ipaddress.collapse_addresses(networks))
    if EVERYTHING in joined:
        return None
    return one_of(
        str(net.network_address)
        if net.prefixlen == 32
        else {"prefix": {"addr": str(net.network_address), "len": net.prefixlen}}
        for net in joined
    )


def more_connections_than(count: int) -> Expression:
    """Holds for packets beside more than so many connections that came by here and still are."""
    return {"ct count": {"val": count, "inv": True}}


def faster_than(rate: int, burst: int) -> Expression:
    """Holds for packets beyond so many a second, of which ``burst`` may come at once."""
    return {"limit": {"rate": rate, "per": "second", "burst": burst, "inv": True}}


def dnat(address: IPv4Address) -> Expression:
    """Sends the packet to this address instead."""
    return {"dnat": {"family": "ip", "addr": str(address)}}


def snat(address: IPv4Address) -> Expression:
    """Sends the packet as from this address."""
    return {"snat": {"family": "ip", "addr": str(address)}}


def jump(chain: str) -> Expression:
    """Goes on in another chain, and comes back unless that decides."""
    return {"jump": {"target": chain}}


class Table:
    """One table that is written anew as a whole: declared, deleted and defined in one transaction."""

    def __init__(self, family: Family, name: str) -> None:
        self._where = {"family": family, "table": name}
        table = {"family": family, "name": name}
        self.commands: list[dict[str, Any]] = [
            {"add": {"table": table}},
            {"delete": {"table": table}},
            {"add": {"table": table}},
        ]

    def chain(
        self, name: str, rules: Iterable[Sequence[Expression]], *, hook: tuple[str, str, int] | None = None
    ) -> None:
        """Adds a chain with its rules; ``hook``: its type, where it is called, and its priority there."""
        facts: dict[str, Any] = {**self._where, "name": name}
        if hook is not None:
            facts.update(type=hook[0], hook=hook[1], prio=hook[2], policy="accept")
        self.commands.append({"add": {"chain": facts}})
        self.commands += [{"add": {"rule": {**self._where, "chain": name, "expr": list(rule)}}} for rule in rules]


def document(tables: Iterable[Table]) -> str:
    """What ``nft -j -f -`` reads; the same tables give the same text."""
    return json.dumps({"nftables": [command for table in tables for command in table.commands]})


def load(tables: Iterable[Table], enter: Sequence[str] = ()) -> None:
    """Replaces the tables in one step: all or, where nft or the kernel refuses one rule, nothing. Raises `HostFailed`.

    ``enter``: words in front of the command that lead into a network namespace.
    """
    run([*enter, "nft", "-j", "-f", "-"], input=document(tables))


def remove(name: str) -> None:
    """Removes tables of this machine by name; nothing when there are none."""
    for family in ("inet", "bridge"):
        attempt(["nft", "delete", "table", family, name])


def present(name: str, enter: Sequence[str] = ()) -> bool:
    """Whether there is a table of this name."""
    return attempt([*enter, "nft", "list", "table", "inet", name])
