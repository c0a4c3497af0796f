"""Where an answer is meant to differ from the recording: each place with its reason (docs/decisions)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tests.acceptance.golden.compare import Allowed
from tests.acceptance.golden.recording import Exchange


@dataclass(frozen=True)
class Deviation:
    """Exchanges that are answered otherwise, and how."""

    why: str
    places: Mapping[str, Sequence[int]]
    status: int | None = None
    allowed: Allowed = field(default_factory=Allowed)
    change: Callable[[Any], Any] | None = None


#: What may differ everywhere.
EVERYWHERE: Final = Allowed(
    # API.md 3: packages tell their version. DESIGN, "Addresses": discovery lists v2 after v1.0.
    more=(r"\$(\.packages\[\d+\])?\.version",),
    contains=(r"\$\.versions",),
)
DEVIATIONS: Final[tuple[Deviation, ...]] = (
    Deviation(
        "DESIGN: a recorded 5xx becomes the 4xx of the neighbouring rule (no usable body: 400)",
        {"02-categories": [23, 25], "05-packages-upload": [18, 20, 29]},
        status=400,
    ),
    Deviation(
        "API.md 1 [bug]: XML was served incompletely; it is not acceptable like any other type",
        {"01-discovery": [23]},
        status=406,
    ),
    Deviation(
        "API.md 3 [bug]: an unparseable JSON part was ignored; one that is no object is refused like other wrong types",
        {"05-packages-upload": [9, 10]},
        status=400,
    ),
    Deviation(
        "No order is promised among equals (package_count), nor by id, which is random",
        {"02-categories": [11], "04-packages-search": [9]},
        allowed=Allowed(free=(r"\$\.next_marker", r"\$\.categories\[[12]\].*"), unordered=(r"\$\.packages",)),
    ),
    Deviation(
        "Our own generator writes the form of a HOT package; what it asks is tested with the forms",
        {"03-packages": [9]},
        allowed=Allowed(whole=True),
    ),
    Deviation(
        "API.md 3, Vetro: version is honoured as a specification (nothing of version 1.2.0; >0 means from 1.0.0)",
        {"04-packages-search": [52, 53]},
        change=lambda body: {"packages": []},
    ),
    Deviation(
        "A manifest without Description or Author has none: no text stands in, least of all somebody's name",
        {"05-packages-upload": [25, 30, 33, 34], "08-packages-upload-parts": [20]},
        allowed=Allowed(free=(r"\$\.description", r"\$\.author")),
    ),
)


def of(exchange: Exchange) -> list[Deviation]:
    """The deviations of one exchange."""
    return [one for one in DEVIATIONS if exchange.index in one.places.get(exchange.file, ())]
