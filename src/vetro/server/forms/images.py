"""Images of the cloud, and their marks (DASHBOARD.md "Images"): which ones forms offer, as what.

A mark is the property ``murano_image_info`` of the image itself. So it counts for everybody who sees the image, and
forms of Murano's dashboard read the same one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.engine.models.usual_values import ImageOffer
from vetro.engine.models.usual_values import image as usual_image
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.errors import Conflict, Invalid, NotFound
from vetro.server.forms import cloud_lists
from vetro.yaql.errors import VetroError

#: Longest title and type.
LONGEST = 255
#: Types that packages ask for, as suggestions; any other word may be one.
TYPES = ("linux", "linux.docker", "linux.kubernetes", "windows", "windows.2012", "cirros.demo")


@dataclass(frozen=True, slots=True)
class Image:
    """An image as its marks are seen."""

    id: str
    name: str
    #: ``active``, or why it cannot be used.
    status: str
    #: None without a mark. ``type`` alone may be missing in marks that others wrote.
    title: str | None
    type: str | None
    #: There is a mark that cannot be read: no JSON, or no mapping.
    broken: bool

    def as_json(self) -> dict[str, Any]:
        """Plain data, with ``marked``."""
        return {**asdict(self), "marked": self.title is not None}


def listed(caller: Caller, region: str | None = None) -> list[Image]:
    """All images that the project sees, marked ones first, by title and name.

    Raises `Unavailable`, `NotFound` for a region that there is not.
    """
    try:
        found = cloud_lists.choices(caller.project_id, "", "images", region, anew=True)
    except (VetroError, OSError) as error:
        raise cloud_lists.refusal(error) from None
    images = [_image(row) for row in found if row.get("image_type") != "snapshot"]
    return sorted(images, key=lambda i: (i.title is None, (i.title or "").lower(), i.name.lower(), i.id))


def usual(images: Sequence[Image]) -> Image | None:
    """What servers start from unless somebody says otherwise (`vetro.engine.models.usual_values.image`)."""
    ready = {one.id: one for one in images if one.status == "active"}
    found = usual_image(
        ImageOffer(one.id, f"{one.name} {one.title or ''}", one.title is not None) for one in ready.values()
    )
    return ready.get(found or "")


def mark(caller: Caller, image: str, title: Any, type: Any, region: str | None = None) -> Image:
    """Marks an image, or changes its mark.

    Raises `Invalid`, `NotFound`, `Conflict` for the title of another image, `Forbidden` where the cloud does not let
    the service, `Unavailable`.
    """
    title, type = _word(title, Text("title")), _word(type, Text("type"))
    images = listed(caller, region)
    found = _find(images, image)
    for other in images:
        if other.title == title and other.id != found.id:
            raise Conflict(
                Text("The image '{name}' has the title '{title}' already.", name=other.name, title=title),
                hint=Text("titles tell images apart"),
            )
    _change(caller, found, {"title": title, "type": type}, region)
    return Image(found.id, found.name, found.status, title, type, False)


def unmark(caller: Caller, image: str, region: str | None = None) -> None:
    """Takes an image's mark away: forms do not offer it any more. Raises as `mark`."""
    found = _find(listed(caller, region), image)
    if found.title is not None or found.broken:
        _change(caller, found, None, region)


def _change(caller: Caller, image: Image, mark: Mapping[str, str] | None, region: str | None) -> None:
    try:
        cloud_lists.mark_image(caller.project_id, image.id, mark, region)
    except (VetroError, OSError) as error:
        raise cloud_lists.refusal(error) from None
    what = "image.mark" if mark is not None else "image.unmark"
    record(caller, what, image.id, image.name, **(mark or {}), **({"region": region} if region else {}))


def _find(images: list[Image], wanted: str) -> Image:
    found = next((image for image in images if image.id == wanted), None)
    if found is None:
        raise NotFound(
            Text("There is no image with the id '{wanted}'.", wanted=wanted[:80]),
            hint=Text("the list of images has their ids"),
        )
    return found


def _image(row: Mapping[str, Any]) -> Image:
    text, found = row.get("murano"), None
    try:
        found = json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        found = None
    name = str(row.get("name") or row["id"])
    status = str(row.get("status") or "active").lower()
    if not isinstance(found, Mapping):
        return Image(str(row["id"]), name, status, None, None, bool(text))
    kind = found.get("type")
    title = str(found.get("title") or name)
    return Image(str(row["id"]), name, status, title, kind if isinstance(kind, str) else None, False)


def _word(value: Any, what: str) -> str:
    found = value.strip() if isinstance(value, str) else ""
    if not found or len(found) > LONGEST or not found.isprintable():
        raise Invalid(
            Text(
                "The {what} of an image is a text of 1 to {longest} characters in one line.", what=what, longest=LONGEST
            )
        )
    return found
