"""The types of what reaches this machine's tools and files, and the one place where text becomes them.

Whoever runs something with rights takes these and never text that somebody wrote: templates are parsed where they are
checked (`vetro.clouds.stacks.types`), and a specification for a driver cannot hold anything else
(`vetro.clouds.drivers.specification`). Every parser takes a value of its type as it is and raises `ValueInvalid` with
what is wrong; who calls it knows the place. Messages show at most 60 characters of a value, without control characters.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
import unicodedata
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from typing import Annotated, Any, Self

from vetro.clouds.errors import CloudError

#: Characters of a text that are looked at before it is refused as too long.
LONGEST_NAME = 255
LONGEST_KEY = 16_384
#: Bytes of user data.
LONGEST_TEXT = 16 << 20
#: GiB of a volume: 1 PiB.
LARGEST_VOLUME = 1 << 20
#: Seconds that something may be waited for: a year.
LONGEST_WAIT = 366 * 86_400
#: Protocols by the names that Neutron knows.
PROTOCOLS = {
    "icmp": 1, "igmp": 2, "ipip": 4, "tcp": 6, "egp": 8, "udp": 17, "dccp": 33, "ipv6-encap": 41, "ipv6-route": 43,
    "ipv6-frag": 44, "rsvp": 46, "gre": 47, "esp": 50, "ah": 51, "icmpv6": 58, "ipv6-icmp": 58, "ipv6-nonxt": 59,
    "ipv6-opts": 60, "ospf": 89, "vrrp": 112, "pgm": 113, "sctp": 132, "udplite": 136,
}  # fmt: skip
#: Protocols whose "ports" are a type and a code.
ICMP = (1, 58)
_ANY = ("", "any", "-1", "0")
#: "This network", loopback, link-local (where clouds keep credentials), groups and what is reserved.
_NO_SUBNETS = tuple(
    ipaddress.ip_network(net)
    for net in ("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3", "::/127", "fe80::/10", "ff00::/8")
)

IPAddress = IPv4Address | IPv6Address
IPNetwork = IPv4Network | IPv6Network
IPInterface = IPv4Interface | IPv6Interface


class ValueInvalid(CloudError):
    """A value is none of its type: no address, port, name… The message says what is wrong with it."""

    kind = "bad-argument"
    code = "CLD136"


class _Word(str):
    """Text that is known to fit a pattern. Making one of other text raises `ValueInvalid`."""

    __slots__ = ()
    _pattern = re.compile("")
    _what = ""

    def __new__(cls, value: Any) -> Self:
        if value.__class__ is cls:
            return value
        if not isinstance(value, str) or not cls._pattern.fullmatch(value):
            raise ValueInvalid(f"{short(value)} is no {cls._what}")
        return super().__new__(cls, value)


class Id(_Word):
    """An id that this cloud made: fit for a file name. Letters, digits, hyphens and underscores."""

    __slots__ = ()
    _pattern = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,127}")
    _what = "id: letters, digits, hyphens and underscores"


class HostName(_Word):
    """What a server calls itself: one label of a domain name, in small letters."""

    __slots__ = ()
    _pattern = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
    _what = "host name: small letters, digits and hyphens, at most 63"


class DeviceName(_Word):
    """The name under which a server sees a disk, as 'vdb' or '/dev/vdb'."""

    __slots__ = ()
    _pattern = re.compile(r"(/dev/)?[a-z]{2,8}[0-9]{0,3}")
    _what = "name of a device as /dev/vdb"


class QueueName(_Word):
    """A queue of the agents' channel."""

    __slots__ = ()
    _pattern = re.compile(r"[0-9A-Za-z_][0-9A-Za-z_.:-]{0,254}")
    _what = "name of a queue: letters, digits and . : _ -, at most 255"


