"""`Strict`: the OpenStack of `fake` whose Heat looks names up as the real one does, and makes what templates say."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from tests.plugins.openstack.fake import Fake, Reply

#: Properties whose value is a name or id, as Heat's resource types have it: where that is listed, and what Heat says.
_NAMED = {
    "OS::Nova::Server": {
        "flavor": ("nova", "/flavors/detail", "The Flavor ID ({}) could not be found."),
        "image": ("glance", "/images", "The Image ({}) could not be found."),
        "key_name": ("nova", "/os-keypairs", "The Key ({}) could not be found."),
    },
    "OS::Neutron::Subnet": {"network": ("neutron", "/networks", "Unable to find network with name or id '{}'")},
    "OS::Neutron::Port": {"network": ("neutron", "/networks", "Unable to find network with name or id '{}'")},
    "OS::Neutron::RouterInterface": {"router": ("neutron", "/routers", "Unable to find router with name or id '{}'")},
    "OS::Neutron::FloatingIP": {
        "floating_network": ("neutron", "/networks", "Unable to find network with name or id '{}'")
    },
}
_NETWORK = _NAMED["OS::Neutron::Port"]["network"]
#: Properties that Heat changes in place; others make it replace the resource (its reference of resource types).
_IN_PLACE = {
    "OS::Nova::Server": {"name", "flavor", "metadata", "networks"},
    "OS::Neutron::Net": {"name"},
    "OS::Neutron::Subnet": {"name", "dns_nameservers"},
    "OS::Neutron::Port": {"name"},
}
_LISTS: dict[str, dict[str, Any]] = {
    "nova": {
        "/flavors/detail": {"flavors": [
            {"id": "7", "name": "gp1.small", "vcpus": 1, "ram": 1024, "disk": 0},
            {"id": "8", "name": "gp1.large", "vcpus": 4, "ram": 8192, "disk": 40},
        ]},
        "/os-keypairs": {"keypairs": [
            {"keypair": {"name": "ops", "public_key": "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQ ops"}},
            {"keypair": {"name": "win", "type": "x509", "public_key": "-----BEGIN CERTIFICATE-----"}},
        ]},
        "/os-availability-zone": {"availabilityZoneInfo": [{"zoneName": "az-1", "zoneState": {"available": True}}]},
    },
    "glance": {"/images": {"images": [
        {"id": "a1f0c7f0-0000-4000-8000-000000000001", "name": "ubuntu-24", "status": "active", "min_disk": 8},
    ]}},
    "neutron": {
        "/networks": {"networks": [
            {"id": "a1f0c7f0-0000-4000-8000-000000000002", "name": "corp", "tenant_id": "p1", "router:external": False},
            {"id": "a1f0c7f0-0000-4000-8000-000000000003", "name": "internet", "tenant_id": "x",
             "router:external": True},
        ]},
        "/subnets": {"subnets": [
            {"id": "a1f0c7f0-0000-4000-8000-000000000004", "name": "", "cidr": "10.9.0.0/24", "ip_version": 4,
             "network_id": "a1f0c7f0-0000-4000-8000-000000000002", "gateway_ip": "10.9.0.1"},
        ]},
        "/routers": {"routers": [
            {"id": "a1f0c7f0-0000-4000-8000-000000000005", "name": "edge", "tenant_id": "p1",
             "external_gateway_info": {"network_id": "a1f0c7f0-0000-4000-8000-000000000003"}},
        ]},
        "/ports": {"ports": []},
        "/security-groups": {"security_groups": [{"id": "g1", "name": "default", "security_group_rules": []}]},
        "/extensions": {"extensions": [{"alias": "security-group"}]},
    },
}  # fmt: skip


class Strict(Fake):
    """Its services have what `_LISTS` says, and what its stacks have made."""

    def __init__(self) -> None:
        super().__init__("compute", "network", "image")
        self.lists = {
            service: {path: {key: list(rows) for key, rows in found.items()} for path, found in lists.items()}
            for service, lists in _LISTS.items()
        }
        #: What was done, in order: {name of a resource: (what, names of properties)} for each operation on a stack.
        self.done: list[dict[str, tuple[str, tuple[str, ...]]]] = []

    def heat(self, method: str, path: list[str], query: dict[str, list[str]], body: Any) -> Reply:
        if method in ("POST", "PUT") and path[0] == "stacks":
            reason = next(self._objections(body), None)
            if reason is not None:
                return 400, {"error": {"message": reason}}
        return super().heat(method, path, query, body)

    def _objections(self, body: Any) -> Iterator[str]:
        for name, one in body["template"].get("resources", {}).items():
            given = _resolved(one.get("properties") or {}, body)
            named = [(key, given.get(key), where) for key, where in _NAMED.get(one["type"], {}).items()]
            if one["type"] == "OS::Nova::Server":
                named += [("networks.network", item.get("network"), _NETWORK) for item in given.get("networks") or ()]
            for key, value, (service, path, said) in named:
                if isinstance(value, str) and not self._has(service, path, value):
                    yield (
                        f"Property error: : resources.{name}.properties.{key}: : Error validating value '{value}': "
                        + said.format(value)
                    )

    def _has(self, service: str, path: str, value: str) -> bool:
        (rows,) = self.lists[service][path].values()
        return any(value in (row.get("id"), row.get("name"), row.get("keypair", {}).get("name")) for row in rows)

    def _take(self, row: dict[str, Any], body: Any) -> None:
        before = {} if "body" not in row else _wanted(row["body"])
        after = _wanted(body)
        super()._take(row, body)
        did: dict[str, tuple[str, tuple[str, ...]]] = {}
        ids = {one["resource_name"]: one["physical_resource_id"] for one in row["resources"]}
        for name in {*before, *after}:
            if name not in after:
                did[name] = ("deleted", ())
            elif name not in before:
                did[name] = ("created", ())
            elif before[name] != after[name]:
                (kind, old), (_, new) = before[name], after[name]
                same = before[name][0] == after[name][0]
                changed = {key for key in {*old, *new} if same and old.get(key) != new.get(key)}
                allowed = same and changed <= _IN_PLACE.get(kind, changed)
                did[name] = ("changed" if allowed else "replaced", tuple(sorted(changed)))
        for name, (what, _) in did.items():
            if what != "changed":
                self._forget(ids.pop(name, ""))
            if what in ("created", "replaced"):
                ids[name] = str(uuid.uuid4())
        for name, id in ids.items():
            self._show(id, name, *after[name])
        row["resources"] = [
            {"resource_name": name, "physical_resource_id": id, "resource_type": after[name][0],
             "resource_status": "CREATE_COMPLETE"}
            for name, id in ids.items()
        ]  # fmt: skip
        self.done.append(did)

    def _show(self, id: str, name: str, kind: str, given: Mapping[str, Any]) -> None:
        called = given.get("name") or f"{name}-{id[:8]}"
        self._forget(id)
        if kind == "OS::Nova::Server":
            self.servers[id] = {"id": id, "name": called, "status": "ACTIVE"}
        elif kind == "OS::Neutron::Net":
            made = {"id": id, "name": called, "tenant_id": "p1", "router:external": False}
            self.lists["neutron"]["/networks"]["networks"].append(made)

    def _forget(self, id: str) -> None:
        self.servers.pop(id, None)
        networks = self.lists["neutron"]["/networks"]["networks"]
        networks[:] = [row for row in networks if row["id"] != id]


def _wanted(body: Any) -> dict[str, tuple[str, Any]]:
    return {
        name: (one["type"], _resolved(one.get("properties") or {}, body))
        for name, one in body["template"].get("resources", {}).items()
    }


def _resolved(value: Any, body: Any) -> Any:
    """With parameters put in; references to resources stay as they are."""
    if isinstance(value, list):
        return [_resolved(item, body) for item in value]
    if isinstance(value, dict):
        if set(value) == {"get_param"}:
            return body["parameters"][value["get_param"]]
        return {key: _resolved(item, body) for key, item in value.items()}
    return value
