"""What placeholders of the recording stand for in this run."""

from __future__ import annotations

import re
import uuid
from typing import Any, Final

_PLACEHOLDER: Final = re.compile(r"id-\d{4}|<(?:project|user):\w+>|<time>|<api>|<endpoint>|<b>")
#: Texts with these came from the old installation: what stands there now is free.
_OLD: Final = re.compile(r"<(?:py|cache|tmp|addr|host)>|\.\.\.<cut, \d+ chars in all>")
_ID: Final = r"(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
_FREE: Final = {"<time>": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", "<endpoint>": r"[^\"]+", "<b>": r".+"}


class Names:
    """Values of placeholders: those known from the start (``<project:demo>``, ``<api>``), and ids as they turn up."""

    def __init__(self, known: dict[str, str]) -> None:
        self.values = dict(known)

    def copy(self) -> Names:
        """One for trying: what it learns stays with it."""
        return Names(self.values)

    def learn(self, other: Names) -> None:
        """Takes over what a copy learnt."""
        self.values = other.values

    def fill(self, data: Any) -> Any:
        """Recorded data for a request; ids that the caller made up are made anew."""
        if isinstance(data, str):
            return _PLACEHOLDER.sub(self._value, data)
        if isinstance(data, list):
            return [self.fill(item) for item in data]
        if isinstance(data, dict):
            return {self.fill(key): self.fill(value) for key, value in data.items()}
        return data

    def _value(self, found: re.Match[str]) -> str:
        name = found[0]
        if name not in self.values and name.startswith("id-"):
            self.values[name] = uuid.uuid4().hex
        return self.values.get(name, name)

    def matches(self, recorded: str, given: str) -> bool:
        """Whether a text is the recorded one but for its placeholders; binds ids that it shows for the first time."""
        if _OLD.search(recorded):
            return True
        if "<" not in recorded and "id-" not in recorded:
            return recorded == given
        order: list[str] = []
        pattern, last = "", 0
        for found in _PLACEHOLDER.finditer(recorded):
            pattern += re.escape(recorded[last : found.start()]) + self._pattern(found[0], order)
            last = found.end()
        match = re.fullmatch(pattern + re.escape(recorded[last:]), given)
        if match is None:
            return False
        self.values.update(zip(order, match.groups(), strict=True))
        return True

    def _pattern(self, name: str, order: list[str]) -> str:
        if name in self.values:
            return re.escape(self.values[name])
        if name in order:
            return f"(?:\\{order.index(name) + 1})"
        if name.startswith("id-"):
            order.append(name)
            return f"({_ID})"
        return _FREE.get(name, re.escape(name))
