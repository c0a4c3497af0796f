"""From records to what drivers get: networks with subnets and routers, interfaces with addresses, servers."""

from __future__ import annotations

from vetro.clouds.drivers.specs import GroupSpec, NetworkSpec, NicSpec, SecurityRule, ServerSpec, SubnetSpec, VolumeSpec
from vetro.clouds.drivers.values import DeviceName, Name, interface
from vetro.clouds.interface import Owner
from vetro.clouds.stacks.address_plan import Plan
from vetro.clouds.stacks.addresses import network_of
from vetro.clouds.stacks.default_networks import ROUTER_INTERFACE
from vetro.clouds.stacks.services import Services
from vetro.clouds.stacks.state.inventory import Inventory, Record, fixed_id


def network_spec(things: Inventory, network: Record) -> NetworkSpec:
    """A network with its subnets and the router it is joined to."""
    everything = Inventory(things.database, things.region, None)
    subnets, ports = (everything.all(kind, parent=network["id"]) for kind in ("subnet", "port"))
    if everything.common(network["id"]):
        # Earlier versions let tenants add to the pool of floating addresses; none of it counts.
        subnets, ports = [one for one in subnets if everything.common(one["id"])], []
    router = None
    for port in ports:
        if port["device_owner"] == ROUTER_INTERFACE:
            router = everything.find("router", port["device_id"])
            break
    return NetworkSpec(
        network["id"],
        network["name"],
        tuple(
            SubnetSpec(
                sub["id"],
                sub["cidr"],
                sub.get("gateway_ip"),
                tuple(sub.get("dns_nameservers") or ()),
                things.database.row("SELECT 1 FROM leases WHERE subnet = ?", (sub["id"],)) is not None,
            )
            for sub in subnets
        ),
        router["id"] if router else None,
        bool(router and router.get("external_gateway_info")),
        bool(network.get("router:external")),
        network["tenant_id"],
    )


def sync_network(services: Services, things: Inventory, network_id: str) -> None:
    """Tells the driver how a network is now. Raises `DriverError`."""
    with services.alone(network_id):
        network = Inventory(things.database, things.region, None).find("network", network_id)
        if network is None:
            return
        if not network.get("router:external"):
            with services.database.transaction():
                plan = Plan(services.database, services.settings)
                for subnet in Inventory(things.database, things.region, None).all("subnet", parent=network_id):
                    plan.lease(subnet, network["tenant_id"], services.driver.taken)
        spec = network_spec(things, network)
        if services.networks.get(network_id) != spec:
            services.driver.ensure_network(spec)
            services.networks[network_id] = spec


def need_network(services: Services, things: Inventory, network_id: str) -> None:
    """As `sync_network`, where this process did not do it yet."""
    if network_id not in services.networks:
        sync_network(services, things, network_id)


def group_spec(group: Record) -> GroupSpec:
    """A security group with its rules."""
    rules = tuple(
        SecurityRule(
            rule["direction"],
            rule["ethertype"],
            rule.get("protocol"),
            _port(rule.get("port_range_min")),
            _port(rule.get("port_range_max")),
            rule.get("remote_ip_prefix"),
            rule.get("remote_group_id"),
        )
        for rule in group.get("security_group_rules") or ()
    )
    return GroupSpec(group["id"], group["name"], rules, group["tenant_id"])


def _port(value: int | None) -> int | None:
    """-1 is any, as EC2 has it."""
    return None if value == -1 else value


def nic_spec(things: Inventory, port: Record) -> NicSpec:
    """One interface with its floating addresses."""
    fixed = port.get("fixed_ips") or []
    subnets = {ip["subnet_id"]: things.get("subnet", ip["subnet_id"]) for ip in fixed}
    extra = [interface(f"{ip['ip_address']}/{network_of(subnets[ip['subnet_id']]).prefixlen}") for ip in fixed[1:]]
    first = subnets[fixed[0]["subnet_id"]] if fixed else None
    return NicSpec(
        port_id=port["id"],
        network_id=port["network_id"],
        mac=port["mac_address"],
        ip=fixed[0]["ip_address"] if fixed else None,
        prefix=network_of(first).prefixlen if first else 0,
        gateway=first.get("gateway_ip") if first else None,
        extra=tuple(extra),
        allowed=tuple(pair["ip_address"] for pair in port.get("allowed_address_pairs") or ()),
        groups=tuple(port.get("security_groups") or ()),
        security=port.get("port_security_enabled", True),
        floating=tuple(ip["floating_ip_address"] for ip in things.all("floatingip", holder=port["id"])),
    )


def server_spec(things: Inventory, server: Record, user_data: str | None = None) -> ServerSpec:
    """Everything of a server, from its record; ``user_data`` where the caller has it at hand."""
    if user_data is None:
        user_data = (things.find("config", user_data_id(server["id"])) or {}).get("config", "")
    key = things.find("keypair", server["key_name"]) if server.get("key_name") else None
    volumes = []
    for place in server.get("volumes") or ():
        volume = things.get("volume", place["id"])
        volumes.append(volume_spec(volume, place.get("device"), place.get("boot_index")))
    return ServerSpec(
        id=server["id"],
        name=server["name"],
        hostname=server["hostname"],
        owner=Owner(server["tenant_id"], server["environment"], server["user_id"]),
        region=Name(things.region),
        stack=server["stack"],
        image=server["image_record"] or {},
        flavor=server["flavor_record"],
        user_data=user_data,
        user_data_format=server["user_data_format"],
        metadata=server["metadata"],
        nics=tuple(nic_spec(things, things.get("port", port)) for port in server["ports"]),
        volumes=tuple(volumes),
        key=(key["name"], key["public_key"]) if key and key["public_key"] else None,
        queue=server.get("queue"),
    )


def user_data_id(server: str) -> str:
    """Id of the record with the text of a server's user data: it is long, and written once."""
    return fixed_id("user data", server)


def volume_spec(volume: Record, device: str | None = None, boot_index: int | None = None) -> VolumeSpec:
    """A volume, attached under a device name or not."""
    return VolumeSpec(
        volume["id"],
        volume["name"],
        volume["size"],
        bool(volume.get("read_only")),
        volume.get("source"),
        DeviceName(device) if device is not None else None,
        boot_index,
    )


def changed_server(services: Services, things: Inventory, server_id: str) -> None:
    """Tells the driver how a running server is now; one that is still being made gets it anyway."""
    with services.alone(server_id):
        server = things.find("server", server_id)
        if server is not None and server["status"] == "ACTIVE":
            services.driver.update(server_spec(things, server))


def set_aside(services: Services, things: Inventory, server: Record) -> None:
    """Stops a server and takes it off its networks; its disks stay. Nothing where the driver does not know it.

    The caller holds its lock.
    """
    if not services.driver.statuses([server["id"]]):
        return
    services.driver.stop(server["id"])
    services.driver.update(server_spec(things, {**server, "ports": [], "volumes": []}))
