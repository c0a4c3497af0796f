"""OS::Nova::Server."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from vetro.clouds.drivers import values
from vetro.clouds.drivers.needs import Needs
from vetro.clouds.drivers.specs import ServerSpec
from vetro.clouds.guest.agent_queue import agent_queue
from vetro.clouds.interface import Conflict
from vetro.clouds.stacks.specs import need_network, server_spec, set_aside, user_data_id
from vetro.clouds.stacks.state.inventory import Inventory, Record
from vetro.clouds.stacks.state.snapshot_rows import holds
from vetro.clouds.stacks.templates.functions import text_of
from vetro.clouds.stacks.types.base import (
    Call,
    Prop,
    PropertyInvalid,
    ResourceFailed,
    ResourceType,
    refuse_shared,
)
from vetro.clouds.stacks.types.ports import auto_port_id, drop_port, group_ids, make_port, save_port
from vetro.clouds.waits import Told, server_text


def metadata(value: Any) -> None:
    """Raises `ValueInvalid` for keys that are no names, and values that cannot be written."""
    for key, item in value.items():
        values.Name(key)
        _text(item)


def _text(value: Any) -> None:
    if isinstance(value, str):
        values.text(value)


_NETWORK = {
    "port": Prop(),
    "network": Prop(constraint="neutron.network"),
    "uuid": Prop(constraint="neutron.network"),
    "subnet": Prop(constraint="neutron.subnet"),
    "fixed_ip": Prop(parse=values.address),
    "port_extra_properties": Prop("map"),
    "allocate_network": Prop(allowed=("none", "auto")),
    "tag": Prop(),
}
_DEVICE = {
    "device_name": Prop(parse=values.DeviceName),
    "volume_id": Prop(),
    "snapshot_id": Prop(),
    "image": Prop(),
    "image_id": Prop(),
    "device_type": Prop(),
    "boot_index": Prop("integer", parse=values.place),
    "disk_bus": Prop(),
    "volume_size": Prop("integer", parse=values.gib),
    "delete_on_termination": Prop("boolean"),
    "ephemeral_size": Prop("integer", parse=values.count),
    "ephemeral_format": Prop(),
    "swap_size": Prop("integer", parse=values.count),
    "tag": Prop(),
}


class Server(ResourceType):
    """OS::Nova::Server."""

    properties: Mapping[str, Prop] = {
        "name": Prop(update=True, parse=values.Name),
        "flavor": Prop(required=True, update=True, constraint="nova.flavor"),
        "image": Prop(constraint="glance.image"),
        "key_name": Prop(constraint="nova.keypair"),
        "availability_zone": Prop(),
        "networks": Prop("list", update=True, fields=_NETWORK),
        "security_groups": Prop("list", update=True, items="string"),
        "metadata": Prop("map", update=True, parse=metadata),
        "user_data": Prop("any", parse=_text),
        "user_data_format": Prop(default="HEAT_CFNTOOLS", allowed=("HEAT_CFNTOOLS", "RAW", "SOFTWARE_CONFIG")),
        "user_data_update_policy": Prop(default="REPLACE", update=True, allowed=("REPLACE", "IGNORE")),
        "flavor_update_policy": Prop(default="RESIZE", update=True, allowed=("RESIZE", "REPLACE")),
        "image_update_policy": Prop(update=True, allowed=("REBUILD", "REPLACE", "REBUILD_PRESERVE_EPHEMERAL")),
        "block_device_mapping_v2": Prop("list", fields=_DEVICE),
        "block_device_mapping": Prop("list"),
        "scheduler_hints": Prop("map"),
        "software_config_transport": Prop(update=True),
        "config_drive": Prop("boolean"),
        "diskConfig": Prop(),
        "admin_pass": Prop(update=True),
        "admin_user": Prop(),
        "personality": Prop("map"),
        "reservation_id": Prop(),
        "deployment_swift_data": Prop("map", update=True),
        "tags": Prop("list", update=True),
    }
    attributes = (
        "id",
        "name",
        "addresses",
        "networks",
        "first_address",
        "accessIPv4",
        "accessIPv6",
        "instance_name",
        "status",
        "console_urls",
        "metadata",
        "tags",
    )
    record = "server"
    driven = True
    settles = True

    def needed(self, props: Mapping[str, Any]) -> Needs:
        """Volumes that it does not boot from have to be attached."""
        devices = props.get("block_device_mapping_v2")
        data = [one for one in devices if one.get("volume_id") and one.get("boot_index") != 0] if devices else []
        return {"volumes": "attach"} if data else {}

    def check(self, props: Mapping[str, Any], things: Inventory, known: Collection[str]) -> None:
        """Something to boot from, an image that fits the flavor, and interfaces that say where they lead."""
        boot = {"image", "block_device_mapping_v2", "block_device_mapping"}
        if boot <= set(known) and not any(props.get(name) for name in boot):
            raise PropertyInvalid("a server needs an image or block_device_mapping_v2 to boot from")
        for place, entry in enumerate(props.get("networks") or ()):
            if not entry.keys() & {"port", "network", "uuid", "subnet", "allocate_network"}:
                raise PropertyInvalid(f"networks[{place}] needs a port, network or subnet")
            if not entry.get("port"):
                refuse_shared(things, ("network", entry.get("network") or entry.get("uuid")))
                refuse_shared(things, ("subnet", entry.get("subnet")))
        zone = props.get("availability_zone")
        if zone and things.find("zone", zone.split(":")[0]) is None:
            names = ", ".join(zone["name"] for zone in things.all("zone"))
            raise PropertyInvalid(f"there is no availability zone {values.short(zone)}; there are {names}")

    def replaces(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
        """Images and what runs at boot cannot change in a running server; the policies say what may."""
        if new.get("user_data_update_policy") == "IGNORE":
            new = {**new, "user_data": old.get("user_data")}
        if new.get("flavor_update_policy") == "REPLACE" and old.get("flavor") != new.get("flavor"):
            return True
        return super().replaces(old, new)

    def create(self, call: Call) -> None:
        """Takes ports and the agent's queue, then has the driver make and start the server."""
        with call.services.alone(call.id):
            user_data = _user_data(call)
            queue = agent_queue(user_data, call.owner.environment)
            self._make_room(call, queue)
            with call.services.database.transaction():
                record = self._record(call)
                self._join(call, record)
                self._claim_queue(call, record, queue)
                text = {"id": user_data_id(call.id), "name": "", "config": user_data}
                call.things.save("config", text, environment=call.owner.environment)
                call.things.save("server", record, environment=call.owner.environment, parent=call.stack)
                spec = server_spec(call.things, record, user_data)
            # Who holds the lock of a network may wait for the database.
            if not call.alone or any(nic.network_id not in call.services.networks for nic in spec.nics):
                call.settle()
            for nic in spec.nics:
                need_network(call.services, call.things, nic.network_id)
            if call.alone:
                self._create_alone(call, record, spec)
                return
            call.services.driver.create(spec)
            with call.services.database.transaction():
                # Floating addresses may have come meanwhile: they are in other records.
                record["status"] = "ACTIVE"
                call.things.save("server", record)
                late = server_spec(call.things, record, user_data)
            if late.nics != spec.nics:
                call.services.driver.update(late)
        call.touched.update(place["id"] for place in record["volumes"])

    @staticmethod
    def _create_alone(call: Call, record: Record, spec: ServerSpec) -> None:
        """Nobody else changes anything meanwhile, so no other state of the record is seen."""
        call.services.driver.create(spec)
        record["status"] = "ACTIVE"
        call.things.save("server", record)
        call.touched.update(place["id"] for place in record["volumes"])

    def _make_room(self, call: Call, queue: str | None) -> None:
        """A server that the same update removes gives up what this one gets: its queue and its ports."""
        holders = []
        if queue is not None:
            holders = call.services.database.rows(
                "SELECT server FROM queues WHERE project = ? AND queue = ?", (call.owner.project, queue)
            )
        servers = {server for (server,) in holders}
        for entry in call.props.get("networks") or ():
            port = call.things.find("port", entry["port"]) if entry.get("port") else None
            servers.add(port["device_id"] if port else "")
        for server in servers - {"", call.id}:
            row = call.services.database.row(
                "SELECT old FROM resources WHERE stack = ? AND id = ?", (call.stack, server)
            )
            if row is not None and row[0]:
                call.settle()
                self.retire(replace(call, id=server, props={}, data={}))

    def _record(self, call: Call) -> Record:
        props = call.props
        name = props.get("name") or call.physical_name
        image = call.things.get("image", props["image"]) if props.get("image") else None
        flavor = call.things.get("flavor", props["flavor"])
        if image is not None:
            for what, unit in (("min_ram", "ram"), ("min_disk", "disk")):
                if 0 < flavor[unit] < (image.get(what) or 0):  # 0: as much as the image takes
                    raise ResourceFailed(
                        f"the flavor {flavor['name']} is too small for the image {image['name']}: {unit} must be at"
                        f" least {image[what]}"
                    )
        return {
            "id": call.id,
            "name": name,
            "hostname": _hostname(name),
            "tenant_id": call.owner.project,
            "user_id": call.owner.user,
            "environment": call.owner.environment,
            "stack": call.stack_name,
            "status": "BUILD",
            "image": image["id"] if image else "",
            "image_record": image,
            "flavor": flavor["id"],
            "flavor_record": flavor,
            "key_name": props.get("key_name"),
            "metadata": {key: text_of(value) for key, value in (props.get("metadata") or {}).items()},
            "user_data_format": props["user_data_format"],
            "ports": [],
            "volumes": _devices(call),
            "availability_zone": props.get("availability_zone") or "nova",
            "created": call.services.clock(),
            "tags": props.get("tags") or [],
        }

    def _join(self, call: Call, record: Record) -> None:
        entries = call.props.get("networks")
        if entries is None:
            entries = [{"network": call.services.settings.private_network}]
        for place, entry in enumerate(entries):
            if entry.get("allocate_network") == "none":
                continue
            port = self._port(call, place, entry)
            if port["device_id"] not in ("", call.id):
                raise Conflict(f"the port {port['id']} is in use by the server {port['device_id']}")
            if port["id"] not in record["ports"]:
                record["ports"].append(port["id"])
            port.update(device_id=call.id, device_owner="compute:nova", status="ACTIVE")
            save_port(call.things, port)

    def _port(self, call: Call, place: int, entry: Mapping[str, Any]) -> Record:
        if entry.get("port"):
            return call.things.get("port", entry["port"])
        ref = entry.get("network") or entry.get("uuid")
        if ref:
            network = call.things.get("network", ref)
        elif entry.get("subnet"):
            network = call.things.get("network", call.things.get("subnet", entry["subnet"])["network_id"])
        else:
            network = call.things.get("network", call.services.settings.private_network)
        fixed = {"subnet": entry.get("subnet"), "ip_address": entry.get("fixed_ip")}
        return make_port(
            call,
            auto_port_id(call.id, place),
            network,
            name="",
            fixed=[fixed],
            groups=call.props.get("security_groups") or None,
            device=call.id,
        )

    def _claim_queue(self, call: Call, record: Record, queue: str | None) -> None:
        """The agent's queue belongs to one living server; a replaced one has given it up."""
        record["queue"] = queue
        if queue is None:
            return
        database, project = call.services.database, call.owner.project
        row = database.row("SELECT server FROM queues WHERE project = ? AND queue = ?", (project, queue))
        if row is not None and row[0] != call.id:
            other = call.things.find("server", row[0])
            raise Conflict(
                f"the agent queue {queue} belongs to the server '{other['name'] if other else row[0]}' already:"
                " two servers cannot have the same user data of one instance"
            )
        database.run("INSERT OR REPLACE INTO queues VALUES (?, ?, ?)", (queue, project, call.id))

    def update(self, call: Call, old: Mapping[str, Any]) -> None:
        """Name, metadata, groups, interfaces and flavor."""
        with call.services.alone(call.id):
            self._make_room(call, None)
            with call.services.database.transaction():
                record = call.things.get("server", call.id)
                fresh = {**call.props, "user_data": old.get("user_data")}
                record["name"] = fresh.get("name") or call.physical_name
                record["metadata"] = {key: text_of(value) for key, value in (fresh.get("metadata") or {}).items()}
                record["tags"] = fresh.get("tags") or []
                flavor = call.things.get("flavor", fresh["flavor"])
                record.update(flavor=flavor["id"], flavor_record=flavor)
                before = list(record["ports"])
                if old.get("networks") != fresh.get("networks"):
                    record["ports"] = []
                    self._join(call, record)
                    for gone in set(before) - set(record["ports"]):
                        self._leave(call, gone)
                if old.get("security_groups") != fresh.get("security_groups"):
                    self._regroup(call, record)
                call.things.save("server", record)
                spec = server_spec(call.things, record)
            for nic in spec.nics:
                need_network(call.services, call.things, nic.network_id)
            call.services.driver.update(spec)

    def _regroup(self, call: Call, record: Record) -> None:
        groups = group_ids(call, call.props.get("security_groups") or None)
        for id in record["ports"]:
            if id in {auto_port_id(call.id, place) for place in range(len(record["ports"]))}:
                port = call.things.get("port", id)
                port["security_groups"] = groups
                save_port(call.things, port)

    def _leave(self, call: Call, id: str) -> None:
        """Takes the server from a port; the server's own ports go with it. Call it in a transaction."""
        port = call.things.find("port", id)
        if port is None or port["device_id"] != call.id:
            return
        if id in {auto_port_id(call.id, place) for place in range(100)}:
            drop_port(call, id)
        else:
            port.update(device_id="", device_owner="", status="DOWN")
            save_port(call.things, port)

    def retire(self, call: Call) -> None:
        """Stops the server and frees its ports and its queue for the successor."""
        with call.services.alone(call.id):
            call.services.driver.stop(call.id)
            with call.services.database.transaction():
                record = call.things.find("server", call.id)
                if record is None:
                    return
                call.services.database.run("DELETE FROM queues WHERE server = ?", (call.id,))
                for id in record["ports"]:
                    self._leave(call, id)
                self._free_volumes(call, record)
                record.update(status="SHUTOFF", ports=[], volumes=[], queue=None)
                call.things.save("server", record)

    def awaited(self, call: Call, action: str) -> Told:
        """See `ResourceType.awaited`."""
        return "server", server_text(call.props.get("name") or call.physical_name, action)

    def delete(self, call: Call) -> None:
        """The driver removes the server; ports that were its own go, others are free again.

        One that a snapshot keeps is only switched off, and taken off its networks.
        """
        with call.services.alone(call.id):
            there = call.things.find("server", call.id)
            if not holds(call.services.database, call.id):
                call.services.driver.delete(call.id)
            elif there is not None:
                set_aside(call.services, call.things, there)
            with call.services.database.transaction():
                record = call.things.find("server", call.id)
                call.services.database.run("DELETE FROM queues WHERE server = ?", (call.id,))
                if record is not None:
                    for id in record["ports"]:
                        self._leave(call, id)
                    self._free_volumes(call, record)
                    call.things.delete(user_data_id(call.id))
                    call.things.delete(call.id)

    def _free_volumes(self, call: Call, record: Record) -> None:
        for place in record["volumes"]:
            volume = call.things.find("volume", place["id"])
            if volume is not None:
                volume.update(status="available", attachments=[])
                call.things.save("volume", volume)
                call.touched.add(volume["id"])

    def attribute(self, call: Call, name: str, path: list[Any]) -> Any:
        """Paths of addresses may name a network by its id, too."""
        if name in ("addresses", "networks") and path and isinstance(path[0], str):
            network = call.things.find("network", path[0])
            path = [network["name"] if network else path[0], *path[1:]]
        return super().attribute(call, name, path)

    def value(self, call: Call, name: str) -> Any:
        """Attributes as Heat shows them."""
        record = call.things.find("server", call.id)
        if record is None:
            return None
        if name == "networks":
            return {net: [item["addr"] for item in items] for net, items in addresses(call.things, record).items()}
        if name in ("addresses", "first_address", "accessIPv4", "accessIPv6"):
            found = addresses(call.things, record)
            if name == "addresses":
                return found
            flat = [item for items in found.values() for item in items]
            if name == "first_address":
                return flat[0]["addr"] if flat else ""
            version = 4 if name == "accessIPv4" else 6
            outer = [
                item["addr"] for item in flat if item["OS-EXT-IPS:type"] == "floating" and item["version"] == version
            ]
            return outer[0] if outer else ""
        if name == "instance_name":
            return f"instance-{call.id[:8]}"
        return {} if name == "console_urls" else record.get(name)

    def show(self, call: Call) -> Any:
        """The record as the compute service shows it."""
        record = call.things.find("server", call.id)
        if record is None:
            return None
        hidden = ("image_record", "flavor_record", "ports", "volumes", "queue")
        shown = {key: value for key, value in record.items() if key not in hidden}
        return {**shown, "addresses": addresses(call.things, record)}


