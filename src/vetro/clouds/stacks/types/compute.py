"""Server groups and key pairs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from vetro.clouds.drivers import values
from vetro.clouds.interface import Conflict
from vetro.clouds.stacks.key_pairs import fingerprint, make_key
from vetro.clouds.stacks.state.inventory import Inventory, Record
from vetro.clouds.stacks.types.base import Call, Prop, PropertyInvalid, ResourceType


class ServerGroup(ResourceType):
    """OS::Nova::ServerGroup. On one machine policies have no effect; they are kept and shown."""

    plain = True

    properties: Mapping[str, Prop] = {
        "name": Prop(parse=values.Name),
        "policies": Prop("list", default=["anti-affinity"], items="string"),
        "rules": Prop("map"),
    }
    attributes = ("id", "name", "policies", "members")
    record = "server_group"

    def check(self, props: Mapping[str, Any], things: Inventory, known: Collection[str]) -> None:
        """Policies are known ones."""
        for policy in props.get("policies") or ():
            if policy not in ("anti-affinity", "affinity", "soft-anti-affinity", "soft-affinity"):
                raise PropertyInvalid(f"policies: {values.short(policy)} is no policy of server groups")

    def create(self, call: Call) -> None:
        """The record."""
        name = call.props.get("name") or call.physical_name
        record: Record = {"id": call.id, "name": name, "members": []}
        record["policies"] = call.props["policies"]
        call.things.save("server_group", record, environment=call.owner.environment)


class KeyPair(ResourceType):
    """OS::Nova::KeyPair: a given public key, or a new pair."""

    plain = True

    properties: Mapping[str, Prop] = {
        "name": Prop(required=True, parse=values.Name),
        "public_key": Prop(parse=values.PublicKey),
        "save_private_key": Prop("boolean", default=False),
        "type": Prop(),
        "user": Prop(),
    }
    attributes = ("public_key", "private_key", "name")
    record = "keypair"

    def create(self, call: Call) -> None:
        """Raises `Conflict` when the project has a pair of that name."""
        there = call.things.find("keypair", call.props["name"])
        if there is not None and there["id"] != call.id:
            raise Conflict(f"there is a key pair '{call.props['name']}' already")
        given = call.props.get("public_key")
        public = str(values.PublicKey(given)) if given else ""
        private = ""
        if not public:
            public, private = make_key(call.props["name"])
        record = {
            "id": call.id,
            "name": call.props["name"],
            "public_key": public,
            "fingerprint": fingerprint(public),
            "private_key": private if call.props["save_private_key"] else "",
        }
        call.things.save("keypair", record, environment=call.owner.environment)

    def reference(self, call: Call) -> Any:
        """The name."""
        return call.props["name"]
