"""The flavors of a new cloud: sizes by which everybody calls servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: name: vcpus, MiB, GiB
FLAVORS: Final[Mapping[str, tuple[int, int, int]]] = {
    "m1.tiny": (1, 512, 1),
    "m1.small": (1, 2048, 20),
    "m1.medium": (2, 4096, 40),
    "m1.large": (4, 8192, 80),
    "m1.xlarge": (8, 16384, 160),
}
