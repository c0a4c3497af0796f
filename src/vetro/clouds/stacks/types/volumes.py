"""Volumes and their attachments."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from vetro.clouds.drivers import values
from vetro.clouds.drivers.needs import Needs
from vetro.clouds.interface import Conflict
from vetro.clouds.stacks.specs import server_spec, volume_spec
from vetro.clouds.stacks.state.inventory import Inventory, Record
from vetro.clouds.stacks.state.snapshot_rows import holds
from vetro.clouds.stacks.types.base import Call, Prop, PropertyInvalid, ResourceType
from vetro.clouds.stacks.types.server import attachment, metadata


class Volume(ResourceType):
    """OS::Cinder::Volume: a sparse file; it may grow and never shrinks."""

    properties: Mapping[str, Prop] = {
        "size": Prop("integer", update=True, parse=values.gib),
        "name": Prop(update=True, parse=values.Name),
        "description": Prop(update=True),
        "metadata": Prop("map", update=True, parse=metadata),
        "availability_zone": Prop(),
        "volume_type": Prop(update=True),
        "backup_id": Prop(constraint="cinder.backup"),
        "image": Prop(constraint="glance.image"),
        "snapshot_id": Prop(constraint="cinder.snapshot"),
        "source_volid": Prop(constraint="cinder.volume"),
        "read_only": Prop("boolean", update=True),
        "scheduler_hints": Prop("map"),
        "multiattach": Prop("boolean"),
    }
    attributes = (
        "id",
        "name",
        "size",
        "status",
        "attachments",
        "attachments_list",
        "metadata",
        "availability_zone",
        "snapshot_id",
        "source_volid",
        "bootable",
        "created_at",
        "display_name",
    )
    record = "volume"
    needs: ClassVar[Needs] = {"volumes": "record"}

    def check(self, props: Mapping[str, Any], things: Inventory, known: Collection[str]) -> None:
        """A size, unless a source has one."""
        sources = {"backup_id", "snapshot_id", "source_volid"}
        if "size" not in props and not sources & (props.keys() | (sources - set(known))):
            raise PropertyInvalid("the property 'size' of OS::Cinder::Volume is required")

    def create(self, call: Call) -> None:
        """The record, and the file at the driver."""
        props = call.props
        source = None
        size = props.get("size")
        for name, kind in (("source_volid", "volume"), ("snapshot_id", "snapshot"), ("backup_id", "backup")):
            if props.get(name):
                found = call.things.get(kind, props[name])  # type: ignore[arg-type]
                source, size = found["id"], size or found["size"]
        if props.get("image"):
            source = call.things.get("image", props["image"])["id"]
        record: Record = {
            "id": call.id,
            "tenant_id": call.owner.project,
            "size": size,
            "source": source,
            "snapshot_id": props.get("snapshot_id"),
            "source_volid": props.get("source_volid"),
            "bootable": "true" if props.get("image") else "false",
            "status": "available",
            "attachments": [],
            "availability_zone": props.get("availability_zone") or "nova",
            "created_at": call.services.clock(),
        }
        self._save(call, call.things.find("volume", call.id) or record)

    def update(self, call: Call, old: Mapping[str, Any]) -> None:
        """Name, metadata, read-only flag, and a greater size. Raises `Conflict` for a smaller one."""
        record = call.things.get("volume", call.id)
        size = call.props.get("size") or record["size"]
        if size < record["size"]:
            raise Conflict(f"a volume cannot shrink from {record['size']} to {size} GiB")
        record["size"] = size
        self._save(call, record)

    def _save(self, call: Call, record: dict[str, Any]) -> None:
        record["name"] = record["display_name"] = call.props.get("name") or call.physical_name
        record["metadata"] = call.props.get("metadata") or {}
        record["read_only"] = bool(call.props.get("read_only"))
        call.things.save("volume", record, environment=call.owner.environment)
        call.services.driver.ensure_volume(volume_spec(record))

    def delete(self, call: Call) -> None:
        """Raises `Conflict` while a server has it. What a snapshot keeps of it stays with the driver."""
        record = call.things.find("volume", call.id)
        if record is None:
            return
        if record["attachments"]:
            raise Conflict(f"the volume {call.id} is attached to the server {record['attachments'][0]['server_id']}")
        if not holds(call.services.database, call.id):
            call.services.driver.delete_volume(call.id)
        call.things.delete(call.id)

    def value(self, call: Call, name: str) -> Any:
        """``attachments_list`` is the list, ``attachments`` the same."""
        record = call.things.find("volume", call.id) or {}
        return record.get("attachments") if name == "attachments_list" else record.get(name)


class VolumeAttachment(ResourceType):
    """OS::Cinder::VolumeAttachment."""

    properties: Mapping[str, Prop] = {
        "instance_uuid": Prop(required=True),
        "volume_id": Prop(required=True),
        "mountpoint": Prop(parse=values.DeviceName),
    }
    attributes = ("id",)
    needs: ClassVar[Needs] = {"volumes": "attach"}

    def create(self, call: Call) -> None:
        """Attaches; nothing changes when the driver refuses."""
        props, services = call.props, call.services
        with services.alone(props["instance_uuid"]):
            with services.database.transaction():
                server = call.things.get("server", props["instance_uuid"])
                volume = call.things.get("volume", props["volume_id"])
                if any(item["server_id"] != server["id"] for item in volume["attachments"]):
                    other = volume["attachments"][0]["server_id"]
                    raise Conflict(f"the volume '{volume['name']}' is attached to the server {other}")
                device = props.get("mountpoint") or f"/dev/vd{chr(ord('b') + len(server['volumes']))}"
                places = [place for place in server["volumes"] if place["id"] != volume["id"]]
                server["volumes"] = [*places, {"id": volume["id"], "device": device, "boot_index": None}]
                spec = server_spec(call.things, server)
            if server["status"] == "ACTIVE":
                services.driver.update(spec)
            with services.database.transaction():
                volume.update(status="in-use", attachments=[attachment(server["id"], volume["id"], device)])
                call.things.save("volume", volume)
                call.things.save("server", server)
        call.touched.add(volume["id"])

    def delete(self, call: Call) -> None:
        """Detaches; the volume stays."""
        props, services = call.props, call.services
        with services.alone(props["instance_uuid"]):
            with services.database.transaction():
                server = call.things.find("server", props["instance_uuid"])
                volume = call.things.find("volume", props["volume_id"])
                if volume is not None:
                    volume.update(status="available", attachments=[])
                    call.things.save("volume", volume)
                if server is not None:
                    server["volumes"] = [item for item in server["volumes"] if item["id"] != props["volume_id"]]
                    call.things.save("server", server)
            if server is not None and server["status"] == "ACTIVE":
                services.driver.update(server_spec(call.things, server))
        call.touched.add(props["volume_id"])

    def value(self, call: Call, name: str) -> Any:
        """The id."""
        return call.id
