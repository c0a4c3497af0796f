"""`KIND`: clouds whose servers are only written down. They work everywhere, and plans are made in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from vetro.clouds.kind_protocols import Capabilities, Lack, Place, Remark
from vetro.clouds.record.table import Table
from vetro.clouds.stacks.kind import DriverKind
from vetro.clouds.stacks.settings import StackSettings
from vetro.data_classes import dataclass
from vetro.diagnostics import Text

if TYPE_CHECKING:
    from vetro.clouds.record.driver import RecordDriver


@dataclass(frozen=True, slots=True)
class RecordSettings(StackSettings):
    """Settings of clouds of kind `record`."""

    #: File with what the servers answer; '': everything succeeds.
    script: str = ""


class RecordKind(DriverKind[RecordSettings]):
    """Implements `CloudKind`."""

    name = "record"
    title = Text("nothing is executed, everything is written down")
    settings = RecordSettings
    rank = 90
    modules = ("vetro.clouds.stacks.cloud", "vetro.clouds.record.driver", "vetro.clouds.record.table")

    def driver(self, settings: RecordSettings, place: Place) -> RecordDriver:
        """See `DriverKind.driver`. Raises `TableInvalid`, too."""
        from vetro.clouds.record.driver import RecordDriver

        directory = place.directory if place.memory is None else None
        return RecordDriver(directory, Table.read(settings.script) if settings.script else None)

    def examine_machine(self) -> Iterator[Remark]:
        """See `ExaminesMachine`."""
        yield Remark("ok", Text("servers are only written down"))

    def lacks(self, settings: RecordSettings, place: Place) -> Lack | None:
        """See `CloudKind.lacks`. Raises `TableInvalid` for a script that cannot be understood."""
        if settings.script:
            Table.read(settings.script)
        return None

    def capabilities(self, settings: RecordSettings) -> Capabilities:
        """See `CloudKind.capabilities`: everything can be written down."""
        return Capabilities(
            executes=False,
            walls="full",
            agents="stream",
            volumes="attach",
            networks="own",
            groups="full",
            floating=True,
            shared_ips=True,
            resize=True,
            power=True,
            server_snapshots=True,
            quota=True,
        )


KIND = RecordKind()