def addresses(things: Inventory, server: Record) -> dict[str, list[dict[str, Any]]]:
    """Network name -> addresses of a server, fixed ones before floating ones."""
    made: dict[str, list[dict[str, Any]]] = {}
    for id in server["ports"]:
        port = things.find("port", id)
        network = things.find("network", port["network_id"]) if port else None
        if port is None or network is None:
            continue
        items = made.setdefault(network["name"], [])
        pairs = [(ip["ip_address"], "fixed") for ip in port["fixed_ips"]]
        pairs += [(ip["floating_ip_address"], "floating") for ip in things.all("floatingip", holder=id)]
        for address, kind in pairs:
            items.append(
                {
                    "addr": address,
                    "version": 6 if ":" in address else 4,
                    "port": id,
                    "OS-EXT-IPS:type": kind,
                    "OS-EXT-IPS-MAC:mac_addr": port["mac_address"],
                }
            )
    return made


def _hostname(name: str) -> str:
    """A name that a server may call itself: letters, digits and hyphens, at most 63."""
    made = re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-")[:63].strip("-")
    return made or "server"


def _user_data(call: Call) -> str:
    """The text of the user data: that of a software configuration when it is the id of one."""
    data = call.props.get("user_data")
    if isinstance(data, str) and len(data) == 36:
        config = call.things.find("config", data)
        # What other servers began with is kept there, too, and is nobody else's: only configurations have a group.
        if config is not None and "group" in config:
            data = config["config"]
    return text_of(data)


