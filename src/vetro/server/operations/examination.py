"""`findings`: what `vetro doctor` says of an installation, asked from within it, once at a time, and kept a while."""

from __future__ import annotations

import threading
import time
from datetime import datetime
from typing import Final

from vetro.data_classes import dataclass
from vetro.diagnostics import Diagnostic, Text
from vetro.server.config.config import Config
from vetro.server.errors import Unavailable
from vetro.server.operations.doctor import checks
from vetro.server.tasks import clock

#: Seconds for which findings hold, and for what is elsewhere: somebody waits for the page.
_HOLDS: Final = 30.0
_PATIENCE: Final = 8.0


@dataclass(frozen=True, slots=True)
class Examined:
    """All findings, those that are all right among them, as they were ``at`` a time."""

    findings: tuple[Diagnostic, ...]
    at: datetime


_lock = threading.Lock()
_last: list[tuple[Config, Examined, float]] = []


def findings(config: Config, *, anew: bool = False) -> Examined:
    """The findings, at most half a minute old unless ``anew``.

    Raises `Unavailable` while another request examines, which reads samples of the whole database.
    """
    kept = _kept(config)
    if kept is not None and not anew:
        return kept
    if not _lock.acquire(blocking=False):
        raise Unavailable(Text("The installation is being examined."), hint=Text("ask again in a moment"))
    try:
        found = Examined(tuple(checks.examine(config, patience=_PATIENCE)), clock.read())
        _last[:] = [(config, found, time.monotonic() + _HOLDS)]
        return found
    finally:
        _lock.release()


def forget() -> None:
    """Drops what was found: something was mended."""
    _last.clear()


def _kept(config: Config) -> Examined | None:
    for of, found, until in list(_last):
        if of is config and until > time.monotonic():
            return found
    return None
