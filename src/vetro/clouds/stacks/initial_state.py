"""What a new cloud holds (LOCAL_CLOUD.md 3)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vetro.clouds.stacks.default_networks import network_records, take_over
from vetro.clouds.stacks.flavors import FLAVORS
from vetro.clouds.stacks.key_pairs import default_key, fingerprint
from vetro.clouds.stacks.settings import StackSettings
from vetro.clouds.stacks.state.database import Database
from vetro.clouds.stacks.state.inventory import Inventory, fixed_id

#: Project of what belongs to the cloud itself.
ADMIN = "admin"

#: The image that runs on this machine.
IMAGE = "debian-12-murano"
#: name: (title, type) of images that only a recorder runs.
RECORDER_IMAGES = {
    "windows-server-murano": ("Windows Server (recorded)", "windows"),
    "debian-docker-murano": ("Debian with Docker (recorded)", "linux.docker"),
    "debian-kubernetes-murano": ("Debian with Kubernetes (recorded)", "linux.kubernetes"),
}


def image_record(name: str, title: str, kind: str, **more: Any) -> dict[str, Any]:
    """The record of an image as the image service shows it, with ``murano_image_info``."""
    info = json.dumps({"title": title, "type": kind})
    return {
        "id": fixed_id("image", name),
        "name": name,
        "status": "active",
        "visibility": "public",
        "owner": ADMIN,
        "container_format": "bare",
        "disk_format": "raw",
        "min_disk": 0,
        "min_ram": 0,
        "murano_image_info": info,
        "properties": {"murano_image_info": info, **more},
    }


def seed(database: Database, settings: StackSettings, directory: Path | None) -> None:
    """Makes what is missing in every region; what is there stays as it is. Without directory the key is for nobody."""
    seeded = (database.row("SELECT value FROM meta WHERE key = 'seed'") or ("",))[0]
    wanted = repr(settings)
    if seeded == wanted:
        return
    public_key = default_key(directory)
    with database.transaction():
        for region in ("", *settings.regions):
            _region(Inventory(database, region, None), region, settings, public_key)
        database.run("INSERT OR REPLACE INTO meta VALUES ('seed', ?)", (wanted,))
        database.fixed.clear()


def _region(things: Inventory, region: str, settings: StackSettings, public_key: str) -> None:
    def add(kind: Any, record: Mapping[str, Any], parent: str = "", holder: str = "") -> None:
        if things.find(kind, record["id"]) is None:
            things.save(kind, record, parent=parent, holder=holder, shared=True)

    for number, (name, (vcpus, ram, disk)) in enumerate(FLAVORS.items(), 1):
        add("flavor", flavor_record(str(number), name, vcpus, ram, disk))
    for flavor in settings.flavors:
        record = flavor_record(fixed_id("flavor", flavor["name"]), flavor["name"], 1, 512, 1)
        add("flavor", {**record, **flavor})
    add("image", image_record(IMAGE, "Debian 12", "linux", os_distro="debian", os_version="12"))
    if settings.recorder_images:
        for name, (title, kind) in RECORDER_IMAGES.items():
            add("image", image_record(name, title, kind, recorder_only=True))
    for image in settings.images:
        record = image_record(image["name"], image["name"], "linux")
        add("image", {**record, **image, "properties": {**record["properties"], **image.get("properties", {})}})
    add(
        "keypair",
        {
            "id": fixed_id("keypair", region),
            "name": "default",
            "public_key": public_key,
            "fingerprint": fingerprint(public_key),
        },
    )
    add("zone", {"id": fixed_id("zone", region), "name": "nova", "zoneName": "nova", "zoneState": {"available": True}})
    name = settings.external_network
    network, subnet = fixed_id("network", region, name), fixed_id("subnet", region, name)
    net, sub = network_records(network, subnet, name, settings.external_cidr, external=True, project=ADMIN)
    add("network", net)
    add("subnet", sub, parent=network)
    take_over(things.database, settings, region)


def flavor_record(id: str, name: str, vcpus: int, ram: int, disk: int) -> dict[str, Any]:
    """The record of a flavor."""
    return {"id": id, "name": name, "vcpus": vcpus, "ram": ram, "disk": disk, "is_public": True, "swap": 0}
