"""What handlers of resources work with: state, driver, settings, time, and one lock for each server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path

from vetro.clouds.drivers.alone import Alone
from vetro.clouds.drivers.base import ServerDriver
from vetro.clouds.drivers.specs import NetworkSpec
from vetro.clouds.kind_protocols import Capabilities
from vetro.clouds.stacks.addresses import Addresses
from vetro.clouds.stacks.settings import StackSettings
from vetro.clouds.stacks.state.database import Database
from vetro.clouds.stacks.state.inventory import Inventory
from vetro.clouds.waits import Waits
from vetro.data_classes import dataclass


@dataclass(slots=True)
class Services:
    """Shared by all threads of one opened cloud."""

    #: None: all is in memory.
    directory: Path | None
    database: Database
    driver: ServerDriver
    settings: StackSettings
    clock: Callable[[], float] = time.time
    #: Most that a project may have, by quota (`vetro.clouds.quotas`); what is missing here has no limit.
    quotas: Mapping[str, int] = field(default_factory=dict)
    #: What templates may need; None: everything.
    capabilities: Capabilities | None = None
    #: Name of the kind that has these capabilities; '': that of the driver.
    kind: str = ""
    #: Networks as this process told them to the driver last.
    networks: dict[str, NetworkSpec] = field(default_factory=dict)
    #: What operations wait for now.
    waits: Waits = field(default_factory=Waits)
    #: Set when the cloud is closed: waits end.
    closing: threading.Event = field(default_factory=threading.Event)
    #: Holds the lock of a server or network.
    alone: Alone = field(default_factory=Alone)

    @property
    def addresses(self) -> Addresses:
        """The keeper of addresses."""
        return Addresses(self.database)

    def things(self, region: str, project: str | None, environment: str | None = None) -> Inventory:
        """The records of a region as a project, or one environment of it, sees them."""
        return Inventory(self.database, region, project, environment)
