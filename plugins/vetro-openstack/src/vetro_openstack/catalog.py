"""What an OpenStack offers to choose from: images, flavors, key pairs, zones, networks, groups, volumes; marks of
images."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from vetro.clouds.interface import Catalog, CloudError, Conflict, NotFound
from vetro_openstack.link import Link

Record = dict[str, Any]


class QueryUnknown(CloudError):
    """A question to a cloud that there is not, or without what it needs."""

    kind = "bad-argument"
    code = "CLD305"


def listed(link: Link, what: Catalog) -> Sequence[Mapping[str, Any]]:
    """See `vetro.clouds.interface.Cloud.catalog`. Raises `NotAvailable` where the cloud has no such service."""
    if what not in _LISTS:
        raise QueryUnknown(f"there is no catalog of '{what}'; there are {', '.join(_LISTS)}")
    service, path, key = _LISTS[what]
    if what == "keypairs":
        rows = (link.get(service, path) or {}).get(key) or []
        return [_keypair(row) for row in rows]
    if what == "zones":
        rows = (link.get(service, path) or {}).get(key) or []
        return [{**row, "id": row["zoneName"], "name": row["zoneName"]} for row in rows]
    more = {"status": "active"} if what == "images" else {}
    rows = list(link.pages(service, path, key, **more))
    return [_image(row) for row in rows] if what == "images" else rows


_LISTS: Mapping[Catalog, tuple[str, str, str]] = {
    "images": ("image", "/images", "images"),
    "flavors": ("compute", "/flavors/detail", "flavors"),
    "keypairs": ("compute", "/os-keypairs", "keypairs"),
    "zones": ("compute", "/os-availability-zone", "availabilityZoneInfo"),
    "networks": ("network", "/networks", "networks"),
    "subnets": ("network", "/subnets", "subnets"),
    "security_groups": ("network", "/security-groups", "security_groups"),
    "volumes": ("block_storage", "/volumes/detail", "volumes"),
    "snapshots": ("block_storage", "/snapshots/detail", "snapshots"),
    "backups": ("block_storage", "/backups/detail", "backups"),
}


def _keypair(row: Record) -> Record:
    found = dict(row.get("keypair") or row)
    found.pop("private_key", None)
    return {**found, "id": found.get("id") or found.get("name")}


def _image(row: Record) -> Record:
    """Properties of images are keys beside the rest; what Murano's say is JSON in one of them."""
    found = dict(row)
    text = found.get(_MARK)
    if isinstance(text, str):
        try:
            found[_MARK] = json.loads(text)
        except ValueError:
            found[_MARK] = None  # somebody's mistake; the image can be chosen by its name
    return found


_MARK = "murano_image_info"
_PATCH = "application/openstack-images-v2.1-json-patch"


def mark_image(link: Link, image: str, mark: Mapping[str, str] | None) -> Record:
    """See `vetro.clouds.interface.Cloud.mark_image`."""
    path = f"/images/{quote(image, safe='')}"
    found = link.get("image", path) if image else None
    if found is None:
        raise NotFound(f"there is no image with the id '{image}'")
    text = None
    # Glance adds no property that there is, and removes none that there is not.
    change: Record = {"op": "remove", "path": f"/{_MARK}"}
    if mark is not None:
        text = json.dumps({"title": mark["title"], "type": mark["type"]}, ensure_ascii=False)
        change = {"op": "replace" if _MARK in found else "add", "path": f"/{_MARK}", "value": text}
    if found.get(_MARK) != text:
        try:
            found = link.request("image", "PATCH", path, json=[change], kind=_PATCH)
        except Conflict:
            found = link.get("image", path)
            # Done, if only the answer was lost.
            if found is not None and found.get(_MARK) != text:
                raise
        if found is None:
            raise NotFound(f"there is no image with the id '{image}'")
    return _image(found)


def metadef(link: Link, query: str, args: Mapping[str, Any]) -> list[Record]:
    """Answers the effect ``metadef``: metadata definitions of Glance."""
    if query == "namespaces":
        return list(
            _chained(
                link,
                "/metadefs/namespaces",
                "namespaces",
                resource_types=text_argument(args, "resource_type", "a name"),
            )
        )
    if query == "objects":
        name = text_argument(args, "namespace", "a name")
        return list(_chained(link, f"/metadefs/namespaces/{name}/objects", "objects"))
    raise QueryUnknown(f"there is no query '{query}' of metadata definitions; there are namespaces, objects")


def _chained(link: Link, path: str, key: str, **params: Any) -> list[Record]:
    """Glance gives the path of the next page with each one."""
    found: list[Record] = []
    answer = link.get("image", path, **params)
    while answer:
        rows = answer.get(key) or []
        found += rows
        following = answer.get("next")
        if not isinstance(following, str) or not following.startswith("/") or not rows:
            break
        answer = link.get("image", following.removeprefix("/v2"))
    return found


def text_argument(args: Mapping[str, Any], name: str, what: str) -> str:
    """The argument of a query that must be there. Raises `QueryUnknown`, which says ``what`` it is."""
    value = args.get(name)
    if not isinstance(value, str) or not value or "/" in value:
        raise QueryUnknown(f"the query needs '{name}', {what}")
    return value
