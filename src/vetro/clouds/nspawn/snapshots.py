"""Snapshots of servers: as layers, or on disks with btrfs as copies of a subvolume. ``launch.json`` says what there is.

**Layers**: what the server has written becomes a layer that nobody writes to any more. ``launch.json`` says which
layers the disk has, from the bottom to the one that is written to (`Layers.uppers`), and which of them each snapshot
has. The supervisor makes and removes them when it mounts the disk: so a snapshot is one file that is replaced, and
costs a stop and a start. Nothing is copied; what is changed later is copied up by the kernel, whole files at a time,
and counts for the server's own disk.

**Subvolumes**: the server goes on; it stands still for the one call that copies (`subvolumes`). What is changed later
takes the blocks that are written.
"""

from __future__ import annotations

from typing import Any

from vetro.clouds.drivers.base import DriverError, SnapshotMethod
from vetro.clouds.drivers.spec_files import load, save
from vetro.clouds.nspawn.server import NspawnServer
from vetro.clouds.nspawn.subvolumes import FIRST, KEPT, LIVE
from vetro.clouds.nspawn.supervisor import BOTTOM, LAYERS

#: Layers from which on the next snapshot merges them, and the most that a disk may have.
MERGED_FROM, MOST = 8, 16


def method(server: NspawnServer) -> SnapshotMethod:
    """How its disk is kept."""
    launch = load(server.folder / "launch.json")
    if isinstance(launch, dict) and _has_subvolumes(launch):
        return SnapshotMethod("subvolume", standstill=0.1)
    return SnapshotMethod("layer", standstill=2.0)


def take(server: NspawnServer, name: str) -> float | None:
    """See `SnapshotDriver.take_snapshot`. A server with layers is stopped afterwards."""
    launch = _launch(server)
    kept: dict[str, list[str]] = launch.get("snapshots") or {}
    if _has_subvolumes(launch):
        if name not in kept:
            made = f"{KEPT}{_count(launch)}"
            launch["snapshots"] = {**kept, name: [made]}
            _write_subvolumes(server, launch, made, launch.get("live") or FIRST)
        return server.arrange_disk("frozen")
    if name in kept:
        return None
    server.power_off()
    layers = _layers(server, launch)
    if len(layers) >= MOST:
        raise DriverError(f"the disk of the server {server.id} has {len(layers)} layers, which could not be merged")
    launch["merge"] = layers[1:] if len(layers) >= MERGED_FROM and not kept else []
    launch["snapshots"] = {**kept, name: layers}
    _write(server, launch, layers)
    return None


def revert(server: NspawnServer, name: str) -> None:
    """See `SnapshotDriver.revert_to_snapshot`."""
    launch = _launch(server)
    layers = (launch.get("snapshots") or {}).get(name)
    if layers is None:
        raise DriverError(f"the server {server.id} has no snapshot {name}")
    server.stop()
    if _has_subvolumes(launch):
        launch["live"] = f"{LIVE}{_count(launch)}"
        _write_subvolumes(server, launch, launch["live"], *layers)
    else:
        _write(server, launch, layers)


def drop(server: NspawnServer, name: str) -> None:
    """See `SnapshotDriver.drop_snapshot`. Its layers stay, since what is now lies on them; its subvolume goes."""
    launch = load(server.folder / "launch.json")
    if isinstance(launch, dict) and name in (launch.get("snapshots") or {}):
        del launch["snapshots"][name]
        save(server.folder / "launch.json", launch)
    if isinstance(launch, dict) and _has_subvolumes(launch):
        server.arrange_disk()


def _has_subvolumes(launch: dict[str, Any]) -> bool:
    return launch.get("disk_type") == "btrfs"


def _launch(server: NspawnServer) -> dict[str, Any]:
    launch = load(server.folder / "launch.json")
    if not isinstance(launch, dict):
        raise DriverError(f"the server {server.id} was never finished")
    return launch


def _write(server: NspawnServer, launch: dict[str, Any], layers: list[str]) -> None:
    """Has the server write to a new layer above these, from its next start on."""
    launch["uppers"] = [*layers, f"{BOTTOM}.{_count(launch)}"]
    launch.setdefault("image_uid", launch["uid"])
    save(server.folder / "launch.json", launch)


def _count(launch: dict[str, Any]) -> int:
    """A number that no layer or subvolume of the server had."""
    number = int(launch.get("layers_made") or (1 if _has_subvolumes(launch) else 0)) + 1
    launch["layers_made"] = number
    return number


def _write_subvolumes(server: NspawnServer, launch: dict[str, Any], made: str, source: str) -> None:
    """Has the disk have a subvolume that is a copy, and forgets where those came from that nobody asks for any more."""
    sources: dict[str, str] = {**(launch.get("sources") or {}), made: source}
    wanted = {launch.get("live") or FIRST, *(name for names in launch["snapshots"].values() for name in names)}
    launch["sources"] = {name: of for name, of in sources.items() if name in wanted}
    save(server.folder / "launch.json", launch)


def _layers(server: NspawnServer, launch: dict[str, Any]) -> list[str]:
    """The layers that the disk has; those that were merged are not there any more."""
    wanted: list[str] = launch.get("uppers") or [BOTTOM]
    there = load(server.folder / LAYERS)
    mounted = there.get("of") if isinstance(there, dict) else None
    return [layer for layer in wanted if layer in there["layers"]] if mounted == wanted else wanted
