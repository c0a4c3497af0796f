"""Ports of servers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from vetro.clouds.drivers import values
from vetro.clouds.interface import Conflict
from vetro.clouds.stacks.addresses import mac_of
from vetro.clouds.stacks.specs import changed_server
from vetro.clouds.stacks.state.inventory import Inventory, Record, fixed_id
from vetro.clouds.stacks.types.base import Call, Prop, PropertyInvalid, ResourceType, refuse_shared
from vetro.clouds.stacks.types.security import default_group


def make_port(
    call: Call,
    id: str,
    network: Record,
    *,
    name: str,
    fixed: list[dict[str, Any]] | None = None,
    groups: list[str] | None = None,
    security: bool = True,
    pairs: list[dict[str, Any]] | None = None,
    mac: str | None = None,
    device: str = "",
) -> Record:
    """Makes a port with addresses; the same id again gives the port that is there. Call it in a transaction."""
    there = call.things.find("port", id)
    if there is not None:
        return there
    refuse_shared(call.things, ("network", network["id"]))
    subnets = call.things.all("subnet", parent=network["id"])
    if not subnets:
        raise Conflict(f"the network '{network['name']}' has no subnet, so a port on it gets no address")
    addresses = []
    for wanted in fixed or [{}]:
        ref = wanted.get("subnet") or wanted.get("subnet_id")
        subnet = call.things.get("subnet", ref) if ref else _holding(subnets, wanted.get("ip_address"))
        if subnet["network_id"] != network["id"]:
            raise Conflict(f"the subnet '{subnet['name']}' is not in the network '{network['name']}'")
        address = call.services.addresses.take(subnet, id, call.owner, wanted.get("ip_address"))
        addresses.append({"subnet_id": subnet["id"], "ip_address": address})
    record = {
        "id": id,
        "name": name,
        "tenant_id": call.owner.project,
        "project_id": call.owner.project,
        "network_id": network["id"],
        "device_id": device,
        "device_owner": "compute:nova" if device else "",
        "fixed_ips": addresses,
        "mac_address": values.Mac(mac or mac_of(id)),
        "security_groups": group_ids(call, groups) if security else [],
        "allowed_address_pairs": pairs or [],
        "port_security_enabled": security,
        "admin_state_up": True,
        "status": "ACTIVE" if device else "DOWN",
    }
    save_port(call.things, record, call.owner.environment)
    return record


def _holding(subnets: list[Record], address: str | None) -> Record:
    for subnet in subnets:
        if address is None or values.address(address) in values.network(subnet["cidr"]):
            return subnet
    raise Conflict(f"no subnet of the network holds the address {address}")


def group_ids(call: Call, groups: list[str] | None) -> list[str]:
    """Ids of security groups by name or id; without any the project's default group."""
    if not groups:
        return [default_group(call)["id"]] if groups is None else []
    return [call.things.get("security_group", group)["id"] for group in groups]


def save_port(things: Inventory, record: Record, environment: str = "") -> None:
    """Stores a port with its places in the network and at its device."""
    things.save("port", record, environment=environment, parent=record["network_id"], holder=record["device_id"])


def drop_port(call: Call, port: str) -> None:
    """Removes a port and gives its addresses back. Call it in a transaction."""
    for floating in call.things.all("floatingip", holder=port):
        floating.update(port_id=None, fixed_ip_address=None, status="DOWN")
        call.things.save("floatingip", floating)
    call.services.addresses.release(port)
    call.things.delete(port)


_IPS = {
    "subnet": Prop(constraint="neutron.subnet"),
    "subnet_id": Prop(constraint="neutron.subnet"),
    "ip_address": Prop(parse=values.address),
}


