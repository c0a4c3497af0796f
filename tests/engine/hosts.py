"""What tests of the effects host share: who collects its answers, and requests."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from vetro.library.stackdata import digest_of, parts_of

LISTENER = "-execution-results-x"


class Answers:
    """Collects what a host answers."""

    def __init__(self) -> None:
        self._arrived = threading.Condition()
        self._got: dict[str, tuple[Any, Any]] = {}

    def __call__(self, key: str, answer: Any, error: Any) -> None:
        with self._arrived:
            self._got[key] = (answer, error)
            self._arrived.notify_all()

    def get(self, key: str) -> tuple[Any, Any]:
        with self._arrived:
            assert self._arrived.wait_for(lambda: key in self._got, 10)
            return self._got[key]

    def __contains__(self, key: str) -> bool:
        return key in self._got


def change(name: str, new: Mapping[str, Any], base: str | None = None, known: str | None = None) -> dict[str, Any]:
    parts = parts_of(new)
    put = [[*part, value] for part, value in parts.items()]
    return {
        "name": name,
        "region": None,
        "digest": digest_of(parts),
        "base": base,
        "put": put,
        "drop": [],
        "known": known,
    }


def template(**outputs: Any) -> dict[str, Any]:
    return {"resources": {"r": {}}, "outputs": {key: {"value": value} for key, value in outputs.items()}}


def call(id: str, name: str = "p", timeout: float = 10, **more: Any) -> dict[str, Any]:
    return {"queue": "e1-h1", "listener": LISTENER, "id": id, "plan": {"Name": name}, "timeout": timeout, **more}