class Mac(_Word):
    """The hardware address of one interface: 'fa:16:3e:01:02:03'. No group address, and not all zeroes."""

    __slots__ = ()
    _pattern = re.compile(r"(?!00:00:00:00:00:00)[0-9a-f][02468ace](:[0-9a-f]{2}){5}")
    _what = "hardware address of an interface as fa:16:3e:01:02:03"

    def __new__(cls, value: Any) -> Self:
        given = value
        if isinstance(value, str) and value.__class__ is not cls and len(value) == 17:
            given = value.replace("-", ":").lower() if value.isascii() else value
        try:
            return super().__new__(cls, given)
        except ValueInvalid:
            raise ValueInvalid(f"{short(value)} is no {cls._what}") from None


class PublicKey(_Word):
    """The OpenSSH line of a public key: type, Base64, and a comment."""

    __slots__ = ()
    _pattern = re.compile(r"([a-z][a-z0-9.@-]{2,63}) ([A-Za-z0-9+/]{16,}={0,2})( [^\x00-\x1f\x7f-\x9f\u2028\u2029]*)?")
    _what = "public key in one line as 'ssh-ed25519 AAAA… name'"

    def __new__(cls, value: Any) -> Self:
        if value.__class__ is cls:
            return value
        if isinstance(value, str) and len(value) > LONGEST_KEY:
            raise ValueInvalid(f"a public key has at most {LONGEST_KEY:,} characters, not {len(value):,}")
        made = super().__new__(cls, " ".join(value.strip(" \r\n").split(" ")) if isinstance(value, str) else value)
        kind, data = made.split(" ", 2)[:2]
        try:
            blob = base64.b64decode(data, validate=True)
        except binascii.Error:
            blob = b""
        # The data begin with the length and the name of the key's type.
        if blob[4 : 4 + int.from_bytes(blob[:4], "big")] != kind.encode():
            raise ValueInvalid(f"{short(value)} is no {cls._what}")
        return made


class Name(_Word):
    """What somebody called a thing, for people to read: one line, never a place in a command or a path."""

    __slots__ = ()

    def __new__(cls, value: Any) -> Self:
        if value.__class__ is cls:
            return value
        if not isinstance(value, str):
            raise ValueInvalid(f"{short(value)} is no name")
        if len(value) > LONGEST_NAME:
            raise ValueInvalid(f"a name has at most {LONGEST_NAME} characters, not {len(value):,}")
        if not value.isprintable():
            found = next(char for char in value if not char.isprintable())
            raise ValueInvalid(f"a name cannot have the character {_called(found)}")
        return str.__new__(cls, value)


#: The project of what belongs to none.
NOBODY = Name("")


def address(value: Any) -> IPAddress:
    """An address of version 4 or 6."""
    if isinstance(value, (IPv4Address, IPv6Address)):
        return value
    try:
        # A zone ('fe80::1%eth0') names an interface of some machine.
        if isinstance(value, str) and len(value) <= 45 and "%" not in value and value.isascii():
            return ipaddress.ip_address(value)
    except ValueError:
        pass
    raise ValueInvalid(f"{short(value)} is no address as 10.0.0.5 or fd00::5")


def network(value: Any) -> IPNetwork:
    """A network, with or without bits after its prefix; a plain address is a network of one."""
    if isinstance(value, (IPv4Network, IPv6Network)):
        return value
    base, length = _split(value)
    try:
        return ipaddress.ip_network((str(address(base)), length) if length is not None else str(address(base)), False)
    except ValueError:
        raise ValueInvalid(f"{short(value)} is no network: its prefix is too long") from None
    except ValueInvalid:
        raise ValueInvalid(f"{short(value)} is no network as 10.0.0.0/24 or fd00::/64") from None


def interface(value: Any) -> IPInterface:
    """An address with the prefix of its network."""
    if isinstance(value, (IPv4Interface, IPv6Interface)):
        return value
    base, length = _split(value)
    try:
        found = address(base)
        return ipaddress.ip_interface((str(found), found.max_prefixlen if length is None else length))
    except (ValueError, ValueInvalid):
        raise ValueInvalid(f"{short(value)} is no address with a prefix as 10.0.0.5/24") from None


