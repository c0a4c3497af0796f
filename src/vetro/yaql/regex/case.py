"""Which characters are the same when case does not matter."""

from __future__ import annotations

from functools import cache

#: Beyond this code point no character has a case.
_LAST_CASED = 0x1E944
#: Non-ASCII characters that equal an ASCII letter: dotted and dotless i, the Kelvin sign, long s.
_ASCII_EXTRAS = {"i": "\u0130\u0131", "k": "\u212a", "s": "\u017f"}


def fold(char: str) -> str:
    """The same character for all that are equal but for their case."""
    if char == "\u0130":  # its small form has two characters in Python, one in the simple mapping that regexes use
        return "I"
    lower = char.lower()
    if len(lower) != 1:
        lower = char
    upper = lower.upper()
    return upper if len(upper) == 1 else lower


@cache
def _families() -> dict[str, str]:
    """Every character that has equals, with all of them (itself included). Takes some 30 ms, once."""
    found: dict[str, str] = {}
    for code in range(_LAST_CASED):
        char = chr(code)
        if char.lower() != char or char.upper() != char:
            key = fold(char)
            found[key] = found.get(key, "") + char
    return {char: family for family in found.values() if len(family) > 1 for char in family}


def equals(char: str, ascii_only: bool) -> str:
    """All characters that ``char`` matches when case does not matter, ``char`` among them."""
    if char.isascii():
        if not char.isalpha():
            return char
        both = char.lower() + char.upper()
        return both if ascii_only else both + _ASCII_EXTRAS.get(char.lower(), "")
    return char if ascii_only else _families().get(char, char)


def expand(ranges: list[tuple[int, int]], ascii_only: bool) -> list[tuple[int, int]]:
    """``ranges`` with the equals of every character in them."""
    result = list(ranges)
    for low, high in ranges:
        if high < 128 or ascii_only:
            chars = [chr(code) for code in range(low, min(high, 127) + 1)]
        else:
            chars = [char for char in _families() if low <= ord(char) <= high]
        for char in chars:
            result += [(ord(other), ord(other)) for other in equals(char, ascii_only)]
    return merge(result)


def merge(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same code points in as few ranges as possible, in order."""
    result: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if result and low <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(high, result[-1][1]))
        else:
            result.append((low, high))
    return result
