"""Floating addresses, and what gives them to servers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from vetro.clouds.drivers import values
from vetro.clouds.interface import Conflict
from vetro.clouds.stacks.specs import changed_server, need_network
from vetro.clouds.stacks.state.inventory import Inventory, Record, fixed_id
from vetro.clouds.stacks.types.base import Call, Prop, PropertyInvalid, ResourceType


class FloatingIP(ResourceType):
    """OS::Neutron::FloatingIP, and OS::Nova::FloatingIP with a pool: an address of the external network."""

    properties: Mapping[str, Prop] = {
        "floating_network": Prop(constraint="neutron.network"),
        "floating_network_id": Prop(constraint="neutron.network"),
        "floating_subnet": Prop(constraint="neutron.subnet"),
        "port_id": Prop(update=True),
        "fixed_ip_address": Prop(update=True, parse=values.address),
        "floating_ip_address": Prop(parse=values.address),
        "dns_name": Prop(update=True, parse=values.Name),
        "dns_domain": Prop(update=True, parse=values.Name),
        "value_specs": Prop("map"),
        "pool": Prop(),
    }
    attributes: Collection[str] = (
        "id",
        "floating_ip_address",
        "floating_network_id",
        "fixed_ip_address",
        "port_id",
        "router_id",
        "status",
        "tenant_id",
    )
    record = "floatingip"

    def check(self, props: Mapping[str, Any], things: Inventory, known: Collection[str]) -> None:
        """The network is an external one."""
        ref = props.get("floating_network") or props.get("floating_network_id") or props.get("pool")
        if ref:
            _check_external(things.get("network", ref))

    def create(self, call: Call) -> None:
        """Takes an address of the pool."""
        ref = call.props.get("floating_network") or call.props.get("floating_network_id") or call.props.get("pool")
        network = call.things.get("network", ref or call.services.settings.external_network)
        _check_external(network)
        need_network(call.services, call.things, network["id"])
        with call.services.database.transaction():
            # All regions hand out addresses of one pool.
            home = fixed_id("subnet", "", call.services.settings.external_network)
            subnet = {**call.things.all("subnet", parent=network["id"])[0], "id": home}
            record = {
                "id": call.id,
                "name": "",
                "tenant_id": call.owner.project,
                "project_id": call.owner.project,
                "floating_network_id": network["id"],
                "floating_ip_address": call.services.addresses.take(
                    subnet, call.id, call.owner, call.props.get("floating_ip_address")
                )
                if (there := call.things.find("floatingip", call.id)) is None
                else there["floating_ip_address"],
                "router_id": None,
            }
            join_floating(call, record, call.props.get("port_id"))
        wake(call, record["port_id"])

    def update(self, call: Call, old: Mapping[str, Any]) -> None:
        """Moves the address to another port."""
        with call.services.database.transaction():
            record = call.things.get("floatingip", call.id)
            before = record.get("port_id")
            join_floating(call, record, call.props.get("port_id"))
        for port in {before, record["port_id"]}:
            wake(call, port)

    def delete(self, call: Call) -> None:
        """The address goes back to the pool."""
        record = call.things.find("floatingip", call.id)
        with call.services.database.transaction():
            call.services.addresses.release(call.id)
            call.things.delete(call.id)
        if record is not None:
            wake(call, record.get("port_id"))


def _check_external(network: Record) -> None:
    """A tenant's own network is no pool: its addresses are whatever the tenant wrote."""
    if not network.get("router:external"):
        raise PropertyInvalid(f"floating_network: the network '{network['name']}' is not external")


def join_floating(call: Call, record: Record, port: str | None) -> None:
    """Gives a floating address to a port (id), or takes it away with null. Call it in a transaction."""
    fixed = call.things.get("port", port)["fixed_ips"] if port else []
    record["port_id"] = port or None
    record["fixed_ip_address"] = fixed[0]["ip_address"] if fixed else None
    record["status"] = "ACTIVE" if port else "DOWN"
    call.things.save("floatingip", record, environment=call.owner.environment, holder=port or "")


def wake(call: Call, port: str | None) -> None:
    """The addresses at a port changed: its server gets them, and its attributes are read again."""
    record = call.things.find("port", port) if port else None
    if record is not None and record["device_id"]:
        call.touched.add(record["device_id"])
        changed_server(call.services, call.things, record["device_id"])


class FloatingIPAssociation(ResourceType):
    """OS::Neutron::FloatingIPAssociation."""

    properties: Mapping[str, Prop] = {
        "floatingip_id": Prop(required=True, update=True),
        "port_id": Prop(required=True, update=True),
        "fixed_ip_address": Prop(update=True, parse=values.address),
    }
    attributes = ("id",)

    def create(self, call: Call) -> None:
        """Gives the address to the port."""
        with call.services.database.transaction():
            record = call.things.get("floatingip", call.props["floatingip_id"])
            before = record.get("port_id")
            join_floating(call, record, self.port(call))
        for port in {before, record["port_id"]}:
            wake(call, port)

    def update(self, call: Call, old: Mapping[str, Any]) -> None:
        """Takes the old address away and gives the new one."""
        if old.get("floatingip_id") != call.props["floatingip_id"]:
            self.leave(call, old.get("floatingip_id"))
        self.create(call)

    def delete(self, call: Call) -> None:
        """Takes the address away; it stays."""
        self.leave(call, call.props.get("floatingip_id") or call.props.get("floating_ip"))

    def leave(self, call: Call, ref: str | None) -> None:
        """Takes a floating address (by id) from its port."""
        record = call.things.find("floatingip", ref) if ref else None
        if record is None:
            return
        before = record.get("port_id")
        with call.services.database.transaction():
            join_floating(call, record, None)
        wake(call, before)

    def port(self, call: Call) -> str:
        """Id of the port that gets the address."""
        return str(call.props["port_id"])

    def value(self, call: Call, name: str) -> Any:
        """The id."""
        return call.id


class NovaFloatingIP(FloatingIP):
    """OS::Nova::FloatingIP."""

    properties: Mapping[str, Prop] = {"pool": Prop()}
    attributes = ("id", "ip", "pool")

    def value(self, call: Call, name: str) -> Any:
        """``ip`` and ``pool``."""
        record = call.things.find("floatingip", call.id) or {}
        network = record.get("floating_network_id")
        return {"id": call.id, "ip": record.get("floating_ip_address"), "pool": network}[name]


class NovaFloatingIPAssociation(FloatingIPAssociation):
    """OS::Nova::FloatingIPAssociation: the first port of a server gets the address."""

    properties: Mapping[str, Prop] = {
        "floating_ip": Prop(required=True, update=True),
        "server_id": Prop(required=True, update=True),
    }

    def create(self, call: Call) -> None:
        """Gives the address to the server."""
        call.props["floatingip_id"] = call.props["floating_ip"]
        super().create(call)
        del call.props["floatingip_id"]

    def update(self, call: Call, old: Mapping[str, Any]) -> None:
        """Takes the old address away and gives the new one."""
        if old.get("floating_ip") != call.props["floating_ip"]:
            self.leave(call, old.get("floating_ip"))
        self.create(call)

    def port(self, call: Call) -> str:
        """The first port of the server."""
        server = call.things.get("server", call.props["server_id"])
        if not server["ports"]:
            raise Conflict(f"the server '{server['name']}' has no interface for a floating address")
        return str(server["ports"][0])
