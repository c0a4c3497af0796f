"""`KIND`: clouds whose servers are containers of systemd-nspawn on this machine. What a machine needs for them."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vetro.clouds.drivers.errors import HelperAway
from vetro.clouds.drivers.programs import examine_programs
from vetro.clouds.drivers.tools import which
from vetro.clouds.helper import presence
from vetro.clouds.images.store import ImageStore
from vetro.clouds.kind_protocols import Capabilities, Lack, Place, Remark
from vetro.clouds.nspawn import id_ranges, inotify
from vetro.clouds.nspawn.cgroups import Cgroups
from vetro.clouds.nspawn.disks import no_btrfs
from vetro.clouds.stacks.kind import NO_IMAGE, GuestKind
from vetro.clouds.stacks.settings import StackSettings
from vetro.diagnostics import Text

if TYPE_CHECKING:
    from vetro.clouds.helper.driver import HelperDriver
    from vetro.clouds.images.building import BuildsImages
    from vetro.clouds.nspawn.driver import NspawnDriver
    from vetro.clouds.stacks.machine_images import Images

_TOOLS = ("systemd-nspawn", "ip", "nft", "nsenter", "unshare", "setsid", "mount")
#: Programs that a person installs, by the package of Debian that holds each.
_PROGRAMS = {"systemd-nspawn": "systemd-container", "mmdebstrap": "mmdebstrap", "ip": "iproute2", "nft": "nftables"}
_NO_NAMESPACES: Final = Text("namespaces cannot be made here (is this itself a container?)")
_NO_FILTER: Final = Text("the packet filter (nft) cannot be used here (is this itself a container?)")
#: Servers that a machine is looked at for.
SERVERS = 30
#: Why there are no servers without rights, and what to do.
NO_RIGHTS: Final = Text("it needs root, or the cloud helper")
#: How disks of new servers get the file system that keeps them while they run.
_BTRFS: Final = Text("apt install btrfs-progs, on a kernel that has btrfs; servers that are there keep their disks")
_RANGES: Final = Text("keep images on ext4, xfs or btrfs (VETRO_IMAGES), with Linux 5.19 or later")
USE_HELPER: Final = Text("'vetro cloud helper', run by root beside the service (docs/operations/one-machine.md)")


class NspawnKind(GuestKind[StackSettings]):
    """Implements `CloudKind`."""

    name = "nspawn"
    title = Text("servers are containers that run what the packages say")
    settings = StackSettings
    rank = 10
    modules = ("vetro.clouds.stacks.cloud", "vetro.clouds.nspawn.driver")
    needs_rights = True

    def driver(self, settings: StackSettings, place: Place) -> NspawnDriver | HelperDriver:
        """See `DriverKind.driver`."""
        if _helped(place.directory):
            return _drivers()[1](self.name, place.directory / self.name, place.channels)
        return self.privileged(settings, place)

    def images(self, place: Place) -> Images | None:
        """See `DriverKind.images`."""
        if not _helped(place.directory):
            return None
        return _drivers()[1](self.name, place.directory / self.name).images

    def image_names(self, place: Place) -> frozenset[str]:
        """See `GuestKind.image_names`."""
        return presence.image_names() if _helped(place.directory) else super().image_names(place)

    def builds(self, place: Place) -> BuildsImages:
        """See `GuestKind.builds`."""
        if not _helped(place.directory):
            return super().builds(place)
        return _drivers()[1](self.name, place.directory / self.name)

    def privileged(self, settings: StackSettings, place: Place) -> NspawnDriver:
        """See `DriverKind.privileged`."""
        return _drivers()[0](
            place.directory,
            images=place.images,
            agent=place.agent,
            channels=place.channels,
            link_cidr=settings.link_cidr,
        )

    def missing(self, images: ImageStore | None = None) -> str | None:
        """See `GuestKind.missing`."""
        if os.geteuid() != 0:
            return NO_RIGHTS
        tools = [tool for tool in _TOOLS if which(tool) is None]
        if tools:
            return Text("these programs are not installed: {tools}", tools=", ".join(tools))
        if not Cgroups().hierarchies():
            return Text("no control groups are mounted under /sys/fs/cgroup")
        try:
            filesystems = Path("/proc/filesystems").read_text("ascii").split()
        except OSError:
            filesystems = []
        if "overlay" not in filesystems:
            return Text("the kernel has no overlay file system")
        for words, lack in (
            (["unshare", "--mount", "--net", "--pid", "--uts", "--ipc", "--fork", "true"], _NO_NAMESPACES),
            (["nft", "list", "tables"], _NO_FILTER),
        ):
            if subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True).returncode != 0:
                return lack
        if images is not None and not any(image.shifted.is_dir() for image in images.list()):
            return NO_IMAGE
        return None

    def capabilities(self, settings: StackSettings) -> Capabilities:
        """See `CloudKind.capabilities`."""
        return Capabilities(
            executes=True,
            walls="full",
            agents="stream",
            journals=True,
            commands=True,
            volumes="attach",
            networks="own",
            groups="full",
            floating=True,
            shared_ips=True,
            power=True,
            server_snapshots=True,
            architectures=(platform.machine(),),
            quota=True,
        )

    def examine_machine(self) -> Iterator[Remark]:
        """See `ExaminesMachine`."""
        yield examine_programs(_PROGRAMS, Text("servers are containers"), root=True)
        if os.geteuid() == 0:
            yield from _limits()

    def lacks(self, settings: StackSettings, place: Place) -> Lack | None:
        """See `CloudKind.lacks`. Without root's rights it is the cloud helper that may lack something."""
        if not _helped(place.directory):
            return super().lacks(settings, place)
        try:
            found = presence.lacks()
        except HelperAway as error:
            return Lack(NO_RIGHTS if not presence.address().exists() else error.message, USE_HELPER)
        return found

    def kept(self, directory: Path) -> NspawnDriver | HelperDriver | None:
        """See `DriverKind.kept`. Only root can see it, and who asks the cloud helper."""
        if not (directory / self.name).is_dir():
            return None
        if presence.note_of(directory / self.name).exists():
            return _drivers()[1](self.name, directory / self.name)
        if os.geteuid() != 0:
            return None
        return _drivers()[0](directory)

    def lacks_rights(self, directory: Path) -> Lack | None:
        """See `DriverKind.lacks_rights`."""
        servers = directory / self.name / "servers"
        if os.geteuid() == 0 or not servers.is_dir() or not any(servers.iterdir()):
            return None
        reason = Text("the servers in {servers} were made as root, and only root can remove them", servers=servers)
        return Lack(reason, "sudo vetro cloud clean")

    def orphans(self) -> Mapping[str, str]:
        """See `DriverKind.orphans`."""
        from vetro.clouds.nspawn import registry

        return registry.orphans()

    def purge(self, cloud: str) -> Iterator[str]:
        """See `DriverKind.purge`. Nothing for anybody but root."""
        from vetro.clouds.nspawn import registry

        if os.geteuid() == 0:
            yield from registry.purge(cloud)


