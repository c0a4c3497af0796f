"""An examining process whose checker has been taken over: what `reading` finds is what a hostile archive wants.

Its launcher gets it as what answers ``examine``; everything around the checker is the service's own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from hostile_natives import attempt

from vetro.engine.installation import Installation
from vetro.server.catalog.inspection import read as reading
from vetro.server.catalog.inspection import worker


def bad_read(data: bytes, location: str, limits: Any, *, strict: bool) -> tuple[dict[str, Any], bytes]:
    """Does what the archive says instead of reading it."""
    wanted = json.loads(data)
    what = wanted["what"]
    if what == "attempt":
        return {name: attempt(name, wanted["where"]) for name in wanted["names"]}, data
    if what == "look":
        descriptors = sorted(int(name) for name in range(64) if _is_open(name))
        return {"environment": dict(os.environ), "descriptors": descriptors, "user": os.geteuid()}, data
    if what == "open":
        with open(wanted["where"], "rb") as file:
            return {"bytes": len(file.read())}, data
    if what == "memory":
        return {"bytes": len(bytearray(3 << 30))}, data
    if what == "flood":
        return {"text": "x" * (2 << 20)}, data
    while True:
        pass


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def bad_check(archives: Any, others: Any, cache: Any, limits: Any) -> list[dict[str, Any]]:
    """Compiles code for the archive, and for another one."""
    for key in json.loads(archives[0][0])["keys"]:
        cache.put(key, b"code")
    return [{"findings": [], "classes": {}, "readable": True}]


def answerer(installation: Installation) -> Callable[[int], None]:
    """The service's own, with these in the place of its checker."""
    reading.read, reading.check = bad_read, bad_check  # type: ignore[assignment]
    return worker.answerer(installation)
