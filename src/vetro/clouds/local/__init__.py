"""The local cloud: a whole cloud on one machine, whose servers are sandboxes that run the scripts (LOCAL_CLOUD.md).

`LocalCloud` keeps the state of everything in a directory and interprets the stacks; drivers
(`vetro.clouds.local.drivers`) make the servers.
"""

from __future__ import annotations

from vetro.clouds.local.cloud import LocalCloud
from vetro.clouds.local.settings import LocalSettings

__all__ = ["LocalCloud", "LocalSettings"]
