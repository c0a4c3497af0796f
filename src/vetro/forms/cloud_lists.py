"""Lists of a cloud as fields of UI definitions want them (`vetro.forms.dynamic.environment.Cloud`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from vetro.clouds.interface import Catalog, Owner

Record = Mapping[str, Any]


class Lists(Protocol):
    """The part of `vetro.clouds.interface.Cloud` that forms need."""

    def catalog(self, owner: Owner, region: str, what: Catalog) -> Sequence[Record]:
        """Records to choose from."""
        ...  # pragma: no cover - protocol

    def regions(self) -> Sequence[str]:
        """Names of the regions besides the home region."""
        ...  # pragma: no cover - protocol


def rows(cloud: Lists, owner: Owner, source: str, region: str | None) -> list[Any]:
    """The list ``source`` (a method of `vetro.forms.dynamic.environment.Cloud`), plain data; ``region`` None: the home
    region.

    Raises `KeyError` for a source that there is not, and what the cloud raises.
    """
    if source == "regions":
        return list(cloud.regions())
    return _SOURCES[source](lambda what: cloud.catalog(owner, region or "", what))


Read = Callable[[Catalog], Sequence[Record]]


def _flavors(read: Read) -> list[Any]:
    return [{name: item.get(name) for name in ("id", "name", "ram", "vcpus", "disk")} for item in read("flavors")]


def _images(read: Read) -> list[Any]:
    found = []
    for item in read("images"):
        more = item.get("properties") or item.get("metadata") or {}
        found.append(
            {
                "id": item["id"],
                "name": item.get("name"),
                "status": item.get("status", "active"),
                "murano": item.get("murano_image_info") or more.get("murano_image_info"),
                "image_type": item.get("image_type") or more.get("image_type"),
            }
        )
    return found


def _zones(read: Read) -> list[Any]:
    found = []
    for item in read("zones"):
        state = item.get("zoneState") or {}
        found.append({"name": item.get("name") or item.get("zoneName"), "available": state.get("available", True)})
    return found


def _networks(read: Read) -> list[Any]:
    subnets: dict[str, list[Record]] = {}
    for item in read("subnets"):
        row = {"id": item["id"], "name": item.get("name") or "", "cidr": item.get("cidr") or ""}
        subnets.setdefault(str(item.get("network_id")), []).append(row)
    return [
        {
            "id": item["id"],
            "name": item.get("name") or item["id"],
            "external": bool(item.get("router:external")),
            "subnets": subnets.get(str(item["id"]), []),
        }
        for item in read("networks")
    ]


def _named(what: Catalog) -> Callable[[Read], list[Any]]:
    return lambda read: [str(item["name"]) for item in read(what) if item.get("name")]


def _stored(what: Catalog) -> Callable[[Read], list[Any]]:
    return lambda read: [{name: item.get(name) for name in ("id", "name", "status")} for item in read(what)]


_SOURCES: Mapping[str, Callable[[Read], list[Any]]] = {
    "flavors": _flavors,
    "images": _images,
    "keypairs": _named("keypairs"),
    "availability_zones": _zones,
    "networks": _networks,
    "security_groups": _named("security_groups"),
    "volumes": _stored("volumes"),
    "snapshots": _stored("snapshots"),
    # The interface of clouds has no DNS.
    "zones": lambda read: [],
}
