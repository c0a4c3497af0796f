"""`check` and `check_space`: refuse what a project may not have any more, inside of the transaction that writes it.

Only quotas of the service (`Quota.kept_by`); servers, addresses and volumes are counted where they are made
(`vetro.clouds.stacks.reservations`).

Who counts holds the project's lock of that quota to the end of the transaction: two requests cannot both take the last
place. (SQLite has one writer at a time anyway.) So that no two wait for each other, who takes several takes them in the
order packages, archives, environments, states, tasks, logs.

Things are counted each time. Bytes are measured every ten seconds, what this process writes in between is added, and
near the limit each write is measured: cheap, and exact where it matters.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from typing import Any

from django.db import connection

from vetro.clouds.quotas import QUOTAS, UNLIMITED, refusal
from vetro.data_classes import dataclass
from vetro.server.quotas.errors import QuotaBusy, QuotaExceeded, QuotaFull
from vetro.server.quotas.limits import limit
from vetro.server.quotas.usage import used
from vetro.server.secrets.encryption import dumps

#: Seconds that a measured sum holds, and how many times of what measuring took it holds at least.
_SECONDS, _PATIENCE = 10.0, 100
#: Part of a limit up to which a sum need not be exact.
_NEAR = 0.9
_MOST = 10_000
#: How much longer ciphertext is at most than what it hides.
_SEALED = 4 / 3
_lock = threading.Lock()


@dataclass(slots=True)
class _Sum:
    size: int
    until: float


_sums: dict[tuple[str, str], _Sum] = {}


def check(project_id: str, name: str, asked: int = 1) -> None:
    """Raises `QuotaExceeded` unless the project may have ``asked`` more. Call it in the transaction that adds them."""
    most = _limit(project_id, name)
    if most == UNLIMITED or asked <= 0:
        return
    _hold(project_id, name)
    has = used(project_id, name)
    if has + asked > most:
        raise _refused(QuotaBusy if name == "tasks" else QuotaExceeded, project_id, name, has, asked, most)


def check_space(project_id: str, name: str, size: int) -> None:
    """Raises `QuotaFull` unless ``size`` more bytes fit."""
    if not fits(project_id, name, size):
        raise _full(project_id, name, size)


def check_model(project_id: str, model: Any, characters: int, replaces: Callable[[], int] = lambda: 0) -> None:
    """Raises `QuotaFull` unless a model fits that is so long as JSON. ``replaces`` gives the bytes that go for it.

    What it takes in the database is found out only where the estimate does not fit. What becomes smaller always fits.
    """
    if fits(project_id, "states", int(characters * _SEALED)):
        return
    size, gone = len(dumps(model)), replaces()
    if size > gone and not fits(project_id, "states", size - gone):
        raise _full(project_id, "states", size - gone)


def fits(project_id: str, name: str, size: int) -> bool:
    """Whether ``size`` more bytes fit; if so they count from now on."""
    most = _limit(project_id, name)
    if most == UNLIMITED:
        return True
    key, now = (project_id, name), time.monotonic()
    with _lock:
        known = _sums.get(key)
        if known is not None and now < known.until and known.size + size <= (most << 20) * _NEAR:
            known.size += size
            return True
    _hold(project_id, name)
    has = used(project_id, name)
    took = time.monotonic() - now
    with _lock:
        if len(_sums) >= _MOST:
            _sums.clear()
        _sums[key] = _Sum(has + size, now + max(_SECONDS, took * _PATIENCE))
    return has + size <= most << 20


def forget() -> None:
    """The next sums are measured."""
    with _lock:
        _sums.clear()


def _limit(project_id: str, name: str) -> int:
    """What belongs to the installation itself has no limit."""
    return limit(project_id, name) if project_id else UNLIMITED


def _hold(project_id: str, name: str) -> None:
    if connection.vendor == "postgresql" and connection.in_atomic_block:
        key = int.from_bytes(hashlib.sha256(f"quota/{name}/{project_id}".encode()).digest()[:8], signed=True)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [key])


def _full(project_id: str, name: str, size: int) -> QuotaExceeded:
    has = used(project_id, name) / (1 << 20)
    return _refused(QuotaFull, project_id, name, has, size / (1 << 20), limit(project_id, name))


def _refused(
    error: type[QuotaExceeded], project_id: str, name: str, has: float, asked: float, most: int
) -> QuotaExceeded:
    details = {"quota": name, "used": has, "asked": asked, "limit": most, "unit": QUOTAS[name].unit}
    return error(refusal(project_id, name, has, asked, most), details=details)
