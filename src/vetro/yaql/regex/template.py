r"""Replacement texts of regular expressions: ``\1``, ``\g<1>``, ``\g<name>`` and the usual escapes."""

from __future__ import annotations

from typing import Any, NoReturn

from vetro.yaql.context import CodeContext

_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}
_OCTAL = "01234567"
_DIGITS = "0123456789"

#: Texts and group numbers.
Template = tuple["str | int", ...]


def _fail(message: str, at: int) -> NoReturn:
    raise ValueError(f"bad replacement: {message} at position {at}")


def read_template(text: str, groups: int, names: dict[str, int]) -> Template:
    """The parts of a replacement text.

    Raises ValueError for bad escapes and group numbers that do not exist, IndexError for such names.
    """
    parts: list[str | int] = []
    position = 0
    while True:
        at = text.find("\\", position)
        if at < 0:
            parts.append(text[position:])
            return tuple(part for part in parts if part != "")
        parts.append(text[position:at])
        part, position = _escape(text, at, groups, names)
        parts.append(part)


def _escape(text: str, at: int, groups: int, names: dict[str, int]) -> tuple[str | int, int]:
    char = text[at + 1 : at + 2]
    if not char:
        _fail("bad escape (end of pattern)", at)
    if char == "g":
        return _named(text, at, groups, names)
    if char == "0":
        stop = at + 2
        while stop < at + 4 and text[stop : stop + 1] in tuple(_OCTAL):
            stop += 1
        return chr(int(text[at + 1 : stop], 8) & 0xFF), stop
    if char in _DIGITS:
        stop = at + 2
        if text[stop : stop + 1] in tuple(_DIGITS):
            octal = text[at + 1 : at + 4]
            if len(octal) == 3 and all(c in _OCTAL for c in octal):
                if int(octal, 8) > 0o377:
                    _fail(f"octal escape value \\{octal} outside of range 0-0o377", at)
                return chr(int(octal, 8)), at + 4
            stop += 1
        return _number(int(text[at + 1 : stop]), groups, at), stop
    if char in _ESCAPES:
        return _ESCAPES[char], at + 2
    if char.isascii() and char.isalpha():
        _fail(f"bad escape \\{char}", at)
    return "\\" + char, at + 2


def _named(text: str, at: int, groups: int, names: dict[str, int]) -> tuple[int, int]:
    stop = text.find(">", at)
    if text[at + 2 : at + 3] != "<":
        _fail("missing <", at)
    if stop < 0:
        _fail("missing >, unterminated name", at)
    name = text[at + 3 : stop]
    if name.isidentifier():
        if name not in names:
            raise IndexError(f"unknown group name {name!r}")
        return names[name], stop + 1
    if not (name.isascii() and name.isdigit() and len(name) < 6):
        _fail(f"bad character in group name {name!r}" if name else "missing group name", at)
    return _number(int(name), groups, at), stop + 1


def _number(number: int, groups: int, at: int) -> int:
    if number > groups:
        _fail(f"invalid group reference {number}", at)
    return number


def expand(cx: CodeContext, template: Template, found: Any) -> str:
    """The replacement for one match; groups that took no part are empty."""
    texts = [part if isinstance(part, str) else found.group(part) or "" for part in template]
    cx.rt.check_memory(sum(map(len, texts)))
    return "".join(texts)
