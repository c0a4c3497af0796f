"""`PasswordFilter`: a password that packages put into user data without knowing it.

Tasks see a placeholder. It is replaced by the password where a template leaves for the cloud, and the password by it
where something comes back. Packages encode what they send: a configuration file is often Base64 inside a script. So
both texts have the same length and the same ends: then their Base64 differs in the same characters only, wherever in a
longer text they begin, and replacing those is all there is to do. It works twice over (Base64 of Base64), and not for
what is compressed, encrypted or broken into lines.

Passwords of servers hold the mark of their server, and so do their placeholders: whoever finds one knows which password
belongs there, and needs no list of servers.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

from vetro.yaql.redact import base64_form, inside_base64

_END = "vetro"
_INNER = 48
#: What tasks know instead of the password.
PLACEHOLDER = _END + "PasswordOfThisEnvironmentAtTheBroker".ljust(_INNER, "0") + _END
_LEVELS = 2
#: How many hexadecimal digits say which server it is (`vetro.library.broker_names.server_mark`).
_MARK = 24
_SERVER, _OF_SERVER = "Server", "PasswordOfThisServerAtTheBroker".ljust(_INNER, "0")
#: The same for the password of a server; ``{server}`` stands for its mark.
SERVER_PLACEHOLDER = _END + _SERVER + "{server}" + _OF_SERVER + _END


def password_of(secret: bytes) -> str:
    """The password that 24 secret bytes give: letters and digits."""
    if len(secret) * 2 != _INNER:
        raise ValueError(f"{_INNER // 2} bytes are needed, not {len(secret)}")
    return _END + secret.hex() + _END


def server_password_of(mark: str, secret: bytes) -> str:
    """The password of the server with a mark, which 24 secret bytes give: as long as its placeholder."""
    if len(mark) != _MARK or len(secret) * 2 != _INNER:
        raise ValueError(f"a mark of {_MARK} characters and {_INNER // 2} bytes are needed")
    return _END + _SERVER.lower() + mark + secret.hex() + _END


class PasswordFilter:
    """``password`` is asked for when it is needed first (`password_of`), ``server_password`` with the mark of a server
    whenever a text holds one. ``needed`` is called before a value with a password in it is given out. Used by many
    threads.
    """

    def __init__(
        self,
        password: Callable[[], str],
        server_password: Callable[[str], str],
        needed: Callable[[], object] = lambda: None,
    ) -> None:
        self._password = password
        self._server_password = server_password
        self._needed = needed
        self._lock = threading.Lock()
        self._pairs: tuple[tuple[str, str], ...] = ()

    def fill(self, value: Any) -> Any:
        """JSON data with passwords where placeholders were. Raises what ``needed`` and the passwords raise."""
        text = json.dumps(value)
        servers = any(form.pattern.search(text) for form in _PLACEHOLDERS)
        if not servers and not any(mark in text for mark in _MARKS):
            return value
        self._needed()
        for mark, secret in self._known():
            text = text.replace(mark, secret)
        for form in _PLACEHOLDERS if servers else ():
            text = form.replace(text, self._server_password)
        return json.loads(text)

    def hide(self, value: Any) -> Any:
        """JSON data with placeholders where passwords were. Raises what the passwords raise."""
        before = text = json.dumps(value)
        for mark, secret in self._known():
            text = text.replace(secret, mark)
        for form in _PASSWORDS:
            text = form.replace(text, lambda mark: SERVER_PLACEHOLDER.format(server=mark), self._server_password)
        return value if text == before else json.loads(text)

    def _known(self) -> tuple[tuple[str, str], ...]:
        with self._lock:
            if not self._pairs:
                self._pairs = tuple(zip(_MARKS, _forms(self._password()), strict=True))
            return self._pairs


def _wrap(text: str, before: int) -> str:
    # Characters of which neighbours have bits are the same for all texts with the same ends.
    return base64_form(text.encode(), before)


def _forms(text: str, levels: int = _LEVELS) -> Iterator[str]:
    """The text, and what of it stands in Base64 of texts that hold it, beginning at any place."""
    yield text
    for before in range(3) if levels else ():
        yield from _forms(_wrap(text, before), levels - 1)


_MARKS = tuple(_forms(PLACEHOLDER))


class _Form:
    """Texts of one length, known at both ends, in one of their forms: ``path`` are the places where Base64 began."""

    def __init__(self, head: str, middle: int, tail: str, path: tuple[int, ...] = ()) -> None:
        self._path = path
        self._ends = [(head, middle, tail)]
        for before in path:
            head, middle, tail = self._ends[-1]
            # What changes with the middle is unknown; the other characters stay.
            low, high = (_wrap(head + fill * middle + tail, before) for fill in "\0\x7f")
            other = _wrap(head + "U" * middle + tail, before)
            same = [a == b == c for a, b, c in zip(low, high, other, strict=True)]
            start = same.index(False)
            end = len(same) - same[::-1].index(False)
            self._ends.append((low[:start], end - start, low[end:]))
        head, middle, tail = self._ends[-1]
        kind = "[0-9A-Za-z+/]"
        self.pattern = re.compile(f"{re.escape(head)}{kind}{{{middle}}}{re.escape(tail)}")

    def replace(self, text: str, make: Callable[[str], str], check: Callable[[str], str] | None = None) -> str:
        """The text with what ``make`` gives for the mark in each place; with ``check`` only where it gives what was
        there."""

        def other(found: re.Match[str]) -> str:
            plain = self._plain(found.group())
            mark = plain[len(_END + _SERVER) :][:_MARK] if plain else ""
            if plain is None or not re.fullmatch(f"[0-9a-f]{{{_MARK}}}", mark):
                return found.group()
            if check is not None and check(mark) != plain:
                return found.group()
            made = make(mark)
            for before in self._path:
                made = _wrap(made, before)
            return made

        return self.pattern.sub(other, text)

    def _plain(self, text: str) -> str | None:
        """The text without Base64; None where it was no such text."""
        for (head, middle, tail), before in zip(self._ends[-2::-1], reversed(self._path), strict=True):
            first, _ = inside_base64(before, len(head) + middle + len(tail))
            encoded = "A" * first + text
            try:
                raw = base64.b64decode(encoded + "A" * (-len(encoded) % 4))
                inner = raw[before + len(head) :][:middle].decode("ascii")
            except (binascii.Error, UnicodeDecodeError):
                return None
            text = head + inner + tail
        return text


def _paths(levels: int = _LEVELS) -> Iterator[tuple[int, ...]]:
    yield ()
    for before in range(3) if levels else ():
        for path in _paths(levels - 1):
            yield (before, *path)


_PLACEHOLDERS = tuple(_Form(_END + _SERVER, _MARK, _OF_SERVER + _END, path) for path in _paths())
_PASSWORDS = tuple(_Form(_END + _SERVER.lower(), _MARK + _INNER, _END, path) for path in _paths())
