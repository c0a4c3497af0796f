"""`KIND`: clouds whose servers are folders of this machine, for users without root."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from vetro.clouds.drivers.programs import examine_programs
from vetro.clouds.drivers.tools import which
from vetro.clouds.images.store import ImageStore
from vetro.clouds.kind_protocols import Capabilities, Place, Remark
from vetro.clouds.stacks.kind import NO_IMAGE, GuestKind
from vetro.clouds.stacks.settings import StackSettings
from vetro.diagnostics import Text

if TYPE_CHECKING:
    from vetro.clouds.proot.driver import ProotDriver

#: Programs that a person installs, by the package of Debian that holds each.
_PROGRAMS = {"proot": "proot", "mmdebstrap": "mmdebstrap"}


class ProotKind(GuestKind[StackSettings]):
    """Implements `CloudKind`."""

    name = "proot"
    title = Text("servers are folders, without an init system and without protection from their scripts")
    settings = StackSettings
    rank = 20
    modules = ("vetro.clouds.stacks.cloud", "vetro.clouds.proot.driver")

    def driver(self, settings: StackSettings, place: Place) -> ProotDriver:
        """See `DriverKind.driver`."""
        from vetro.clouds.proot.driver import ProotDriver

        return ProotDriver(place.directory, images=place.images, agent=place.agent, channels=place.channels)

    def missing(self, images: ImageStore | None = None) -> str | None:
        """See `GuestKind.missing`."""
        if os.geteuid() == 0:
            return Text("it protects nothing from root: as root use nspawn")
        if which("proot") is None:
            return Text("proot is not installed")
        if images is not None and not images.list():
            return NO_IMAGE
        return None

    def capabilities(self, settings: StackSettings) -> Capabilities:
        """See `CloudKind.capabilities`: networks and groups are written down and mean nothing."""
        return Capabilities(
            executes=True,
            walls="none",
            agents="stream",
            journals=True,
            commands=True,
            volumes="attach",
            power=True,
            server_snapshots=True,
            machines="host",
            architectures=(platform.machine(),),
            quota=True,
        )

    def examine_machine(self) -> Iterator[Remark]:
        """See `ExaminesMachine`."""
        yield examine_programs(_PROGRAMS, Text("servers are folders, without root"), root=False)

    def kept(self, directory: Path) -> ProotDriver | None:
        """See `DriverKind.kept`."""
        if not (directory / self.name).is_dir():
            return None
        from vetro.clouds.proot.driver import ProotDriver

        return ProotDriver(directory)


KIND = ProotKind()
