"""Names of code in words: what people read where an author has written no title."""

from __future__ import annotations

import re
from typing import Final

_WORDS: Final = re.compile(r"[A-Z]+s?(?![a-z])|[^\W\d_][^\W\dA-Z_]*\d*|\d+")
#: Words that are written in capitals, however a name of code has them.
_CAPITALS: Final = frozenset(
    {
        "api",
        "cpu",
        "dns",
        "dhcp",
        "ftp",
        "gpu",
        "html",
        "http",
        "https",
        "id",
        "imap",
        "ip",
        "ipv4",
        "ipv6",
        "json",
        "ldap",
        "mac",
        "nat",
        "ntp",
        "ram",
        "smtp",
        "sql",
        "ssh",
        "ssl",
        "tcp",
        "tls",
        "udp",
        "uri",
        "url",
        "uuid",
        "vlan",
        "vm",
        "vpn",
        "xml",
        "yaml",
    }
)


def title_of(name: str) -> str:
    """``availabilityZone`` -> "Availability zone", ``dns_name`` -> "DNS name", ``publicIp`` -> "Public IP".

    A name without words is its own title.
    """
    words = _WORDS.findall(name)
    if not words:
        return name
    first, *rest = map(_written, words)
    return " ".join((first[:1].upper() + first[1:], *rest))


def _written(word: str) -> str:
    small = word.lower()
    if small in _CAPITALS:
        return word.upper().replace("IPV", "IPv")
    if small.endswith("s") and small[:-1] in _CAPITALS:
        return f"{word[:-1].upper()}s"
    return word if len(word) > 1 and word[:2].isupper() else small
