"""Disks of servers and volumes, kept and brought back: images of Nova, snapshots of Cinder.

Everything is found by its name, so each function can be called again after it was broken off. Those of Nova and Cinder
take minutes; `Link.waiting` tells what is waited for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from vetro.clouds.interface import CloudError, Conflict
from vetro.clouds.waits import resource_text, server_text
from vetro_openstack.errors import CloudUnreachable
from vetro_openstack.link import Link

#: Seconds between two looks; how often a request whose end is not known is looked for and sent again.
_LOOK, _TRIES = 2.0, 4
#: The version of Cinder's API that brings volumes back.
_REVERTS = "volume 3.40"
#: States of images and snapshots that will never be whole.
_BROKEN = frozenset({"killed", "deleted", "pending_delete", "deactivated", "error", "error_deleting"})
_READY = frozenset({"active", "available"})


class Disks:
    """Those of one region. ``within``: seconds that making or bringing back one of them may take."""

    def __init__(self, link: Link, within: float) -> None:
        self._link = link
        self._within = within

    # -- servers -------------------------------------------------------------------------------------------------------

    def begin_image(self, server: str, name: str) -> None:
        """Has Nova make an image of a server (by id), unless there is one of this name."""
        body = {"createImage": {"name": name, "metadata": {"vetro_server": server}}}
        self._begin(lambda: self._images(name), self._remove_image, "compute", f"/servers/{server}/action", body)

    def await_image(self, name: str, server: str) -> str:
        """The id of the image once it is whole. Raises `CloudError`."""
        with self._link.waiting("server", server_text(server, "image")):
            return self._whole(lambda: self._images(name), f"Nova made no image of the server '{server}'")

    def image_of(self, server: str) -> str | None:
        """The image that a server was made from last; None when the server is gone."""
        found = self._server(server)
        return None if found is None else image_in(found)

    def rebuild(self, server: str, image: str, name: str) -> None:
        """Has a server (by id) begin again with this image, under the same id, ports and addresses."""
        with self._link.waiting("server", server_text(name, "rebuild")):
            self._act(server, name, {"rebuild": {"imageRef": image}}, lambda found: image_in(found) == image)

    def remove_images(self, names: Callable[[str], bool], used: frozenset[str]) -> None:
        """Removes images whose name is one of these, but those that servers use."""
        if not self._link.offers("image"):
            return
        for found in self._link.pages("image", "/images", "images", owner=self._link.project()):
            if names(str(found.get("name"))) and found["id"] not in used:
                self._remove_image(found["id"])

    def _images(self, name: str) -> list[dict[str, Any]]:
        return list(self._link.pages("image", "/images", "images", name=name))

    def _remove_image(self, id: str) -> None:
        self._link.request("image", "DELETE", f"/images/{id}")

    def _server(self, id: str) -> dict[str, Any] | None:
        answer = self._link.get("compute", f"/servers/{id}")
        return None if answer is None else dict(answer["server"])

    def _act(self, server: str, name: str, body: Mapping[str, Any], done: Callable[[dict[str, Any]], bool]) -> None:
        """Asks once, and waits until nothing is under way. Raises `CloudError`."""
        asked, end = False, time.monotonic() + self._within
        while True:
            found = self._server(server)
            if found is None:
                raise CloudError(f"server '{name}' is gone")
            state = str(found.get("status"))
            if not found.get("OS-EXT-STS:task_state") and state != "REBUILD":
                if asked and (state == "ERROR" or not done(found)):
                    fault = str((found.get("fault") or {}).get("message") or state)
                    raise CloudError(f"Nova did not bring the server '{name}' back: {fault[:500]}")
                if asked:
                    return
                try:
                    self._link.request("compute", "POST", f"/servers/{server}/action", json=body, again=False)
                    asked = True
                except (Conflict, CloudUnreachable):
                    pass  # it changed since it was looked at, or the answer got lost: the next look tells
            if time.monotonic() > end:
                raise CloudError(f"server '{name}' is still {state} after {self._within / 60:.0f} minutes")
            self._link.pause(_LOOK)

    # -- volumes -------------------------------------------------------------------------------------------------------

    def volume(self, id: str) -> dict[str, Any] | None:
        """The record of a volume; None when it is gone."""
        answer = self._link.get("block_storage", f"/volumes/{id}")
        return None if answer is None else dict(answer["volume"])

    def begin_snapshot(self, volume: str, name: str) -> None:
        """Has Cinder make a snapshot of a volume (by id), unless there is one of this name."""
        body = {"snapshot": {"volume_id": volume, "name": name, "force": True}}
        self._begin(lambda: self._snapshots(name), self._remove_snapshot, "block_storage", "/snapshots", body)

    def await_snapshot(self, name: str, volume: str) -> str:
        """The id of the snapshot once it is whole. Raises `CloudError`."""
        with self._link.waiting("resource", resource_text(volume, "OS::Cinder::Volume", "SNAPSHOT")):
            return self._whole(lambda: self._snapshots(name), f"Cinder made no snapshot of the volume '{volume}'")

    def revert(self, volume: str, snapshot: str) -> None:
        """Brings a volume back that is attached to nothing. Raises `CloudError`, and what Cinder refuses."""
        with self._link.waiting("resource", resource_text(volume, "OS::Cinder::Volume", "UPDATE")):
            self._await_volume(volume, "available")
            body = {"revert": {"snapshot_id": snapshot}}
            self._link.request("block_storage", "POST", f"/volumes/{volume}/action", json=body, version=_REVERTS)
            self._await_volume(volume, "available")

    def attach(self, volume: str, server: str, device: str) -> None:
        """Attaches a volume to a server, unless it is."""
        body = {"volumeAttachment": {"volumeId": volume, **({"device": device} if device else {})}}
        path = f"/servers/{server}/os-volume_attachments"
        for attempt in range(_TRIES):
            if any(one.get("server_id") == server for one in self._attachments(volume)):
                break
            try:
                self._link.request("compute", "POST", path, json=body, again=False)
                break
            except CloudUnreachable:
                if attempt == _TRIES - 1:
                    raise
            self._link.pause(_LOOK)
        self._await_volume(volume, "in-use")

    def detach(self, volume: str) -> None:
        """Takes a volume from its servers, which do not run."""
        for one in self._attachments(volume):
            self._link.request("compute", "DELETE", f"/servers/{one['server_id']}/os-volume_attachments/{volume}")

    def remove_snapshot(self, name: str) -> None:
        """Removes the snapshot of this name, and waits until it is gone."""
        end = time.monotonic() + self._within
        while found := self._snapshots(name):
            for one in found:
                if one.get("status") != "deleting":
                    self._remove_snapshot(one["id"])
            if time.monotonic() > end:
                raise CloudError(f"Cinder's snapshot '{name}' is still {found[0].get('status')}")
            self._link.pause(_LOOK)

    def _snapshots(self, name: str) -> list[dict[str, Any]]:
        if not self._link.offers("block_storage"):
            return []
        return list(self._link.pages("block_storage", "/snapshots/detail", "snapshots", name=name))

    def _remove_snapshot(self, id: str) -> None:
        self._link.request("block_storage", "DELETE", f"/snapshots/{id}")

    def _attachments(self, volume: str) -> list[dict[str, Any]]:
        return list((self.volume(volume) or {}).get("attachments") or ())

    def _await_volume(self, volume: str, wanted: str) -> None:
        end = time.monotonic() + self._within
        while True:
            state = str((self.volume(volume) or {"status": "gone"})["status"])
            if state == wanted:
                return
            if state.startswith("error") or state == "gone" or time.monotonic() > end:
                raise CloudError(f"the volume '{volume}' is {state} and does not become {wanted}")
            self._link.pause(_LOOK)

    # -- both ----------------------------------------------------------------------------------------------------------

    def _begin(
        self,
        look: Callable[[], list[dict[str, Any]]],
        remove: Callable[[str], None],
        service: str,
        path: str,
        body: Mapping[str, Any],
    ) -> None:
        """Sends a request that makes something, unless it is there; an answer that got lost is looked for."""
        end = time.monotonic() + self._within
        for attempt in range(_TRIES):
            found = look()
            for one in found:
                if one.get("status") in _BROKEN:
                    remove(one["id"])
            if any(one.get("status") not in _BROKEN for one in found):
                return
            while True:
                try:
                    if self._link.request(service, "POST", path, json=body, again=False) is None:
                        raise CloudError("what a snapshot was to be made of is gone")
                    return
                except Conflict:  # Nova is at it, with something else
                    if time.monotonic() > end:
                        raise
                    self._link.pause(_LOOK)
                except CloudUnreachable:
                    if attempt == _TRIES - 1:
                        raise
                    self._link.pause(_LOOK)
                    break

    def _whole(self, look: Callable[[], list[dict[str, Any]]], without: str) -> str:
        end = time.monotonic() + self._within
        while True:
            found = look()
            for one in found:
                if one.get("status") in _READY:
                    return str(one["id"])
            if all(one.get("status") in _BROKEN for one in found):
                raise CloudError(without)
            if time.monotonic() > end:
                raise CloudError(f"{without} within {self._within / 60:.0f} minutes")
            self._link.pause(_LOOK)


def image_in(server: Mapping[str, Any]) -> str:
    """The id of the image in Nova's record of a server; '' for one that starts from a volume."""
    image = server.get("image")
    return str(image.get("id") or "") if isinstance(image, dict) else ""