class Port(ResourceType):
    """OS::Neutron::Port."""

    plain = True

    properties: Mapping[str, Prop] = {
        "network": Prop(constraint="neutron.network"),
        "network_id": Prop(constraint="neutron.network"),
        "name": Prop(update=True, parse=values.Name),
        "fixed_ips": Prop("list", fields=_IPS),
        "security_groups": Prop("list", update=True, items="string"),
        "replacement_policy": Prop(update=True, allowed=("AUTO", "REPLACE_ALWAYS")),
        "port_security_enabled": Prop("boolean", update=True),
        "allowed_address_pairs": Prop(
            "list",
            update=True,
            fields={
                "ip_address": Prop(required=True, parse=values.network),
                "mac_address": Prop(parse=values.Mac),
            },
        ),
        "mac_address": Prop(parse=values.Mac),
        "admin_state_up": Prop("boolean", default=True, update=True),
        "device_id": Prop(update=True, parse=values.Name),
        "device_owner": Prop(update=True, parse=values.Name),
        "value_specs": Prop("map", update=True),
        "binding:vnic_type": Prop(update=True),
        "qos_policy": Prop(update=True),
        "dns_name": Prop(update=True, parse=values.Name),
        "tags": Prop("list", update=True),
        "propagate_uplink_status": Prop("boolean"),
        "no_fixed_ips": Prop("boolean"),
    }
    attributes = (
        "id",
        "name",
        "fixed_ips",
        "mac_address",
        "network_id",
        "status",
        "device_id",
        "device_owner",
        "security_groups",
        "allowed_address_pairs",
        "port_security_enabled",
        "tenant_id",
        "admin_state_up",
        "subnets",
    )
    record = "port"

    def check(self, props: Mapping[str, Any], things: Inventory, known: Collection[str]) -> None:
        """A network is named, if only by a subnet."""
        names = {"network", "network_id", "fixed_ips"}
        if not names & (props.keys() | (names - set(known))):
            raise PropertyInvalid("the property 'network' of OS::Neutron::Port is required")
        refuse_shared(things, ("network", props.get("network") or props.get("network_id")))
        for ip in props.get("fixed_ips") or ():
            refuse_shared(things, ("subnet", ip.get("subnet") or ip.get("subnet_id")))

    def create(self, call: Call) -> None:
        """Addresses are taken at once."""
        props = call.props
        ref = props.get("network") or props.get("network_id")
        if not ref:
            first = props["fixed_ips"][0] if props.get("fixed_ips") else {}
            ref = call.things.get("subnet", first.get("subnet") or first.get("subnet_id") or "")["network_id"]
        network = call.things.get("network", ref)
        with call.services.database.transaction():
            make_port(
                call,
                call.id,
                network,
                name=props.get("name") or call.physical_name,
                fixed=props.get("fixed_ips"),
                groups=props.get("security_groups"),
                security=bool(props.get("port_security_enabled", network.get("port_security_enabled", True))),
                pairs=props.get("allowed_address_pairs"),
                mac=props.get("mac_address"),
            )

    def update(self, call: Call, old: Mapping[str, Any]) -> None:
        """Name, groups, pairs and security; a server on the port gets them while it runs."""
        props = call.props
        with call.services.database.transaction():
            record = call.things.get("port", call.id)
            record["name"] = props.get("name") or call.physical_name
            record["port_security_enabled"] = props.get("port_security_enabled", True)
            secure = record["port_security_enabled"]
            record["security_groups"] = group_ids(call, props.get("security_groups")) if secure else []
            record["allowed_address_pairs"] = props.get("allowed_address_pairs") or []
            save_port(call.things, record)
        if record["device_id"]:
            changed_server(call.services, call.things, record["device_id"])

    def retire(self, call: Call) -> None:
        """Gives its addresses back, so that the next port can have them."""
        call.services.addresses.release(call.id)

    def delete(self, call: Call) -> None:
        """A server on it loses the interface."""
        record = call.things.find("port", call.id)
        if record is None:
            return
        server = call.things.find("server", record["device_id"]) if record["device_id"] else None
        with call.services.database.transaction():
            if server is not None and call.id in server["ports"]:
                server["ports"].remove(call.id)
                call.things.save("server", server)
            drop_port(call, call.id)
        if server is not None:
            changed_server(call.services, call.things, server["id"])

    def value(self, call: Call, name: str) -> Any:
        """``subnets`` are the records behind the addresses."""
        record = call.things.find("port", call.id) or {}
        if name == "subnets":
            return [call.things.find("subnet", ip["subnet_id"]) for ip in record.get("fixed_ips", ())]
        return record.get(name)


def auto_port_id(server: str, place: int) -> str:
    """Id of the port that a server gets by itself."""
    return fixed_id("port", server, str(place))
