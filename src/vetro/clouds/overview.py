"""What a cloud holds on this machine, whichever kinds made it; starting its servers, removing all of it."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from typing import Any

from vetro.clouds import kinds
from vetro.clouds.drivers.base import InspectedDriver
from vetro.clouds.drivers.errors import DriverError
from vetro.clouds.images.store import ImageStore, delete_tree
from vetro.clouds.kind_protocols import Place
from vetro.clouds.stacks.cloud import StackCloud
from vetro.clouds.stacks.kind import DriverKind
from vetro.data_classes import dataclass


@dataclass(frozen=True, slots=True)
class Overview:
    """Plain records, as ``vetro cloud status`` prints them."""

    directory: str
    #: The kind that a new environment would get, and why.
    driver: str
    reason: str
    stacks: list[dict[str, Any]] = field(default_factory=list)
    servers: list[dict[str, Any]] = field(default_factory=list)
    networks: list[dict[str, Any]] = field(default_factory=list)
    images: list[dict[str, Any]] = field(default_factory=list)
    #: Bytes on disk: of this cloud, and of the images of this machine.
    bytes: int = 0
    image_bytes: int = 0
    #: Servers that the cloud does not know: stopped, and removed at the time ``until``.
    quarantined: list[dict[str, Any]] = field(default_factory=list)
    #: Folders of clouds that are gone while things of theirs are still on this machine.
    orphans: list[str] = field(default_factory=list)


def overview(directory: Path, images: ImageStore | None = None, *, sizes: bool = True) -> Overview:
    """The state of the cloud kept in ``directory``. Nothing is made or changed. Raises `CloudError`.

    ``sizes``: whether what is on disk is counted, for which every file is looked at.
    """
    store = images if images is not None else ImageStore()
    choice = kinds.choose(Place(directory=directory, images=store))
    found = Overview(
        str(directory),
        choice.name,
        f"{choice.kind.title}; {choice.why}" if choice.why else choice.kind.title,
        images=[image.record() for image in store.list()],
        bytes=used(directory) if sizes else 0,
        image_bytes=used(store.folder) if sizes else 0,
        orphans=sorted(folder for kind in _driver_kinds() for folder in kind.orphans().values()),
    )
    if not (directory / "cloud.db").exists():
        return found
    with _recorded(directory) as cloud:
        for owner, stack in cloud.all_stacks():
            place = {"name": stack.name, "environment": owner.environment, "region": stack.region}
            found.stacks.append({**place, "status": stack.status, "reason": stack.reason, "updated": stack.updated})
        servers = cloud.all_servers()
    real = dict(_drivers(directory))
    states = {name: driver.statuses([server.id for _, server in servers]) for name, driver in real.items()}
    for owner, server in servers:
        name = next((name for name, known in states.items() if server.id in known), kinds.RECORD)
        found.servers.append(
            {
                "name": server.name,
                "id": server.id,
                "environment": owner.environment,
                "driver": name,
                "simulated": name == kinds.RECORD,
                "status": states[name][server.id] if name in states else server.status,
                "addresses": list(server.addresses),
                "image": server.image,
                "flavor": server.flavor,
            }
        )
    for name, driver in real.items():
        for network in driver.networks():
            cidrs = [str(subnet.cidr) for subnet in network.subnets]
            found.networks.append({"name": network.name, "id": network.id, "driver": name, "subnets": cidrs})
        for spec, folder, until in driver.quarantined():
            entry = {"name": spec.name, "id": spec.id, "driver": name, "folder": str(folder), "until": until}
            found.quarantined.append({**entry, "environment": spec.environment})
        driver.close()
    return found


def clean(directory: Path) -> Iterator[str]:
    """Removes all servers, networks and stacks of the cloud, what crashes left of it, and its folder.

    A line for each thing removed; none when there is nothing. Raises `DriverError` when this user may not.
    """
    for kind in _driver_kinds():
        lack = kind.lacks_rights(directory)
        if lack is not None:
            error = DriverError(lack.reason)
            error.hint = lack.hint
            raise error
    for _, driver in _drivers(directory):
        yield from driver.clear()
        driver.close()
    for kind in _driver_kinds():
        for cloud, folder in kind.orphans().items():
            lines = list(kind.purge(cloud))
            yield from (f"{line} (its folder {folder} is gone)" for line in lines)
    if directory.is_dir():
        size = used(directory)
        delete_tree(directory)
        yield f"{directory} ({size >> 20} MiB)"


def start(directory: Path) -> Iterator[str]:
    """Starts the servers that ended by themselves or with this machine, with their disks; the name of each.

    Servers that somebody stopped stay so. Raises `CloudError` for the first that does not start, after all servers of
    its stack were tried.
    """
    if not (directory / "cloud.db").exists():
        return
    for _, driver in _drivers(directory):
        with StackCloud(directory, driver) as cloud:
            servers = cloud.all_servers()
            known = driver.statuses([server.id for _, server in servers])
            for owner in dict.fromkeys(owner for owner, server in servers if server.id in known):
                yield from cloud.heal(owner)


def used(folder: Path, until: float = math.inf) -> int:
    """Bytes that a folder takes on disk; holes of sparse files do not count.

    ``until``: when to stop counting, by `time.monotonic`; what was counted by then is given.
    """
    total = 0
    for at, _, files in os.walk(folder):
        if time.monotonic() > until:
            break
        for name in files:
            try:
                total += os.lstat(os.path.join(at, name)).st_blocks * 512
            except OSError:
                pass  # it was removed meanwhile, or is another user's
    return total


def _driver_kinds() -> list[DriverKind[Any]]:
    return [kind for kind in kinds.usable() if isinstance(kind, DriverKind)]


def _drivers(directory: Path) -> Iterator[tuple[str, InspectedDriver]]:
    """Drivers of what the kinds have made in this folder."""
    for kind in _driver_kinds():
        driver = kind.kept(directory)
        if driver is not None:
            yield kind.name, driver


def _recorded(directory: Path) -> StackCloud:
    """The cloud's state, with a driver that does nothing."""
    kind = kinds.find(kinds.RECORD)
    assert isinstance(kind, DriverKind)
    return kind.opened(kind.settings(), Place(directory=directory))
