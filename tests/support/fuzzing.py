"""How much tests try of what has no end: all with ``script/test --all``, else a part, which is always the same."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

EVERYTHING = os.environ.get("VETRO_TEST_ALL") == "1"
#: Fewer find nothing.
_LEAST = 20
Thing = TypeVar("Thing")


def examples(most: int) -> int:
    """Of ``most`` examples those that this run tries."""
    return most if EVERYTHING else min(most, max(_LEAST, most // 5))


def every(number: int, things: Iterable[Thing]) -> list[Thing]:
    """Of these those that this run tries: the first and each ``number``-th after it, or all."""
    return list(things)[:: 1 if EVERYTHING else number]
