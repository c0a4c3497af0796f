"""Snapshots of servers by layers: what the server has written becomes a layer that nobody writes to any more.

``launch.json`` says which layers the disk of a server has, from the bottom to the one that is written to
(`Layers.uppers`), and which of them each snapshot has. The supervisor makes and removes them when it mounts the disk:
so a snapshot is one file that is replaced, and costs a stop and a start. Nothing is copied; what is changed later is
copied up by the kernel, whole files at a time, and counts for the server's own disk.
"""

from __future__ import annotations

from typing import Any

from vetro.clouds.drivers.base import DriverError
from vetro.clouds.drivers.spec_files import load, save
from vetro.clouds.nspawn.server import NspawnServer
from vetro.clouds.nspawn.supervisor import BOTTOM, LAYERS

#: Layers from which on the next snapshot merges them, and the most that a disk may have.
MERGED_FROM, MOST = 8, 16


def take(server: NspawnServer, name: str) -> None:
    """See `SnapshotDriver.take_snapshot`. The server is stopped afterwards."""
    launch = _launch(server)
    kept: dict[str, list[str]] = launch.get("snapshots") or {}
    if name in kept:
        return
    server.power_off()
    layers = _layers(server, launch)
    if len(layers) >= MOST:
        raise DriverError(f"the disk of the server {server.id} has {len(layers)} layers, which could not be merged")
    launch["merge"] = layers[1:] if len(layers) >= MERGED_FROM and not kept else []
    launch["snapshots"] = {**kept, name: layers}
    _write(server, launch, layers)


def revert(server: NspawnServer, name: str) -> None:
    """See `SnapshotDriver.revert_to_snapshot`."""
    launch = _launch(server)
    layers = (launch.get("snapshots") or {}).get(name)
    if layers is None:
        raise DriverError(f"the server {server.id} has no snapshot {name}")
    server.stop()
    _write(server, launch, layers)


def drop(server: NspawnServer, name: str) -> None:
    """See `SnapshotDriver.drop_snapshot`. Its layers stay, since what is now lies on them."""
    launch = load(server.folder / "launch.json")
    if isinstance(launch, dict) and name in (launch.get("snapshots") or {}):
        del launch["snapshots"][name]
        save(server.folder / "launch.json", launch)


def _launch(server: NspawnServer) -> dict[str, Any]:
    launch = load(server.folder / "launch.json")
    if not isinstance(launch, dict):
        raise DriverError(f"the server {server.id} was never finished")
    return launch


def _write(server: NspawnServer, launch: dict[str, Any], layers: list[str]) -> None:
    """Has the server write to a new layer above these, from its next start on."""
    number = int(launch.get("layers_made") or 0) + 1
    launch.update(layers_made=number, uppers=[*layers, f"{BOTTOM}.{number}"])
    launch.setdefault("image_uid", launch["uid"])
    save(server.folder / "launch.json", launch)


def _layers(server: NspawnServer, launch: dict[str, Any]) -> list[str]:
    """The layers that the disk has; those that were merged are not there any more."""
    wanted: list[str] = launch.get("uppers") or [BOTTOM]
    there = load(server.folder / LAYERS)
    mounted = there.get("of") if isinstance(there, dict) else None
    return [layer for layer in wanted if layer in there["layers"]] if mounted == wanted else wanted
