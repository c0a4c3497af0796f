"""What a server wrote on its console or into its journal, as lines for people."""

from __future__ import annotations

import re

from vetro.visible import visible

#: Bytes of a console or a journal that are looked at.
LARGEST_LOG = 1 << 20
#: What commands a terminal: sequences with one and with two characters in front, and single characters.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[@-Z\\-_]|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)


def plain_lines(text: bytes | str, lines: int) -> str:
    """The last lines of a console or a journal, without what commands a terminal; what could not be seen is escaped."""
    if isinstance(text, bytes):
        text = text[-LARGEST_LOG:].decode("utf-8", "replace")
    clean = visible(_ESCAPES.sub("", text[-LARGEST_LOG:].replace("\r\n", "\n")))
    return "\n".join(clean.splitlines()[-lines:]) if lines > 0 else ""
