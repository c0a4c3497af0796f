"""The MuranoPL code that calls native code: its context and its object, found on the Python stack."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any


def calling_context(fallback: Any) -> Any:
    """The `cx` of the MuranoPL code that (directly or through library code) calls native code."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        space = frame.f_globals
        if "__murano__" in space:
            return space["cx"]
        frame = frame.f_back
    return fallback


def let_go(local: Any) -> None:
    """Empties what ``frame.f_locals`` gave: before Python 3.13 a copy that would live as long as the frame, and keep
    what the method lets go of; since then the variables themselves, of which there is no copy."""
    if isinstance(local, dict):
        local.clear()


def calling_object() -> Any:
    """The object whose MuranoPL method (directly or through library code) calls native code; None in static methods."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if "__murano__" in frame.f_globals:
            local = frame.f_locals
            found = local.get("self")
            let_go(local)
            if found is not None:
                return getattr(found, "_object", found)
        frame = frame.f_back
    return None
