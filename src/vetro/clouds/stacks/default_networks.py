"""What each project finds in a region without having made it: a router, and the network of servers that name none.

They are the project's own: nothing that two projects can name joins their networks. Earlier versions had one of each
for everybody; `take_over` gives what projects have on these to their own ones.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Mapping
from typing import Any

from vetro.clouds.stacks.settings import StackSettings
from vetro.clouds.stacks.state.database import Database
from vetro.clouds.stacks.state.inventory import Inventory, fixed_id, moved

ROUTER_INTERFACE = "network:router_interface"


def default_router_id(settings: StackSettings, region: str, project: str) -> str:
    """Id of the router that a project's networks join."""
    return fixed_id("router", region, project, settings.router)


def ensure_defaults(database: Database, settings: StackSettings, region: str, project: str) -> None:
    """Makes router and network of a project in a region, once: what it deleted stays away."""
    mark = f"defaults/{region}/{project}"
    if database.elsewhere is not None:
        return  # it has what it has
    if mark in database.known or database.row("SELECT 1 FROM meta WHERE key = ?", (mark,)) is not None:
        database.known.add(mark)
        return
    with database.transaction():
        if database.row("SELECT 1 FROM meta WHERE key = ?", (mark,)) is None:
            _make(Inventory(database, region, project), settings, project)
            database.run("INSERT INTO meta VALUES (?, '')", (mark,))


def _make(things: Inventory, settings: StackSettings, project: str) -> None:
    region, name = things.region, settings.private_network
    external = things.find("network", fixed_id("network", region, settings.external_network))
    router = default_router_id(settings, region, project)
    if things.find("router", router) is None:
        made = router_record(router, settings.router, external["id"] if external else None, project)
        things.save("router", made)
    network, subnet = fixed_id("network", region, project, name), fixed_id("subnet", region, project, name)
    net, sub = network_records(network, subnet, name, settings.private_cidr, external=False, project=project)
    things.save("network", net)
    things.save("subnet", sub, parent=network)
    port = fixed_id("port", router, network)
    things.save("port", interface_record(port, router, sub, project), parent=network, holder=router)


def take_over(database: Database, settings: StackSettings, region: str) -> None:
    """Moves what joins the router and the network that all projects shared to their own. Call it in a transaction."""
    network = fixed_id("network", region, settings.private_network)
    subnet = fixed_id("subnet", region, settings.private_network)
    router = fixed_id("router", region, settings.router)
    if not database.rows("SELECT 1 FROM records WHERE id IN (?, ?) AND region = ?", (network, router, region)):
        return
    rows = database.rows(
        "SELECT id, project, parent, holder, body FROM records"
        " WHERE region = ? AND kind = 'port' AND project != '' AND (parent = ? OR holder = ?)",
        (region, network, router),
    )
    for id, project, parent, holder, body in rows:
        ensure_defaults(database, settings, region, project)
        new = {
            network: fixed_id("network", region, project, settings.private_network),
            subnet: fixed_id("subnet", region, project, settings.private_network),
            router: default_router_id(settings, region, project),
        }
        record = json.loads(body)
        for key in ("network_id", "device_id"):
            record[key] = new.get(record.get(key), record.get(key))
        for ip in record.get("fixed_ips") or ():
            ip["subnet_id"] = new.get(ip["subnet_id"], ip["subnet_id"])
        database.run(
            "UPDATE records SET parent = ?, holder = ?, body = ? WHERE id = ? AND region = ?",
            (new.get(parent, parent), new.get(holder, holder), json.dumps(record), id, region),
        )
        database.run("UPDATE addresses SET subnet = ? WHERE subnet = ? AND holder = ?", (new[subnet], subnet, id))
    database.run(
        "DELETE FROM records WHERE region = ? AND (id IN (?, ?, ?) OR kind = 'port' AND (parent = ? OR holder = ?))",
        (region, network, subnet, router, network, router),
    )
    for kind, old, name in (
        ("network", network, settings.private_network),
        ("subnet", subnet, settings.private_network),
        ("router", router, settings.router),
    ):
        database.run("INSERT OR REPLACE INTO meta VALUES (?, ?)", (moved(kind, old), name))
    database.run("DELETE FROM addresses WHERE subnet = ?", (subnet,))
    database.run("DELETE FROM plans WHERE router = ?", (router,))


def router_record(id: str, name: str, external: str | None, project: str) -> dict[str, Any]:
    """The record of a router; ``external`` is the id of the network behind its gateway."""
    gateway = {"network_id": external, "enable_snat": True} if external else None
    return {
        "id": id,
        "name": name,
        "tenant_id": project,
        "project_id": project,
        "status": "ACTIVE",
        "admin_state_up": True,
        "external_gateway_info": gateway,
    }


def interface_record(id: str, router: str, subnet: Mapping[str, Any], project: str) -> dict[str, Any]:
    """The port with which a router is in a subnet: it has the gateway's address."""
    return {
        "id": id,
        "name": "",
        "tenant_id": project,
        "project_id": project,
        "network_id": subnet["network_id"],
        "device_id": router,
        "device_owner": ROUTER_INTERFACE,
        "fixed_ips": [{"subnet_id": subnet["id"], "ip_address": subnet.get("gateway_ip")}],
        "status": "ACTIVE",
    }


def network_records(
    network: str, subnet: str, name: str, cidr: str, *, external: bool, project: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The records of a network and its only subnet, by their ids."""
    net = ipaddress.ip_network(cidr)
    return {
        "id": network,
        "name": name,
        "tenant_id": project,
        "project_id": project,
        "router:external": external,
        "shared": False,
        "admin_state_up": True,
        "status": "ACTIVE",
        "subnets": [subnet],
        "port_security_enabled": True,
    }, {
        "id": subnet,
        "name": name,
        "tenant_id": project,
        "project_id": project,
        "network_id": network,
        "ip_version": net.version,
        "cidr": cidr,
        "gateway_ip": str(net[1]),
        "enable_dhcp": not external,
        "dns_nameservers": [],
        "allocation_pools": [{"start": str(net[2]), "end": str(net[-2])}],
        "host_routes": [],
    }
