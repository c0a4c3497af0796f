"""Where an answer is meant to differ from the recording: each place with its reason (docs/decisions)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.acceptance.golden.compare import Allowed
from tests.acceptance.golden.recording import Exchange


@dataclass(frozen=True)
class Deviation:
    """Exchanges that are answered otherwise, and how."""

    why: str
    places: Mapping[str, Sequence[int]]
    status: int | None = None
    allowed: Allowed = Allowed()
    change: Callable[[Any], Any] | None = None


#: What may differ everywhere.
EVERYWHERE: Final = Allowed()
DEVIATIONS: Final[tuple[Deviation, ...]] = ()


def of(exchange: Exchange) -> list[Deviation]:
    """The deviations of one exchange."""
    return [one for one in DEVIATIONS if exchange.index in one.places.get(exchange.file, ())]
