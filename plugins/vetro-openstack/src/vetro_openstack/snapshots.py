"""Snapshots of environments on an OpenStack: images of servers, snapshots of volumes, templates as they were.

Servers run on meanwhile. Back: `rebuild` with the image, under the same id, ports and addresses; then the stacks get
their old templates, of which Heat sees that servers are as they say; then volumes. What Heat has replaced or deleted
cannot be held: its place in a stack belongs to another one. `report` says so before and after (`Holdable`).

Each step is convergent by name, and what was broken off is finished by the same call; `snapshot_record` has the state.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from vetro.clouds.interface import CloudError, Conflict, Held, Holdable, NotFound, Owner, PowerAction
from vetro_openstack import marks, servers
from vetro_openstack.disks import Disks, image_in
from vetro_openstack.errors import Closing, CloudUnreachable, NoWayBack
from vetro_openstack.link import Link
from vetro_openstack.settings import OpenStackSettings
from vetro_openstack.snapshot_record import (
    KeptServer,
    KeptStack,
    KeptVolume,
    Record,
    Records,
    kept_name,
    prefix,
)
from vetro_openstack.stack_progress import settled
from vetro_openstack.stacks import Stacks

#: What Heat calls the type.
VOLUME = "OS::Cinder::Volume"
#: What brings a server to the state that it had.
_POWER: Mapping[str, PowerAction] = {"ACTIVE": "start", "SHUTOFF": "stop"}
_DOING = {"making": "made", "restoring": "restored", "dropping": "dropped"}
_FROM_VOLUME = "it starts from a volume, with which Nova does not rebuild servers"
_NO_GLANCE = "this cloud has no Glance for an image of it"
_GONE = "there is no way back: Heat has replaced or deleted it since the snapshot '{name}'"


class Snapshots:
    """See `vetro.clouds.interface.Snapshots`. ``regions``: those besides the home region."""

    def __init__(
        self,
        settings: OpenStackSettings,
        stacks: Stacks,
        link: Callable[[Owner, str], Link],
        regions: Callable[[], Sequence[str]],
    ) -> None:
        self._settings = settings
        self._stacks = stacks
        self._link = link
        self._regions = regions
        self._records = Records(stacks, link)

    def refuse_unfinished(self, owner: Owner) -> None:
        """Raises `Conflict` while a snapshot is being made, restored or dropped, or that was broken off."""
        record = self._records.read(owner)
        if record is not None and record.state != "open":
            raise Conflict(
                f"the snapshot '{record.name}' of the environment is being {_DOING[record.state]}, or that was broken"
                " off; finish it first"
            )

    # -- report --------------------------------------------------------------------------------------------------------

    def report(self, owner: Owner) -> list[Holdable]:
        """See `Snapshots.snapshot_report`."""
        found = [
            Holdable(
                id=one.id,
                name=one.name,
                kind="server",
                method="" if one.why else "image",
                why=one.why,
                lost_when_replaced=True,
            )
            for one in self._servers(owner, "")
        ]
        found += [
            Holdable(id=one.id, name=one.name, kind="volume", method="snapshot", lost_when_replaced=True)
            for one in self._volumes(owner, "")
        ]
        record = self._records.read(owner)
        there = {one.id for one in found}
        kept: list[KeptServer | KeptVolume] = [] if record is None else [*record.servers, *record.volumes]
        return found + [
            Holdable(
                id=one.id,
                name=one.name,
                kind="server" if isinstance(one, KeptServer) else "volume",
                why=_GONE.format(name=record.name if record is not None else ""),
            )
            for one in kept
            if one.id not in there
        ]

    # -- make ----------------------------------------------------------------------------------------------------------

    def take(self, owner: Owner, name: str) -> list[Held]:
        """See `Snapshots.snapshot`."""
        record = self._records.read(owner)
        if record is not None and record.name != name:
            raise Conflict(f"the environment has the snapshot '{record.name}' already; drop it first")
        if record is not None and record.state in ("restoring", "dropping"):
            self.refuse_unfinished(owner)
        if record is None:
            record = self._seen(owner, name)
            self._records.write(owner, record)
        if record.state == "making":
            try:
                self._keep(owner, record)
            except (Closing, CloudUnreachable):
                raise
            except CloudError:
                with suppress(CloudError):  # who asks for it again, or drops it, finishes
                    self._undo(owner, record)
                raise
            record.state = "open"
            self._records.write(owner, record)
        made = [Held(id=one.id, name=one.name, kind="server", method="image") for one in record.servers if not one.why]
        return made + [Held(id=one.id, name=one.name, kind="volume", method="snapshot") for one in record.volumes]

    def _seen(self, owner: Owner, name: str) -> Record:
        """What there is, once nothing is under way. Nothing was done yet."""
        record = Record(name=name, mark=uuid.uuid4().hex[:16])
        for region, link in self._links(owner):
            for stack in self._stacks.ids(link, owner):
                still = settled(link, stack, self._settings.stack_minutes)
                parts = None if still is None else self._stacks.parts(link, still)
                if still is not None and parts is not None:
                    rows = [[section, key, value] for (section, key), value in parts.items()]
                    record.stacks.append(KeptStack(name=marks.name_in(still), region=region, parts=rows))
        record.servers = list(self._servers(owner, record.mark))
        record.volumes = list(self._volumes(owner, record.mark))
        return record

    def _keep(self, owner: Owner, record: Record) -> None:
        kept = [one for one in record.servers if not one.why]
        for server in kept:
            self._disks(owner, server.region).begin_image(server.id, server.image)
        for volume in record.volumes:
            self._disks(owner, volume.region).begin_snapshot(volume.id, volume.snapshot)
        for server in kept:
            self._disks(owner, server.region).await_image(server.image, server.name)
        for volume in record.volumes:
            self._disks(owner, volume.region).await_snapshot(volume.snapshot, volume.name)

    # -- restore -------------------------------------------------------------------------------------------------------

    def restore(self, owner: Owner, name: str) -> None:
        """See `Snapshots.restore`. Raises `NoWayBack` where all is done that can be, and something is lost."""
        record = self._records.read(owner)
        if record is None or record.name != name:
            raise NotFound(f"the environment has no snapshot '{name}'")
        if record.state not in ("open", "restoring"):
            self.refuse_unfinished(owner)
        record.state = "restoring"
        self._records.write(owner, record)
        self._remove_later(owner, record)
        lost = [one for one in record.servers if self._disks(owner, one.region).image_of(one.id) is None]
        kept = [one for one in record.servers if not one.why and one not in lost]
        for server in kept:
            self._rebuild(owner, server)
        for stack in record.stacks:
            link = self._link(owner, stack.region)
            self._stacks.push(link, owner, stack.region, stack.name, stack.change())
        for server in kept:
            # Heat itself rebuilds a server whose template named another image.
            if self._disks(owner, server.region).image_of(server.id) != self._image(owner, server):
                self._rebuild(owner, server)
        gone = [one.name for one in lost] + [one.name for one in record.volumes if not self._revert(owner, one)]
        for server in kept:
            action = _POWER.get(server.status)
            if action is not None:
                servers.power(self._link(owner, server.region), server.id, action)
        record.state = "open"
        self._records.write(owner, record)
        if gone:
            raise NoWayBack(
                f"the environment is as it was but for {', '.join(sorted(gone))}: Heat had replaced or deleted it, and"
                " what is there now was made anew"
            )

    def _remove_later(self, owner: Owner, record: Record) -> None:
        """Removes stacks that came after the snapshot, once nothing is under way."""
        then = {(one.region, one.name) for one in record.stacks}
        for region, link in self._links(owner):
            for stack in self._stacks.ids(link, owner):
                settled(link, stack, self._settings.stack_minutes)
                if (region, marks.name_in(stack)) not in then:
                    self._stacks.delete(link, owner, marks.name_in(stack))

    def _image(self, owner: Owner, server: KeptServer) -> str:
        return self._disks(owner, server.region).await_image(server.image, server.name)

    def _rebuild(self, owner: Owner, server: KeptServer) -> None:
        self._disks(owner, server.region).rebuild(server.id, self._image(owner, server), server.name)

    def _revert(self, owner: Owner, volume: KeptVolume) -> bool:
        """Brings a volume back, while what it is attached to does not run; whether it is still there."""
        disks, link = self._disks(owner, volume.region), self._link(owner, volume.region)
        if disks.volume(volume.id) is None:
            return False
        there = [(server, device) for server, device in volume.attached if disks.image_of(server) is not None]
        for server, _ in there:
            servers.power(link, server, "stop")
        disks.detach(volume.id)
        disks.revert(volume.id, disks.await_snapshot(volume.snapshot, volume.name))
        for server, device in there:
            disks.attach(volume.id, server, device)
        return True

    # -- drop ----------------------------------------------------------------------------------------------------------

    def drop(self, owner: Owner, name: str) -> None:
        """See `Snapshots.drop`. Images that servers were rebuilt with stay as long as these need them."""
        record = self._records.read(owner)
        if record is None or record.name != name:
            return
        if record.state == "restoring":
            self.refuse_unfinished(owner)
        self._undo(owner, record)

    def _undo(self, owner: Owner, record: Record) -> None:
        if record.state != "dropping":
            record.state = "dropping"
            self._records.write(owner, record)
        for volume in record.volumes:
            self._disks(owner, volume.region).remove_snapshot(volume.snapshot)
        for region, _ in self._links(owner):
            # Also what earlier snapshots left, since servers needed it then.
            used = frozenset(one.image for one in self._servers(owner, "", only=region))
            self._disks(owner, region).remove_images(lambda name: name.startswith(prefix(owner)), used)
        self._records.remove(owner)

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _links(self, owner: Owner) -> Iterator[tuple[str, Link]]:
        for region in ("", *self._regions()):
            yield region, self._link(owner, region)

    def _disks(self, owner: Owner, region: str) -> Disks:
        return Disks(self._link(owner, region), self._settings.stack_minutes * 60.0)

    def _servers(self, owner: Owner, mark: str, *, only: str | None = None) -> Iterator[KeptServer]:
        """Those of the environment. ``image``: what theirs is called in the snapshot with this mark; without one, of
        which they are.
        """
        for region, link in self._links(owner):
            if not link.offers("compute") or only not in (None, region):
                continue
            for id, _ in servers.made(link, self._stacks, owner):
                answer = link.get("compute", f"/servers/{id}")
                if answer is None:
                    continue
                found = answer["server"]
                why = "" if link.offers("image") else _NO_GLANCE
                yield KeptServer(
                    id=id,
                    name=str(found.get("name") or id),
                    region=region,
                    status=str(found.get("status")),
                    image=kept_name(owner, mark, id) if mark else image_in(found),
                    why=why or ("" if image_in(found) else _FROM_VOLUME),
                )

    def _volumes(self, owner: Owner, mark: str) -> Iterator[KeptVolume]:
        for region, link in self._links(owner):
            if not link.offers("block_storage"):
                continue
            for id, _ in servers.made(link, self._stacks, owner, VOLUME):
                found = self._disks(owner, region).volume(id)
                if found is not None:
                    attached = [
                        [str(one.get("server_id")), str(one.get("device") or "")]
                        for one in found.get("attachments") or ()
                    ]
                    yield KeptVolume(
                        id=id,
                        name=str(found.get("name") or id),
                        region=region,
                        snapshot=kept_name(owner, mark, id),
                        attached=attached,
                    )
