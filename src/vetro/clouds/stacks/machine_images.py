"""Images of this machine in the catalog of a cloud: those that somebody imported under names of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from vetro.clouds.drivers.errors import HelperAway
from vetro.clouds.images.recipe import DEFAULT
from vetro.clouds.images.store import ImageStore
from vetro.clouds.stacks.initial_state import image_record
from vetro.clouds.stacks.settings import StackSettings
from vetro.clouds.stacks.state.database import Database
from vetro.clouds.stacks.state.inventory import Inventory, fixed_id

#: Property of their records.
_OURS = "of_this_machine"
#: Gives name and info of each image, as `vetro.clouds.images.store.Image.record` does.
Images = Callable[[], Sequence[Mapping[str, Any]]]


def _own() -> Sequence[Mapping[str, Any]]:
    return [{"name": image.name, "info": image.manifest.get("info")} for image in ImageStore().list()]


def offer(database: Database, settings: StackSettings, images: Images | None = None) -> None:
    """Lists images that came to this machine, and no longer those that went. Marks that somebody changed stay.

    ``images``: gives their records; those of this user unless it is given.
    """
    try:
        found = (images or _own)()
    except HelperAway:
        return  # nobody can tell now
    for region in ("", *settings.regions):
        listed = Inventory(database, region, None)
        known = {record["name"]: record for record in listed.all("image")}
        there = {image["name"]: image.get("info") or {} for image in found if image["name"] != DEFAULT}
        for name, info in there.items():
            if name not in known:
                title, kind = str(info.get("title") or name), str(info.get("type") or "linux")
                listed.save("image", image_record(name, title, kind, **{_OURS: True}), shared=True)
        for name, record in known.items():
            if record.get("properties", {}).get(_OURS) and name not in there:
                listed.delete(fixed_id("image", name))
