"""Which TCP ports security groups open to everybody."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

#: Ports of a range beyond which it says nothing about what listens, and ports of a server that are told.
_RANGE, MOST = 4, 8
_EVERYBODY = (None, "", "0.0.0.0/0", "::/0")


def open_ports(rules: Iterable[Mapping[str, Any]]) -> tuple[int, ...]:
    """Those of single ports and small ranges, the lowest first; ``rules`` are as Neutron has them."""
    found: set[int] = set()
    for rule in rules:
        low, high = rule.get("port_range_min"), rule.get("port_range_max")
        if (
            rule.get("direction") == "ingress"
            and str(rule.get("protocol")).lower() in ("tcp", "6")
            and not rule.get("remote_group_id")
            and rule.get("remote_ip_prefix") in _EVERYBODY
            and isinstance(low, int)
            and isinstance(high, int)
            and 0 < low <= high < min(low + _RANGE, 65536)
        ):
            found.update(range(low, high + 1))
    return tuple(sorted(found)[:MOST])
