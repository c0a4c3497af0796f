"""The MuranoPL language as a library.

`Engine` and `Session` run models; `Limits` bounds them; the rest is in the modules of this package. Names are loaded
when first used, so that importing the package is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vetro.muranopl.api import Engine as Engine
    from vetro.muranopl.runtime.execution import RealClock as RealClock
    from vetro.muranopl.runtime.execution import VirtualClock as VirtualClock
    from vetro.muranopl.session import Session as Session
    from vetro.yaql.context import Limits as Limits

_HOMES = {
    "Engine": "vetro.muranopl.api",
    "Session": "vetro.muranopl.session",
    "RealClock": "vetro.muranopl.runtime.execution",
    "VirtualClock": "vetro.muranopl.runtime.execution",
    "Limits": "vetro.yaql.context",
}

__all__ = ["Engine", "Limits", "RealClock", "Session", "VirtualClock"]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)