KIND = NspawnKind()


def _limits() -> Iterator[Remark]:
    """What the kernel lets many servers have, and have of their own."""
    limit = inotify.limit()
    enough, most = limit >= inotify.enough_for(SERVERS), inotify.servers_of(limit)
    text = Text(
        "at most {limit} watchers of files (inotify) for all servers together: enough for about {most} servers",
        limit=limit,
        most=most,
    )
    yield Remark("ok" if enough else "warning", text, None if enough else inotify.remedy(SERVERS), "watches")
    lack = no_btrfs()
    text = (
        Text("servers run on while their disks are kept")
        if lack is None
        else Text("keeping a disk stops its server: {lack}", lack=lack)
    )
    yield Remark("ok" if lack is None else "warning", text, None if lack is None else _BTRFS, "snapshots")
    for image in [image for image in ImageStore().list() if image.shifted.is_dir()][:1]:
        lack = id_ranges.lacking(image.shifted, image.uid)
        text = Text("a range for each server") if lack is None else Text("one range for all servers: {lack}", lack=lack)
        advice = None if lack is None else _RANGES
        yield Remark("ok" if lack is None else "warning", text, advice, "user ids")


def _helped(directory: Path) -> bool:
    """Whether the servers of the cloud in this folder are made by the cloud helper."""
    return os.geteuid() != 0 or presence.note_of(directory / KIND.name).exists()


def _drivers() -> tuple[type[NspawnDriver], type[HelperDriver]]:
    """The drivers take long to import, and kinds are asked for their names by every command."""
    from vetro.clouds.nspawn.driver import HelperDriver, NspawnDriver

    return NspawnDriver, HelperDriver
