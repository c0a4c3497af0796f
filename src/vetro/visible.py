"""Text of others as a terminal may show it: nothing in it commands the terminal, hides, or turns the direction."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

#: Controls but tab and line feed (a carriage return before a line feed is one), marks of direction, and what has no
#: width: soft hyphen, zero-width spaces, invisible operators, fillers, tags. Joiners belong to words of some scripts
#: and to pictures: they stay between characters beyond ASCII.
_UNSAFE: Final = re.compile(
    "\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    "|[\u200c\u200d](?![^\x00-\x7f])|(?<![^\x00-\x7f])[\u200c\u200d]"
)


def escaped(char: str) -> str:
    """A character as Python escapes it."""
    return ascii(char)[1:-1]


def visible(text: str, instead: Callable[[str], str] = escaped) -> str:
    """``text`` with ``instead`` of each character that a person could not see, or should not trust."""
    return text if text.isascii() and text.isprintable() else _UNSAFE.sub(lambda found: instead(found[0]), text)
