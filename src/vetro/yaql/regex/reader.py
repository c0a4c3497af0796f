"""Reading the text of a regular expression: characters, escapes, items of sets."""

from __future__ import annotations

import unicodedata
from typing import NoReturn

OCTAL = "01234567"
DIGITS = "0123456789"
_ESCAPES = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}
_HEX = {"x": 2, "u": 4, "U": 8}
_BLANK = " \t\n\r\v\f"


class Reader:
    """A pattern and how far it was read. Mistakes raise ValueError with their place."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        raise ValueError(f"bad regular expression: {message} at position {self.at if at is None else at}")

    def peek(self, count: int = 1) -> str:
        return self.text[self.at : self.at + count]

    def take(self, wanted: str) -> bool:
        if self.text.startswith(wanted, self.at):
            self.at += len(wanted)
            return True
        return False

    def take_while(self, allowed: str, most: int) -> str:
        start = self.at
        while self.at < len(self.text) and self.at - start < most and self.text[self.at] in allowed:
            self.at += 1
        return self.text[start : self.at]

    def until(self, end: str, what: str) -> str:
        stop = self.text.find(end, self.at)
        if stop < 0:
            self.fail(f"missing {end}, unterminated {what}")
        found = self.text[self.at : stop]
        self.at = stop + len(end)
        if not found:
            self.fail(f"missing {what}", stop)
        return found

    def skip_blanks(self) -> None:
        while self.at < len(self.text):
            if self.text[self.at] in _BLANK:
                self.at += 1
            elif self.text[self.at] == "#":
                stop = self.text.find("\n", self.at)
                self.at = len(self.text) if stop < 0 else stop + 1
            else:
                return

    def code(self, start: int) -> str:
        """The character that an escape stands for, in sets and outside."""
        char = self.peek()
        self.at += 1
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char in _HEX:
            digits = self.take_while("0123456789abcdefABCDEF", _HEX[char])
            if len(digits) != _HEX[char]:
                self.fail(f"incomplete escape \\{char}{digits}", start)
            value = int(digits, 16)
            if value > 0x10FFFF:
                self.fail(f"bad escape \\{char}{digits}", start)
            return chr(value)
        if char == "N":
            if not self.take("{"):
                self.fail("missing {", start)
            name = self.until("}", "character name")
            try:
                return unicodedata.lookup(name)
            except KeyError:
                self.fail(f"undefined character name {name!r}", start)
        if char == "0":
            return chr(int("0" + self.take_while(OCTAL, 2), 8))
        if char.isascii() and char.isalnum():
            self.fail(f"bad escape \\{char}", start)
        return char

    def set_item(self, start: int) -> str:
        """A character, or a backslash and the letter of a category."""
        place = self.at
        char = self.peek()
        if not char:
            self.fail("unterminated character set", start)
        self.at += 1
        if char != "\\":
            return char
        char = self.peek()
        if not char:
            self.fail("bad escape (end of pattern)", place)
        if char in "dDwWsS":
            self.at += 1
            return "\\" + char
        if char == "b":
            self.at += 1
            return "\b"
        if char in OCTAL:
            digits = self.take_while(OCTAL, 3)
            if int(digits, 8) > 0o377:
                self.fail(f"octal escape value \\{digits} outside of range 0-0o377", place)
            return chr(int(digits, 8))
        return self.code(place)