def _split(value: Any) -> tuple[Any, int | None]:
    """Address and length of the prefix. Masks ('/255.255.255.0') are not taken."""
    if not isinstance(value, str) or "/" not in value:
        return value, None
    base, _, length = value.partition("/")
    if not re.fullmatch(r"[0-9]{1,3}", length):
        raise ValueInvalid(f"{short(value)} has no prefix as /24 behind its address")
    return base, int(length)


def protocol(value: Any) -> int | None:
    """The number of an IP protocol by name or number; None: any."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value in (0, -1)):
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return number(value, 0, 255, "protocol")
    if isinstance(value, str) and len(value) <= 16:
        word = value.lower()
        if word in _ANY:
            return None
        if word in PROTOCOLS:
            return PROTOCOLS[word]
        if re.fullmatch(r"[0-9]{1,3}", word):
            return number(int(word), 0, 255, "protocol") or None
    raise ValueInvalid(f"{short(value)} is no protocol: a name as tcp, udp, icmp, or a number from 0 to 255")


def subnet(value: Any) -> IPNetwork:
    """A network that servers can be in: no addresses that a machine uses for itself or for groups."""
    found = network(value)
    for other in _NO_SUBNETS:
        if other.version == found.version and other.overlaps(found):
            raise ValueInvalid(f"{found} cannot be a subnet: it holds addresses of {other}")
    return found


def port(value: Any) -> int:
    """A port of TCP or UDP, or a type or code of ICMP."""
    return number(value, 0, 65_535, "port")


def any_port(value: Any) -> int:
    """A port; -1 is any, as EC2 has it."""
    return number(value, -1, 65_535, "port")


def count(value: Any) -> int:
    """How many there are to be of something."""
    return number(value, 0, 1_000_000, "count")


def prefix(value: Any) -> int:
    """The length of a network's prefix."""
    return number(value, 0, 128, "length of a prefix")


def gib(value: Any) -> int:
    """The size of a volume."""
    return number(value, 1, LARGEST_VOLUME, "size of a volume in GiB")


def place(value: Any) -> int:
    """A place in the order in which disks are booted from; -1: never."""
    return number(value, -1, 99, "boot_index")


def seconds(value: Any) -> float:
    """A time to wait."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= LONGEST_WAIT:
        raise ValueInvalid(f"{short(value)} is no time from 0 to {LONGEST_WAIT} seconds")
    return float(value)


def number(value: Any, low: int, high: int, what: str) -> int:
    """A whole number in bounds."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueInvalid(f"{short(value)} is no {what}: a whole number from {low} to {high}")
    return value


def text(value: Any) -> str:
    """Text of any kind that can be written to a file: scripts of guests."""
    if not isinstance(value, str):
        raise ValueInvalid(f"{short(value)} is no text")
    if len(value) > LONGEST_TEXT:
        raise ValueInvalid(f"a text has at most {LONGEST_TEXT:,} characters, not {len(value):,}")
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise ValueInvalid(f"a text cannot have the character {_called(value[error.start])}") from None
    return value


def short(value: Any) -> str:
    """A value for a message: at most 60 characters, nothing that moves a cursor or turns a line around."""
    if isinstance(value, int) and value.bit_length() > 192:
        return "a number of more than 57 digits"
    if not (value is None or isinstance(value, (str, int, float))):
        words = {"list": "a list", "dict": "a mapping"}
        return words.get(type(value).__name__, f"a value of the type {type(value).__name__}")
    shown = ascii(value[:80] if isinstance(value, str) else value)
    if isinstance(value, str) and value.isprintable():
        shown = repr(value[:80])
    return shown if len(shown) <= 60 else shown[:57] + "..."


def _called(char: str) -> str:
    name = unicodedata.name(char, "")
    return f"U+{ord(char):04X}" + (f" ({name})" if name else "")


#: What fields of specifications are annotated with.
Address = Annotated[IPAddress, address]
Network = Annotated[IPNetwork, network]
Interface = Annotated[IPInterface, interface]
IpProtocol = Annotated[int | None, protocol]
Port = Annotated[int, port]
Prefix = Annotated[int, prefix]
Gib = Annotated[int, gib]
Place = Annotated[int, place]
Seconds = Annotated[float, seconds]
Text = Annotated[str, text]
