"""Values in messages: short, on one line, and made without walking into them.

``repr`` of a list that holds another twice, which holds another twice…, never ends, and an error message is no place
for ten megabytes of text.
"""

from __future__ import annotations

import collections.abc as abc
from typing import Any

from vetro.yaql.redact import MASK, current

#: Longer integers have more digits than Python converts at once.
_BITS = 512


def brief(value: Any, limit: int = 60) -> str:
    """``value`` as Python writes it, cut to about ``limit`` characters; of containers and long integers the size.

    Secrets of the run are masked, before anything is cut.
    """
    secrets = current()
    if secrets:
        if secrets.knows(value):
            return MASK
        if isinstance(value, str):
            value = secrets.text(value)
    if value is None or isinstance(value, (bool, float)):
        return repr(value)
    if isinstance(value, int):
        return repr(value) if value.bit_length() <= _BITS else f"an integer of {value.bit_length()} bits"
    if isinstance(value, str):
        return repr(value) if len(value) <= limit else repr(value[:limit]) + "…"
    if isinstance(value, abc.Mapping):
        return f"a mapping of {len(value)} keys"
    if isinstance(value, abc.Set):
        return f"a set of {len(value)} items"
    if isinstance(value, (tuple, list)):
        return f"a list of {len(value)} items"
    text = secrets.text(repr(value))
    return text if len(text) <= 2 * limit else text[: 2 * limit] + "…"
