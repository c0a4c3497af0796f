"""What the hand-written versions share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Native(NamedTuple):
    """A hand-written workload."""

    prepare: Callable[[int, str], Any]
    run: Callable[[int, Any], Any]


class Violation(Exception):
    """A value does not fit."""


def nothing(n: int, tmp: str) -> None:
    """For workloads that need no state."""
