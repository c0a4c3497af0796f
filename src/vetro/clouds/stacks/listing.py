"""What a cloud offers to choose from, the marks of its images, and `Listing` for processes that answer requests:
no driver, no sweep, nothing is started."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vetro.clouds.interface import Catalog, NotFound, Owner
from vetro.clouds.stacks.default_networks import ensure_defaults
from vetro.clouds.stacks.initial_state import seed
from vetro.clouds.stacks.machine_images import Images, offer
from vetro.clouds.stacks.network_queries import QueryInvalid
from vetro.clouds.stacks.settings import StackSettings
from vetro.clouds.stacks.state.database import Database
from vetro.clouds.stacks.state.inventory import Inventory, Kind

#: The kind of records that each list has.
KINDS: Mapping[Catalog, Kind] = {
    "images": "image",
    "flavors": "flavor",
    "keypairs": "keypair",
    "zones": "zone",
    "networks": "network",
    "subnets": "subnet",
    "security_groups": "security_group",
    "volumes": "volume",
    "snapshots": "snapshot",
    "backups": "backup",
}

_MARK = "murano_image_info"


def region_named(settings: StackSettings, region: str) -> str:
    """The region as the cloud knows it: '' for the home region. Raises `NotFound` for one that there is not."""
    if region in ("", settings.home_region):
        return ""
    if region not in settings.regions:
        known = ", ".join(name for name in (settings.home_region, *settings.regions) if name)
        known = known or "only the home region ''"
        raise NotFound(f"the cloud has no region '{region}'; there are {known}")
    return region


def listed(
    database: Database, settings: StackSettings, owner: Owner, region: str, what: Catalog, executes: bool
) -> Sequence[Mapping[str, Any]]:
    """See `vetro.clouds.interface.Cloud.catalog`. Private halves of key pairs are left out; where the cloud
    ``executes`` what packages say, images that only a recorder can run."""
    region = region_named(settings, region)
    if what not in KINDS:
        raise QueryInvalid(f"there is no catalog of '{what}'; there are {', '.join(KINDS)}")
    if what in ("networks", "subnets"):
        ensure_defaults(database, settings, region, owner.project)
    found = Inventory(database, region, owner.project).all(KINDS[what])
    return [
        {key: value for key, value in item.items() if key != "private_key"}
        for item in found
        if not (executes and what == "images" and item.get("properties", {}).get("recorder_only"))
    ]


def mark_image(
    database: Database, settings: StackSettings, region: str, image: str, mark: Mapping[str, str] | None
) -> Mapping[str, Any]:
    """See `vetro.clouds.interface.Cloud.mark_image`. Later seeds leave the mark as it is."""
    region = region_named(settings, region)
    images = Inventory(database, region, None)
    with database.transaction():
        record = images.get("image", image)
        if record["id"] != image:
            raise NotFound(f"there is no image with the id '{image}'")
        properties = {key: value for key, value in record.get("properties", {}).items() if key != _MARK}
        record.pop(_MARK, None)
        if mark is not None:
            # As Glance keeps it: JSON in a property.
            text = json.dumps({"title": mark["title"], "type": mark["type"]}, ensure_ascii=False)
            record[_MARK] = properties[_MARK] = text
        images.save("image", {**record, "properties": properties}, shared=True)
    return {**record, "properties": properties}


class Listing:
    """The lists of the cloud in ``directory``, which is made with what a new cloud holds when it is not there yet.

    ``executes``: as its `Capabilities` say. ``images``: as `offer` takes them. May be used from several
    threads. Raises `StateUnusable`.
    """

    def __init__(
        self,
        directory: Path | str,
        settings: StackSettings | None = None,
        *,
        executes: bool = False,
        images: Images | None = None,
    ) -> None:
        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        self._settings = settings or StackSettings()
        self._executes = executes
        self._images = images
        self._database = Database(folder / "cloud.db")
        try:
            seed(self._database, self._settings, folder)
            offer(self._database, self._settings, self._images)
        except BaseException:
            self._database.close()
            raise

    def catalog(self, owner: Owner, region: str, what: Catalog) -> Sequence[Mapping[str, Any]]:
        """See `listed`. Raises `QueryInvalid`, `NotFound` for an unknown region."""
        if what == "images":
            offer(self._database, self._settings, self._images)
        return listed(self._database, self._settings, owner, region, what, self._executes)

    def regions(self) -> Sequence[str]:
        """See `vetro.clouds.interface.Cloud.regions`."""
        return tuple(self._settings.regions)

    def mark_image(self, owner: Owner, region: str, image: str, mark: Mapping[str, str] | None) -> Mapping[str, Any]:
        """See `mark_image`."""
        return mark_image(self._database, self._settings, region, image, mark)

    def close(self) -> None:
        """Lets the file go."""
        self._database.close()
