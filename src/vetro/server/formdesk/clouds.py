"""Lists of the cloud for choices: flavors, images, key pairs. Kept for a moment; no request waits long for a cloud."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLate
from typing import Any

from vetro.clouds.interface import CloudError, Owner
from vetro.forms.cloud_lists import Lists, rows
from vetro.server.dispatch import spec
from vetro.server.setup import config
from vetro.yaql.errors import VetroError

#: Seconds for which a list is good, and for which an old one is when the cloud does not answer.
FRESH, STALE = 15.0, 600.0
#: Seconds that a request waits for a cloud.
PATIENCE = 5.0
_MOST = 2000

_lock = threading.Lock()
_known: dict[tuple[Any, ...], tuple[float, list[Any]]] = {}
_open: dict[tuple[int, str], Lists] = {}
_pools: dict[int, ThreadPoolExecutor] = {}
_reading: dict[tuple[Any, ...], Future[list[Any]]] = {}


class ListUnavailable(CloudError):
    """The cloud does not tell what there is to choose from."""

    code = "SRV561"
    hint = "try again in a moment"


def choices(project_id: str, environment_id: str, source: str, region: str | None) -> list[Any]:
    """A list of the configured cloud as `vetro.forms.cloud_lists.rows` gives it. Raises `ListUnavailable`."""
    key = (os.getpid(), str(config().path("cloud.directory")), project_id, source, region or "")
    now = time.monotonic()
    with _lock:
        at, known = _known.get(key, (0.0, None))
    if known is not None and now - at < FRESH:
        return known
    try:
        found = _read(key, Owner(project_id, environment_id or "forms", "forms"), source, region)
    except (VetroError, KeyError, OSError, TooLate) as error:
        if known is not None and now - at < STALE:
            return known
        why = "it does not answer" if isinstance(error, TooLate) else str(getattr(error, "message", error))
        raise ListUnavailable(f"the cloud cannot list its {source.replace('_', ' ')}: {why}") from None
    with _lock:
        if len(_known) >= _MOST:
            _known.clear()
        _known[key] = (time.monotonic(), found)
    return found


def forget() -> None:
    """Reads everything anew the next time."""
    with _lock:
        _known.clear()


def _read(key: tuple[Any, ...], owner: Owner, source: str, region: str | None) -> list[Any]:
    if config()["cloud.kind"] == "local":
        return rows(_listing(), owner, source, region)  # a small file on this machine
    with _lock:
        pool = _pools.setdefault(os.getpid(), ThreadPoolExecutor(4, "vetro-cloud-lists"))
        reading = _reading.get(key)
        if reading is None or reading.done():
            reading = _reading[key] = pool.submit(_ask, owner, source, region)
    return reading.result(PATIENCE)


def _listing() -> Lists:
    from vetro.clouds.local import LocalSettings
    from vetro.clouds.local.listing import Listing

    settings = spec.local_settings(config())
    key = (os.getpid(), f"{settings['directory']}\0{settings['settings']}")
    with _lock:
        if key not in _open:
            _open[key] = Listing(settings["directory"], LocalSettings.from_json(settings["settings"]))
        return _open[key]


def _ask(owner: Owner, source: str, region: str | None) -> list[Any]:
    from vetro.engine.host.config import cloud_of

    cloud, channel = cloud_of(spec.cloud(config()), owner)
    try:
        return rows(cloud, owner, source, region)
    finally:
        channel.close()
        cloud.close()
