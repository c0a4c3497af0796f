"""Networks, subnets, routers and what joins them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from vetro.clouds.drivers import values
from vetro.clouds.interface import Conflict
from vetro.clouds.stacks.address_plan import Plan
from vetro.clouds.stacks.addresses import pools_of
from vetro.clouds.stacks.default_networks import ROUTER_INTERFACE, interface_record, router_record
from vetro.clouds.stacks.specs import sync_network
from vetro.clouds.stacks.state.inventory import Inventory, Record, fixed_id
from vetro.clouds.stacks.types.base import Call, Prop, PropertyInvalid, ResourceType, refuse_shared


class Net(ResourceType):
    """OS::Neutron::Net."""

    plain = True

    properties: Mapping[str, Prop] = {
        "name": Prop(update=True, parse=values.Name),
        "admin_state_up": Prop("boolean", default=True, update=True),
        "shared": Prop("boolean", default=False, update=True),
        "port_security_enabled": Prop("boolean", default=True, update=True),
        "dhcp_agent_ids": Prop("list", update=True),
        "value_specs": Prop("map", update=True),
        "qos_policy": Prop(update=True),
        "dns_domain": Prop(update=True, parse=values.Name),
        "tags": Prop("list", update=True),
        "tenant_id": Prop(),
        "availability_zone_hints": Prop("list"),
    }
    attributes = ("id", "name", "subnets", "status", "tenant_id", "admin_state_up", "mtu", "port_security_enabled")
    record = "network"

    def create(self, call: Call) -> None:
        """The record; the bridge is made with the first subnet."""
        props = call.props
        call.things.save(
            "network",
            {
                "id": call.id,
                "name": props.get("name") or call.physical_name,
                "tenant_id": call.owner.project,
                "project_id": call.owner.project,
                "router:external": False,
                "shared": props["shared"],
                "admin_state_up": props["admin_state_up"],
                "status": "ACTIVE",
                "mtu": 1500,
                "subnets": [],
                "port_security_enabled": props["port_security_enabled"],
                "tags": props.get("tags") or [],
            },
            environment=call.owner.environment,
        )

    def update(self, call: Call, old: Mapping[str, Any]) -> None:
        """Name and flags."""
        record = call.things.get("network", call.id)
        for name in ("shared", "admin_state_up", "port_security_enabled"):
            record[name] = call.props[name]
        record["name"] = call.props.get("name") or call.physical_name
        call.things.save("network", record)

    def delete(self, call: Call) -> None:
        """Raises `Conflict` while ports are on it."""
        if ports := [port for port in call.things.all("port", parent=call.id) if port["device_id"]]:
            raise Conflict(f"the network {call.id} is in use by {ports[0]['device_owner']} {ports[0]['device_id']}")
        call.services.driver.delete_network(call.id)
        call.services.networks.pop(call.id, None)
        call.things.delete(call.id)

    def show(self, call: Call) -> Any:
        """With the ids of its subnets."""
        record = call.things.find("network", call.id)
        if record is not None:
            record["subnets"] = [subnet["id"] for subnet in call.things.all("subnet", parent=call.id)]
        return record


class Subnet(ResourceType):
    """OS::Neutron::Subnet."""

    properties: Mapping[str, Prop] = {
        "network": Prop(constraint="neutron.network"),
        "network_id": Prop(constraint="neutron.network"),
        "cidr": Prop(parse=values.subnet),
        "ip_version": Prop("integer", default=4, allowed=(4, 6)),
        "name": Prop(update=True, parse=values.Name),
        "gateway_ip": Prop(update=True, parse=values.address),
        "dns_nameservers": Prop("list", update=True, items="string", parse=values.address),
        "enable_dhcp": Prop("boolean", default=True, update=True),
        "allocation_pools": Prop(
            "list",
            update=True,
            fields={
                "start": Prop(required=True, parse=values.address),
                "end": Prop(required=True, parse=values.address),
            },
        ),
        "host_routes": Prop(
            "list",
            update=True,
            fields={
                "destination": Prop(required=True, parse=values.network),
                "nexthop": Prop(required=True, parse=values.address),
            },
        ),
        "subnetpool": Prop(),
        "prefixlen": Prop("integer"),
        "segment": Prop(update=True),
        "ipv6_ra_mode": Prop(),
        "ipv6_address_mode": Prop(),
        "value_specs": Prop("map", update=True),
        "tags": Prop("list", update=True),
        "tenant_id": Prop(),
    }
    attributes = (
        "id",
        "name",
        "cidr",
        "network_id",
        "gateway_ip",
        "allocation_pools",
        "dns_nameservers",
        "enable_dhcp",
        "host_routes",
        "ip_version",
        "tenant_id",
    )
    record = "subnet"

    def check(self, props: Mapping[str, Any], things: Inventory, known: Collection[str]) -> None:
        """Network and CIDR are there and fit."""
        if not {"network", "network_id"} & (props.keys() | (_GIVEN - set(known))):
            raise PropertyInvalid("the property 'network' of OS::Neutron::Subnet is required")
        refuse_shared(things, ("network", props.get("network") or props.get("network_id")))
        if "cidr" in props:
            net = values.network(props["cidr"])
            if net.version != props.get("ip_version", 4):
                raise PropertyInvalid(f"cidr {net} is not of the ip_version {props['ip_version']}")
            gateway = props.get("gateway_ip")
            if gateway and values.address(gateway) not in net:
                raise PropertyInvalid(f"gateway_ip {gateway} is not in {net}")
            for pool in props.get("allocation_pools") or ():
                if values.address(pool["start"]) not in net or values.address(pool["end"]) not in net:
                    raise PropertyInvalid(f"the allocation pool {pool['start']} to {pool['end']} is not in {net}")
        elif "cidr" in known:
            raise PropertyInvalid("the property 'cidr' of OS::Neutron::Subnet is required: there are no subnet pools")

    def create(self, call: Call) -> None:
        """The record, and the network anew with it."""
        network = call.things.get("network", call.props.get("network") or call.props["network_id"])
        refuse_shared(call.things, ("network", network["id"]))
        net = values.network(call.props["cidr"])
        for other in call.things.all("subnet", parent=network["id"]):
            if other["id"] != call.id and values.network(other["cidr"]).overlaps(net):
                raise Conflict(f"the subnet {net} overlaps {other['cidr']} of the same network")
        record = {
            "id": call.id,
            "tenant_id": call.owner.project,
            "project_id": call.owner.project,
            "network_id": network["id"],
            "cidr": str(net),
            "ip_version": net.version,
        }
        self._save(call, record)
        sync_network(call.services, call.things, network["id"])

    def update(self, call: Call, old: Mapping[str, Any]) -> None:
        """Everything but network and CIDR."""
        record = call.things.get("subnet", call.id)
        self._save(call, record)
        sync_network(call.services, call.things, record["network_id"])

    def _save(self, call: Call, record: Record) -> None:
        props, net = call.props, values.network(record["cidr"])
        gateway = props.get("gateway_ip")
        record["name"] = props.get("name") or call.physical_name
        record["gateway_ip"] = (
            (gateway or None) if gateway is not None else str(net[1]) if net.num_addresses > 2 else None
        )
        record["dns_nameservers"] = props.get("dns_nameservers") or []
        record["enable_dhcp"] = props["enable_dhcp"]
        record["host_routes"] = props.get("host_routes") or []
        record["allocation_pools"] = props.get("allocation_pools") or []
        record["allocation_pools"] = pools_of(record)
        call.things.save("subnet", record, environment=call.owner.environment, parent=record["network_id"])

    def delete(self, call: Call) -> None:
        """Raises `Conflict` while ports have addresses of it."""
        record = call.things.find("subnet", call.id)
        if record is None:
            return
        for port in call.things.all("port", parent=record["network_id"]):
            if port["device_id"] and any(ip["subnet_id"] == call.id for ip in port["fixed_ips"]):
                raise Conflict(f"the subnet {call.id} is in use by {port['device_owner']} {port['device_id']}")
        with call.services.database.transaction():
            call.things.delete(call.id)
            call.services.addresses.release(call.id)
            Plan(call.services.database, call.services.settings).release(call.id)
        sync_network(call.services, call.things, record["network_id"])


_GIVEN = {"network", "network_id"}


class Router(ResourceType):
    """OS::Neutron::Router."""

    properties: Mapping[str, Prop] = {
        "name": Prop(update=True, parse=values.Name),
        "external_gateway_info": Prop(
            "map",
            update=True,
            fields={
                "network": Prop(required=True, constraint="neutron.network"),
                "enable_snat": Prop("boolean"),
                "external_fixed_ips": Prop(
                    "list", fields={"ip_address": Prop(parse=values.address), "subnet": Prop(), "subnet_id": Prop()}
                ),
            },
        ),
        "admin_state_up": Prop("boolean", default=True, update=True),
        "l3_agent_id": Prop(update=True),
        "l3_agent_ids": Prop("list", update=True),
        "distributed": Prop("boolean"),
        "ha": Prop("boolean"),
        "value_specs": Prop("map", update=True),
        "tags": Prop("list", update=True),
        "availability_zone_hints": Prop("list"),
    }
    attributes = ("id", "name", "status", "external_gateway_info", "tenant_id", "admin_state_up")
    record = "router"

    def create(self, call: Call) -> None:
        """The record."""
        self._save(call)

    def update(self, call: Call, old: Mapping[str, Any]) -> None:
        """Name and gateway; networks behind it get or lose their way out."""
        self._save(call)
        for port in call.things.all("port", holder=call.id):
            sync_network(call.services, call.things, port["network_id"])

    def _save(self, call: Call) -> None:
        info = call.props.get("external_gateway_info")
        external = call.things.get("network", info["network"]) if info else None
        if external is not None and not external.get("router:external"):
            raise PropertyInvalid(f"external_gateway_info.network: the network '{external['name']}' is not external")
        record = router_record(
            call.id,
            call.props.get("name") or call.physical_name,
            external["id"] if external else None,
            call.owner.project,
        )
        call.things.save("router", record, environment=call.owner.environment)

    def delete(self, call: Call) -> None:
        """Raises `Conflict` while networks are joined to it."""
        if ports := call.things.all("port", holder=call.id):
            raise Conflict(f"the router {call.id} is in use by the network {ports[0]['network_id']}")
        call.things.delete(call.id)


class RouterInterface(ResourceType):
    """OS::Neutron::RouterInterface: joins a subnet to a router."""

    properties: Mapping[str, Prop] = {
        "router": Prop(constraint="neutron.router"),
        "router_id": Prop(constraint="neutron.router"),
        "subnet": Prop(constraint="neutron.subnet"),
        "subnet_id": Prop(constraint="neutron.subnet"),
        "port": Prop(constraint="neutron.port"),
        "port_id": Prop(constraint="neutron.port"),
    }
    attributes = ("id",)

    def check(self, props: Mapping[str, Any], things: Inventory, known: Collection[str]) -> None:
        """A router and a subnet."""
        for what in ("router", "subnet"):
            names = {what, f"{what}_id"} | ({"port", "port_id"} if what == "subnet" else set())
            if not names & (props.keys() | (_ALL_OF_INTERFACE - set(known))):
                raise PropertyInvalid(f"the property '{what}' of OS::Neutron::RouterInterface is required")
        refuse_shared(things, ("subnet", props.get("subnet") or props.get("subnet_id")))

    def create(self, call: Call) -> None:
        """A port with the gateway's address. Raises `Conflict` when the router has an overlapping subnet."""
        router = call.things.get("router", call.props.get("router") or call.props["router_id"])
        port_ref = call.props.get("port") or call.props.get("port_id")
        if port_ref:
            subnet_ref = call.things.get("port", port_ref)["fixed_ips"][0]["subnet_id"]
        else:
            subnet_ref = call.props.get("subnet") or call.props["subnet_id"]
        subnet = call.things.get("subnet", subnet_ref)
        refuse_shared(call.things, ("subnet", subnet["id"]))
        port = fixed_id("port", call.id)
        everything = call.services.things(call.region, None)
        for other in everything.all("port", holder=router["id"]):
            theirs = everything.get("subnet", other["fixed_ips"][0]["subnet_id"])
            same = port == other["id"] or theirs["id"] == subnet["id"]
            if not same and values.network(theirs["cidr"]).overlaps(values.network(subnet["cidr"])):
                raise Conflict(
                    f"the router {router['name']} has the subnet {theirs['cidr']}, which overlaps {subnet['cidr']}"
                )
        record = interface_record(port, router["id"], subnet, call.owner.project)
        call.things.save(
            "port", record, environment=call.owner.environment, parent=subnet["network_id"], holder=router["id"]
        )
        call.data.update(port=port, network=subnet["network_id"])
        sync_network(call.services, call.things, subnet["network_id"])

    def delete(self, call: Call) -> None:
        """The network loses its way to the router."""
        record = call.things.find("port", fixed_id("port", call.id))
        if record is not None and record["device_owner"] == ROUTER_INTERFACE:
            call.things.delete(record["id"])
            sync_network(call.services, call.things, record["network_id"])

    def value(self, call: Call, name: str) -> Any:
        """The id."""
        return call.id

    def show(self, call: Call) -> Any:
        """The record of its port."""
        return call.things.find("port", fixed_id("port", call.id))


_ALL_OF_INTERFACE = {"router", "router_id", "subnet", "subnet_id", "port", "port_id"}
