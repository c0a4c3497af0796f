"""Keeps lazy sequences from standing inside each other without end.

What a fold, a generator or a recursive function gives back is its own input of the next round. A lazy sequence over a
lazy sequence over… a hundred thousand times makes CPython's iterators recurse in C, where nothing checks the depth. So
every few rounds the items are taken and the tower is one storey high again.
"""

from __future__ import annotations

import collections.abc as abc
from typing import Any

from vetro.yaql.context import Execution
from vetro.yaql.values import FROZEN, HostObject, freeze

#: Rounds between two settlements. An expression may add almost 2000 storeys a round (`parser.MAX_TREE_DEPTH`), and
#: CPython bears some 30,000.
ROUNDS = 8


def settle(rt: Execution, value: Any) -> Any:
    """``value``, lazy as before, but with nothing lazy below it. Raises what taking its items raises."""
    if value.__class__ in FROZEN or isinstance(value, (str, HostObject)):
        return value
    own = getattr(value, "settle", None)
    if own is not None:
        own()
        return value
    if isinstance(value, abc.Iterator):
        return iter(freeze(value, rt.limits.max_sequence))
    return value
