"""`Veil`: a password that packages put into user data without knowing it.

Tasks see a placeholder. It is replaced by the password where a template leaves for the cloud, and the password by it
where something comes back. Packages encode what they send: a configuration file is often Base64 inside a script. So
both texts have the same length and the same ends: then their Base64 differs in the same characters only, wherever in a
longer text they begin, and replacing those is all there is to do. It works twice over (Base64 of Base64), and not for
what is compressed, encrypted or broken into lines.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

_END = "vetro"
_INNER = 48
#: What tasks know instead of the password.
PLACEHOLDER = _END + "PasswordOfThisEnvironmentAtTheBroker".ljust(_INNER, "0") + _END
_LEVELS = 2


def password_of(secret: bytes) -> str:
    """The password that 24 secret bytes give: letters and digits."""
    if len(secret) * 2 != _INNER:
        raise ValueError(f"{_INNER // 2} bytes are needed, not {len(secret)}")
    return _END + secret.hex() + _END


class Veil:
    """``password`` is asked for when it is needed first (`password_of`). ``needed`` is called before a value with the
    password in it is given out. Used by many threads.
    """

    def __init__(self, password: Callable[[], str], needed: Callable[[], object] = lambda: None) -> None:
        self._password = password
        self._needed = needed
        self._lock = threading.Lock()
        self._pairs: tuple[tuple[str, str], ...] = ()

    def fill(self, value: Any) -> Any:
        """JSON data with the password where the placeholder was. Raises what ``needed`` and ``password`` raise."""
        text = json.dumps(value)
        if not any(mark in text for mark in _MARKS):
            return value
        self._needed()
        for mark, secret in self._known():
            text = text.replace(mark, secret)
        return json.loads(text)

    def hide(self, value: Any) -> Any:
        """JSON data with the placeholder where the password was. Raises what ``password`` raises."""
        text = json.dumps(value)
        found = [(mark, secret) for mark, secret in self._known() if secret in text]
        for mark, secret in found:
            text = text.replace(secret, mark)
        return json.loads(text) if found else value

    def _known(self) -> tuple[tuple[str, str], ...]:
        with self._lock:
            if not self._pairs:
                self._pairs = tuple(zip(_MARKS, _forms(self._password()), strict=True))
            return self._pairs


def _forms(text: str, levels: int = _LEVELS) -> Iterator[str]:
    """The text, and what of it stands in Base64 of texts that hold it, beginning at any place."""
    yield text
    for before in range(3) if levels else ():
        encoded = base64.b64encode(bytes(before) + text.encode()).decode()
        # Characters of which neighbours have bits are the same for all texts with the same ends.
        first, last = -(-before * 8 // 6), (before + len(text)) * 8 // 6
        yield from _forms(encoded[first:last], levels - 1)


_MARKS = tuple(_forms(PLACEHOLDER))
