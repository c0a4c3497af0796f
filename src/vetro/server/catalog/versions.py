"""`sort_key`: a version as text that a database orders as versions are ordered."""

from __future__ import annotations

from vetro.muranopl.declarations.versions import Version, parse_version

#: What the column takes. Only versions with absurdly long labels are cut, and then order by what is left.
MAX_KEY = 255


def sort_key(version: Version | str) -> str:
    """Hexadecimal digits that sort as SEMANTICS 3.1 orders versions: pre-releases first, then build labels.

    Only ``0-9a-f`` occur, so every collation of every database agrees on the order.
    """
    parsed = parse_version(version)
    key = b"".join(_number(n) for n in (parsed.major, parsed.minor, parsed.patch))
    if parsed.prerelease:
        key += b"\x01" + b"".join(_label(label) for label in parsed.prerelease) + b"\x00"
    else:
        key += b"\xff"
    key += b"".join(b"\x02" + label.encode("ascii", "replace") + b"\x00" for label in parsed.build)
    return key.hex()[:MAX_KEY]


def _number(number: int) -> bytes:
    """Longer numbers are greater, so the length stands before the digits."""
    digits = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return bytes([len(digits)]) + digits


def _label(label: str) -> bytes:
    """Numeric labels come before others."""
    if label.isdecimal():
        return b"\x01" + _number(int(label))
    return b"\x02" + label.encode("ascii", "replace") + b"\x00"