def _devices(call: Call) -> list[dict[str, Any]]:
    """Volumes that the server begins with. Call it in a transaction."""
    made: list[dict[str, Any]] = []
    for entry in call.props.get("block_device_mapping_v2") or ():
        if not entry.get("volume_id"):
            if entry.get("image") or entry.get("image_id") or entry.get("snapshot_id"):
                raise ResourceFailed("block_device_mapping_v2 can only attach volumes (volume_id) here")
            continue
        volume = call.things.get("volume", entry["volume_id"])
        if any(item["server_id"] != call.id for item in volume["attachments"]):
            raise Conflict(f"the volume '{volume['name']}' is attached to another server")
        device = entry.get("device_name") or f"/dev/vd{chr(ord('b') + len(made))}"
        volume.update(status="in-use", attachments=[attachment(call.id, volume["id"], device)])
        call.things.save("volume", volume)
        made.append({"id": volume["id"], "device": device, "boot_index": entry.get("boot_index")})
    return made


def attachment(server: str, volume: str, device: str | None) -> dict[str, Any]:
    """How a volume shows that it is attached."""
    return {
        "id": volume,
        "volume_id": volume,
        "server_id": server,
        "device": device,
        "host_name": None,
        "attachment_id": f"{volume[:18]}{server[18:]}",
    }
