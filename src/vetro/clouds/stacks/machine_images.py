"""Images of this machine in the catalog of a cloud: those that somebody imported under names of their own."""

from __future__ import annotations

from vetro.clouds.images.recipe import DEFAULT
from vetro.clouds.images.store import ImageStore
from vetro.clouds.stacks.initial_state import image_record
from vetro.clouds.stacks.settings import StackSettings
from vetro.clouds.stacks.state.database import Database
from vetro.clouds.stacks.state.inventory import Inventory, fixed_id

#: Property of their records.
_OURS = "of_this_machine"


def offer(database: Database, settings: StackSettings, store: ImageStore | None = None) -> None:
    """Lists images that came to this machine, and no longer those that went. Marks that somebody changed stay."""
    found = (store or ImageStore()).list()
    for region in ("", *settings.regions):
        images = Inventory(database, region, None)
        known = {record["name"]: record for record in images.all("image")}
        there = {image.name for image in found if image.name != DEFAULT}
        for image in found:
            if image.name != DEFAULT and image.name not in known:
                info = image.manifest.get("info") or {}
                title, kind = str(info.get("title") or image.name), str(info.get("type") or "linux")
                images.save("image", image_record(image.name, title, kind, **{_OURS: True}), shared=True)
        for name, record in known.items():
            if record.get("properties", {}).get(_OURS) and name not in there:
                images.delete(fixed_id("image", name))
