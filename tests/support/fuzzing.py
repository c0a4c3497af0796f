"""How many examples tests try that make up their input: all of them with ``script/test --all``, else a fifth."""

from __future__ import annotations

import os

EVERYTHING = os.environ.get("VETRO_TEST_ALL") == "1"
#: Fewer find nothing.
_LEAST = 20


def examples(most: int) -> int:
    """Of ``most`` examples those that this run tries."""
    return most if EVERYTHING else min(most, max(_LEAST, most // 5))
