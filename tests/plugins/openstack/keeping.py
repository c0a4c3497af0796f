"""`Keeping`: the OpenStack of `strict` whose Nova makes images and rebuilds, and whose Cinder has snapshots.

Disks have contents, which are words. What takes time is done at the second look, as with the real ones.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from tests.plugins.openstack.fake import Reply
from tests.plugins.openstack.strict import Strict

VOLUME, ATTACHMENT = "OS::Cinder::Volume", "OS::Cinder::VolumeAttachment"


class Keeping(Strict):
    """Tests write to ``disks`` (by the id of a server) and to ``content`` of volumes."""

    def __init__(self) -> None:
        super().__init__()
        self.services = (*self.services, "block-storage")
        self.disks: dict[str, str] = {}
        self.volumes: dict[str, dict[str, Any]] = {}
        self.snapshots: dict[str, dict[str, Any]] = {}
        #: The states that images and snapshots come to.
        self.ends = {"image": "active", "snapshot": "available"}

    @property
    def images(self) -> list[dict[str, Any]]:
        """Those that Nova has made."""
        return [row for row in self.lists["glance"]["/images"]["images"] if "content" in row]

    # -- what stacks make ----------------------------------------------------------------------------------------------

    def _take(self, row: dict[str, Any], body: Any) -> None:
        super()._take(row, body)
        ids = {one["resource_name"]: one["physical_resource_id"] for one in row["resources"]}
        for one in body["template"].get("resources", {}).values():
            if one["type"] == ATTACHMENT:
                given = one["properties"]
                volume, server = (ids[given[key]["get_resource"]] for key in ("volume_id", "instance_uuid"))
                self._attach(volume, server)

    def _attach(self, volume: str, server: str) -> None:
        self.volumes[volume].update(status="in-use", attachments=[{"server_id": server, "device": "/dev/vdb"}])

    def _show(self, id: str, name: str, kind: str, given: Mapping[str, Any]) -> None:
        before, volume = self.servers.get(id), self.volumes.get(id)
        super()._show(id, name, kind, given)
        if kind == "OS::Nova::Server":
            record = self.servers[id]
            (listed,) = [row for row in self.lists["glance"]["/images"]["images"] if row["name"] == given["image"]]
            record["image"] = "" if given.get("name") == "from-volume" else {"id": listed["id"]}
            if before is not None and before["given"] == given["image"]:
                record.update(image=before["image"], status=before["status"])
            else:
                self.disks[id] = f"fresh {given['image']}"  # new, or rebuilt by Heat
            record["given"] = given["image"]
        elif kind == VOLUME:
            empty = {"id": id, "name": given["name"], "status": "available", "attachments": [], "content": "empty"}
            self.volumes[id] = volume or empty

    def _forget(self, id: str) -> None:
        super()._forget(id)
        self.volumes.pop(id, None)

    # -- the services --------------------------------------------------------------------------------------------------

    def own(self, service: str, method: str, path: str, query: dict[str, list[str]], body: Any) -> Reply | None:
        """See `Fake.own`."""
        match service, method, path.strip("/").split("/"):
            case "nova", "GET", ["servers", id] if self.servers.get(id, {}).get("status") == "REBUILD":
                return self._rebuilding(self.servers[id])
            case "nova", "POST", ["servers", id, "action"] if id in self.servers:
                return self._act(self.servers[id], body)
            case "nova", "POST", ["servers", id, "os-volume_attachments"]:
                volume = self.volumes[body["volumeAttachment"]["volumeId"]]
                if volume["attachments"]:
                    return 400, {"badRequest": {"message": "volume is already attached"}}
                self._attach(volume["id"], id)
                return 200, {"volumeAttachment": {"id": volume["id"]}}
            case "nova", "DELETE", ["servers", id, "os-volume_attachments", name]:
                if self.servers[id]["status"] != "SHUTOFF":
                    return 409, {"conflictingRequest": {"message": "the server runs"}}
                self.volumes[name].update(status="available", attachments=[])
                return 202, None
            case "glance", "GET", ["images"]:
                self._later(self.images, "image")
            case "glance", "DELETE", ["images", id]:
                rows = self.lists["glance"]["/images"]["images"]
                rows[:] = [row for row in rows if row["id"] != id]
                return 204, None
            case "cinder", _, words:
                return self._cinder(method, words, query, body)
        return None

    def _act(self, record: dict[str, Any], action: Any) -> Reply | None:
        ((name, given),) = action.items()
        if name not in ("createImage", "rebuild"):
            return None
        if record.get("OS-EXT-STS:task_state") or record["status"] not in ("ACTIVE", "SHUTOFF"):
            return 409, {"conflictingRequest": {"message": f"Cannot '{name}' instance"}}
        self.acted.append((record["id"], name))
        if name == "createImage":
            made = {"id": str(uuid.uuid4()), "name": given["name"], "owner": "p1", "status": "queued", "looks": 2}
            made["content"] = self.disks[record["id"]]
            self.lists["glance"]["/images"]["images"].append(made)
            return 202, None
        record.update(before=record["status"], status="REBUILD", looks=2, image={"id": given["imageRef"]})
        return 202, {"server": {"id": record["id"]}}

    def _rebuilding(self, record: dict[str, Any]) -> None:
        record["looks"] -= 1
        if not record["looks"]:
            (image,) = [row for row in self.images if row["id"] == record["image"]["id"]]
            self.disks[record["id"]] = image["content"]
            record["status"] = record["before"]

    def _later(self, rows: list[dict[str, Any]], what: str) -> None:
        for row in rows:
            row["looks"] -= 1
            if row["looks"] == 0:
                row["status"] = self.ends[what]

    def _cinder(self, method: str, words: list[str], query: dict[str, list[str]], body: Any) -> Reply:
        match method, words:
            case "GET", ["volumes", id]:
                return (200, {"volume": self.volumes[id]}) if id in self.volumes else (404, None)
            case "POST", ["volumes", id, "action"]:
                volume, kept = self.volumes[id], self.snapshots[body["revert"]["snapshot_id"]]
                if self.version != "volume 3.40" or volume["status"] != "available" or kept["volume_id"] != id:
                    return 400, {"badRequest": {"message": f"the volume is {volume['status']}"}}
                volume["content"] = kept["content"]
                return 202, None
            case "GET", ["snapshots", "detail"]:
                self._later(list(self.snapshots.values()), "snapshot")
                return 200, {"snapshots": [row for row in self.snapshots.values() if row["name"] in query["name"]]}
            case "POST", ["snapshots"]:
                given = body["snapshot"]
                made = {"id": str(uuid.uuid4()), "status": "creating", "looks": 2, **given}
                made["content"] = self.volumes[given["volume_id"]]["content"]
                self.snapshots[made["id"]] = made
                return 202, {"snapshot": made}
            case "DELETE", ["snapshots", id]:
                return (202, None) if self.snapshots.pop(id, None) else (404, None)
        return 404, None
