"""Tests that every driver of servers has to pass, for authors of kinds of clouds.

Derive a test class, say which kind it is and what its backend holds, and run it with pytest or unittest::

    class TestMyCloud(DriverConformance):
        kind = my_package.KIND

        def listing(self):
            return names of everything that the backend has now

Each test opens a cloud of its own in a folder of its own. The core part is for all drivers, facets belong to
capabilities. What the kind does not claim (`Capabilities`) is skipped; what it claims and does not do fails, and so
does what it does and does not claim.
"""

from __future__ import annotations

from vetro.clouds.drivers.conformance.case import OWNER
from vetro.clouds.drivers.conformance.core import Core
from vetro.clouds.drivers.conformance.facets import (
    Agents,
    Claims,
    Commands,
    Configurations,
    Consoles,
    Journals,
    Measurements,
    Power,
    Quotas,
    Volumes,
)
from vetro.clouds.drivers.conformance.network_facets import FloatingAddresses, Groups, Networks
from vetro.clouds.drivers.conformance.snapshots import Snapshots

__all__ = ["OWNER", "DriverConformance"]


class DriverConformance(
    Core,
    Power,
    Consoles,
    Journals,
    Commands,
    Measurements,
    Configurations,
    Volumes,
    Networks,
    Groups,
    FloatingAddresses,
    Agents,
    Quotas,
    Snapshots,
    Claims,
):
    """The core part and all facets. Set `kind`, and give the `listing` of its backend."""
