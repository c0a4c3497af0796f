"""Names of code in words: what people read where an author has written no title."""

from __future__ import annotations

import re
from typing import Final

_WORDS: Final = re.compile(r"[A-Z]+s?(?![a-z])|[^\W\d_][^\W\dA-Z_]*\d*|\d+")


def title_of(name: str) -> str:
    """``availabilityZone`` -> "Availability zone", ``dns_name`` -> "Dns name", ``publicIP`` -> "Public IP".

    A name without words is its own title.
    """
    words = _WORDS.findall(name)
    if not words:
        return name
    first, *rest = (word if len(word) > 1 and word[:2].isupper() else word.lower() for word in words)
    return " ".join((first[:1].upper() + first[1:], *rest))
