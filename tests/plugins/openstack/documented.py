"""What Nova, Neutron, Glance and Cinder may be asked, as openstacksdk's descriptions of their resources have it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from openstack.block_storage.v3 import backup, snapshot, volume
from openstack.block_storage.v3 import limits as cinder_limits
from openstack.compute.v2 import availability_zone, flavor, keypair, server, server_diagnostics, volume_attachment
from openstack.compute.v2 import limits as nova_limits
from openstack.image.v2 import image, metadef_namespace, metadef_object
from openstack.network.v2 import extension, network, port, quota, router, security_group, subnet

_RESOURCES: Mapping[str, tuple[Any, ...]] = {
    "nova": (flavor.Flavor, keypair.Keypair, availability_zone.AvailabilityZone, server.Server, nova_limits.Limits,
             volume_attachment.VolumeAttachment, server_diagnostics.ServerDiagnostics),
    "neutron": (
        network.Network, subnet.Subnet, port.Port, router.Router, security_group.SecurityGroup, extension.Extension,
        quota.QuotaDetails,
    ),
    "glance": (image.Image, metadef_namespace.MetadefNamespace, metadef_object.MetadefObject),
    "cinder": (volume.Volume, snapshot.Snapshot, backup.Backup, cinder_limits.Limits),
}  # fmt: skip
#: Lists that have the whole records at another address, as the API references say.
_DETAILED = frozenset({"/flavors", "/servers", "/volumes", "/snapshots", "/backups"})


def objection(service: str, method: str, path: str, query: Collection[str], body: Any) -> str:
    """Why a real service would not understand a request, '' if it would; ``path`` is without the version."""
    for resource in _RESOURCES[service]:
        base = re.sub(r"%\(\w+\)s", "[^/]+", resource.base_path)
        if re.fullmatch(f"{base}(\\.json)?" + ("(/detail)?" if resource.base_path in _DETAILED else ""), path):
            return _list_objection(resource, method, query, body)
        if re.fullmatch(f"{base}/[^/]+", path):
            return "" if method == "GET" or _allowed(resource, method) else f"{method} of one is not described"
        if resource in (server.Server, volume.Volume) and re.fullmatch(f"{base}/[^/]+/action", path):
            return "" if method == "POST" and len(body) == 1 else "an action is one key of a POST"
    return f"{service} has no {path}"


def _allowed(resource: Any, method: str) -> bool:
    commits = resource.allow_patch or resource.allow_commit
    return bool({"PUT": commits, "PATCH": commits, "DELETE": resource.allow_delete}.get(method))


def _list_objection(resource: Any, method: str, query: Collection[str], body: Any) -> str:
    if method == "GET":
        described = resource._query_mapping._mapping.values()
        known = {item if isinstance(item, str) else item["name"] for item in described}
        strange = sorted(set(query) - known)
        return f"no filters are {strange}" if strange else ""
    if method != "POST" or not resource.allow_create:
        return f"{method} is not described"
    # With those that resources inherit: their names.
    described = {key: item for base in reversed(resource.__mro__) for key, item in vars(base).items()}
    mapping = {key: item for key, item in described.items() if hasattr(item, "name") and hasattr(item, "type")}
    known = {item.name for item in mapping.values()}
    given = body.get(resource.resource_key) if isinstance(body, dict) else None
    if not isinstance(given, dict):
        return f"the body must be {{{resource.resource_key}: ...}}"
    strange = sorted(set(given) - known)
    return f"a {resource.resource_key} has no {strange}" if strange else ""
