"""Performs the effects of tasks: the only part with network, cloud state and an environment's credentials.

`HostProcess` is how a worker runs it; `EffectsHost` is the same as an object.
`build_host` makes one of plain settings. See DESIGN, "Running tasks".
"""

from __future__ import annotations

from vetro.engine.host.answer import Effect, HostConfigError, Request
from vetro.engine.host.config import build_host
from vetro.engine.host.encryption import Seal
from vetro.engine.host.frame_server import Service
from vetro.engine.host.performer import EffectsHost
from vetro.engine.host.process import HostProcess

__all__ = [
    "Effect",
    "EffectsHost",
    "HostConfigError",
    "HostProcess",
    "Request",
    "Seal",
    "Service",
    "build_host",
]
