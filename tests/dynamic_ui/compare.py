"""Compares what was expected with what came (README, Case format)."""

from __future__ import annotations

import re
from typing import Any

_ID = re.compile(r"<id-\d+>")
_HOST = re.compile(r"[a-z]{5}[0-9a-z]{8}\d{1,2}")
_BLANKS = re.compile(r"\s+")


class Comparison:
    """One comparison; generated ids are matched up to a consistent renaming over the whole of it."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}

    def differences(self, expected: Any, found: Any, path: str = "") -> list[str]:
        """Where ``found`` does not meet the pattern ``expected``, in words."""
        if isinstance(expected, dict):
            if not isinstance(found, dict):
                return [f"{path or 'result'}: expected a mapping, found {found!r}"]
            wrong = []
            for key, value in expected.items():
                below = f"{path}.{key}" if path else str(key)
                if key in found:
                    wrong += self.differences(value, found[key], below)
                else:
                    wrong.append(f"{below}: missing, expected {value!r}")
            return wrong
        if isinstance(expected, list):
            if not isinstance(found, (list, tuple)) or len(found) != len(expected):
                return [f"{path}: expected {expected!r}, found {found!r}"]
            return [
                line
                for number, (one, other) in enumerate(zip(expected, found, strict=True))
                for line in self.differences(one, other, f"{path}[{number}]")
            ]
        if isinstance(expected, str) and isinstance(found, str) and self._text(expected, found):
            return []
        if expected.__class__ is found.__class__ and expected == found:
            return []
        return [f"{path}: expected {expected!r}, found {found!r}"]

    def _text(self, expected: str, found: str) -> bool:
        if _ID.fullmatch(expected):
            if expected not in self._ids and found not in self._ids.values():
                self._ids[expected] = found
            return self._ids.get(expected) == found
        if expected == "<random-host>":
            return _HOST.fullmatch(found) is not None
        return _BLANKS.sub(" ", expected).strip() == _BLANKS.sub(" ", found).strip()
