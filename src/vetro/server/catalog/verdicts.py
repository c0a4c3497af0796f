"""`verdict_of`: what was found of a version when it was compared with the one before it, in a word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def verdict_of(compat: Mapping[str, Any]) -> str:
    """``first`` (nothing to compare with), ``unknown``, ``breaking`` or ``compatible``, of what is kept with it."""
    if not compat:
        return "first"
    levels = {finding["level"] for finding in compat["findings"]}
    if "major" in levels:
        return "breaking"
    return "unknown" if "unknown" in levels or compat["reason"] is not None else "compatible"
