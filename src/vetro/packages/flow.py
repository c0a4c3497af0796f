"""Generated YAML in flow style: every text quoted, expressions tagged, and chosen things on chosen lines.

Line breaks mean nothing inside of brackets, so the writer can put each part of a generated class on the line of the
file that it is generated from; messages, debuggers and profiles then name a place that its author knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class Yaql(str):
    """An expression; plain `str` is text."""

    __slots__ = ()


class At:
    """``value``, to be written on line ``line`` or, when that has passed, as soon as possible; None: on a new line."""

    __slots__ = ("line", "value")

    def __init__(self, line: int | None, value: Any) -> None:
        self.line = line
        self.value = value


def quoted(text: str) -> str:
    """``text`` as a double-quoted scalar."""
    made = []
    for char in text:
        if char in '"\\':
            made.append("\\" + char)
        elif char.isprintable():
            made.append(char)
        else:
            code = ord(char)
            made.append(f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}")
    return f'"{"".join(made)}"'


def write(value: Any) -> str:
    """The document: mappings, lists, texts, numbers, booleans, null, `Yaql` and `At`."""
    writer = _Writer()
    writer.write(value)
    return "".join(writer.parts) + "\n"


class _Writer:
    def __init__(self) -> None:
        self.parts: list[str] = []
        self.line = 1

    def write(self, value: Any) -> None:
        if isinstance(value, At):
            line = self.line + 1 if value.line is None else value.line
            if line > self.line:
                self.parts.append("\n" * (line - self.line))
                self.line = line
            self.write(value.value)
        elif isinstance(value, Yaql):
            self.parts.append("!yaql " + quoted(value))
        elif isinstance(value, str):
            self.parts.append(quoted(value))
        elif isinstance(value, Mapping):
            self.items("{", value.items(), "}")
        elif isinstance(value, Sequence):
            self.items("[", value, "]")
        else:
            self.parts.append("null" if value is None else str(value).lower())

    def items(self, opening: str, items: Any, closing: str) -> None:
        self.parts.append(opening)
        for index, item in enumerate(items):
            if index:
                following = item if opening == "[" else item[1]
                self.parts.append("," if isinstance(following, At) else ", ")
            if opening == "[":
                self.write(item)
                continue
            key, value = item
            if isinstance(value, At):  # the key moves, too: a key and its value stand on one line
                self.write(At(value.line, key))
                value = value.value
            else:
                self.write(key)
            self.parts.append(": ")
            self.write(value)
        self.parts.append(closing)
