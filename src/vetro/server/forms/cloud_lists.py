"""Lists of the cloud for choices: flavors, images, key pairs; and the marks of images. Lists are kept for a moment; no
request waits long for a cloud."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TooLate
from functools import partial
from typing import TYPE_CHECKING, Any

from vetro.clouds import interface as clouds_say
from vetro.clouds.interface import Cloud, CloudError, NotAvailable, Owner
from vetro.clouds.kind_protocols import Place
from vetro.clouds.stacks.kind import DriverKind
from vetro.diagnostics import Text
from vetro.forms.cloud_choices import QuotaLeft
from vetro.forms.cloud_lists import rows
from vetro.server.config import cloud_settings
from vetro.server.environments.models import Environment
from vetro.server.errors import Conflict, Forbidden, NotFound, Unavailable
from vetro.server.forms.concurrency import FairPool, Full
from vetro.server.quotas.limits import limits
from vetro.server.quotas.usage import used_in_cloud
from vetro.server.setup import config
from vetro.yaql.errors import VetroError

#: Seconds for which a list is good, and for which an old one is when the cloud does not answer.
FRESH, STALE = 15.0, 600.0
#: Seconds that a request waits for a cloud.
PATIENCE = 5.0
_MOST = 2000
#: Threads that wait for clouds, those that one project may keep busy (a form asks for three lists), and what of one
#: project may wait for them.
_THREADS, _SHARE, _WAITING = 24, 3, 40

if TYPE_CHECKING:
    from vetro.clouds.stacks.listing import Listing

_lock = threading.Lock()
_known: dict[tuple[Any, ...], tuple[float, list[Any]]] = {}
_open: dict[tuple[int, str], Listing] = {}
_pools: dict[int, FairPool] = {}
_reading: dict[tuple[Any, ...], Future[list[Any]]] = {}


class ListUnavailable(CloudError):
    """The cloud does not tell what there is to choose from."""

    code = "SRV561"
    hint = Text("try again in a moment")


class Patience:
    """How long one request waits for all of its lists together."""

    def __init__(self) -> None:
        self._end = time.monotonic() + PATIENCE

    @property
    def left(self) -> float:
        """Seconds; a list that is there already needs hardly any."""
        return max(self._end - time.monotonic(), 0.05)


def choices(
    project_id: str,
    environment_id: str,
    source: str,
    region: str | None,
    *,
    anew: bool = False,
    patience: Patience | None = None,
) -> list[Any]:
    """A list of the environment's cloud, or for '' of the configured one, as `vetro.forms.cloud_lists.rows` gives it;
    ``anew``: as it is at this moment. ``patience``: what is left for this list of the time of a request.

    Raises `ListUnavailable`; with ``anew`` also what the cloud raises.
    """
    own = cloud_of_environment(environment_id)
    key = (os.getpid(), str(config().path("cloud.directory")), project_id, source, region or "", own.get("kind", ""))
    now = time.monotonic()
    with _lock:
        at, known = _known.get(key, (0.0, None))
    if known is not None and now - at < FRESH and not anew:
        return known
    try:
        owner = Owner(project_id, environment_id or "forms", "forms")
        found = _read(key, owner, source, region, own, (patience or Patience()).left)
    except (VetroError, KeyError, OSError, TooLate) as error:
        if anew and isinstance(error, VetroError):
            raise
        if known is not None and now - at < STALE and not anew:
            return known
        why = Text("it does not answer") if isinstance(error, TooLate) else str(getattr(error, "message", error))
        raise ListUnavailable(
            Text("the cloud cannot list its {source}: {why}", source=source.replace("_", " "), why=why)
        ) from None
    with _lock:
        if len(_known) >= _MOST:
            _known.clear()
        _known[key] = (time.monotonic(), found)
    return found


def mark_image(project_id: str, image: str, mark: Mapping[str, str] | None, region: str | None) -> None:
    """See `vetro.clouds.interface.Cloud.mark_image`. Lists of this process show it at once, others within `FRESH`
    seconds. Raises what the cloud raises, and `ListUnavailable` when it does not answer."""
    owner = Owner(project_id, "forms", "forms")
    listing = _listing()
    if listing is not None:
        listing.mark_image(owner, region or "", image, mark)
    else:
        doing = ask(owner, lambda cloud: _mark(cloud, owner, region or "", image, mark))
        try:
            doing.result(PATIENCE)
        except TooLate:
            raise ListUnavailable(
                Text("the cloud has not said in time whether the image is marked; look again")
            ) from None
    forget()


def _mark(cloud: Cloud, owner: Owner, region: str, image: str, mark: Mapping[str, str] | None) -> None:
    if not hasattr(cloud, "mark_image"):
        raise NotAvailable(Text("the cloud '{name}' marks no images", name=cloud.name))
    cloud.mark_image(owner, region, image, mark)


def forget() -> None:
    """Reads everything anew the next time."""
    with _lock:
        _known.clear()


def cloud_of_environment(environment_id: str) -> Mapping[str, Any]:
    """Which cloud an environment keeps (`Environment.cloud`); nothing for a new one."""
    found = Environment.objects.filter(id=environment_id).values_list("cloud", flat=True).first()
    return found or {}


def refusal(error: VetroError | OSError) -> VetroError:
    """What a cloud says, as an answer of the service."""
    message = getattr(error, "message", None) or str(error)
    hint = getattr(error, "hint", None)
    if isinstance(error, clouds_say.NotFound):
        return NotFound(message, hint=hint)
    if isinstance(error, clouds_say.Conflict):
        return Conflict(message, hint=hint)
    if isinstance(error, CloudError) and getattr(error, "status", 0) == 403:
        return Forbidden(
            message, hint=Text("give the worker's user the right to change this image (docs/openstack.md)")
        )
    return Unavailable(message, hint=hint)


def left(project_id: str) -> QuotaLeft | None:
    """What the quota of a project leaves of processors, memory and disks; None where the cloud has quotas of its own,
    or its state is not on this machine."""
    able = cloud_settings.capabilities(config())
    used = used_in_cloud(project_id) if able is not None and able.quota else None
    if used is None:
        return None
    most = limits(project_id)
    found = {name: max(most[name] - used[name], 0) if most[name] >= 0 else None for name in QuotaLeft.__slots__}
    return QuotaLeft(**found)


def _read(
    key: tuple[Any, ...], owner: Owner, source: str, region: str | None, own: Mapping[str, Any], patience: float
) -> list[Any]:
    listing = _listing(own)
    if listing is not None:
        return rows(listing, owner, source, region)  # a small file on this machine
    with _lock:
        reading = _reading.get(key)
        if reading is None or reading.done():
            if len(_reading) >= _MOST:  # regions are what people write
                for old in [old for old, read in _reading.items() if read.done()]:
                    del _reading[old]
            reading = _reading[key] = ask(owner, lambda cloud: rows(cloud, owner, source, region), own)
    return reading.result(patience)


def ask(owner: Owner, do: Callable[[Cloud], Any], own: Mapping[str, Any] | None = None) -> Future[Any]:
    """What ``do`` gives of the configured cloud, or of an environment's ``own`` (`Environment.cloud`), once that has
    answered: another thread waits for it.

    A project whose cloud is slow keeps others waiting for nothing. The result may raise `ListUnavailable`.
    """
    pool = _pools.get(os.getpid())
    if pool is None:
        pool = _pools.setdefault(os.getpid(), FairPool(_THREADS, _SHARE, _WAITING, "vetro-cloud-lists"))
    try:
        return pool.submit(owner.project, partial(_with_cloud, owner, do, own))
    except Full:
        refused: Future[Any] = Future()
        refused.set_exception(ListUnavailable(Text("too much of this project waits for the cloud already")))
        return refused


def _listing(own: Mapping[str, Any] | None = None) -> Listing | None:
    """The lists of a cloud around a driver, which are in its state; None for clouds that have to be asked."""
    kind = cloud_settings.kind(config(), own)
    if not isinstance(kind, DriverKind):
        return None
    settings = cloud_settings.kind_settings(config(), kind)
    directory = config().path("cloud.directory")
    key = (os.getpid(), f"{directory}\0{kind.name}\0{settings}")
    with _lock:
        if key not in _open:
            _open[key] = kind.listing(settings, Place(directory=directory))
        return _open[key]


def _with_cloud(owner: Owner, do: Callable[[Cloud], Any], own: Mapping[str, Any] | None) -> Any:
    from vetro.engine.host.config import cloud_of

    cloud = cloud_of(cloud_settings.cloud(config(), own), owner, sweeps=False)
    try:
        return do(cloud)
    finally:
        cloud.close()
