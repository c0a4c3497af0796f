"""What user data says about the server's agent: its input queue, which is the server's identity on the channel."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

#: Characters of user data that are looked at; boot scripts have some ten thousand.
_LONGEST = 4 << 20
_SHORTEST_BLOB = 40
_BLOB = re.compile(rf"[A-Za-z0-9+/]{{{_SHORTEST_BLOB},}}={{0,2}}")
_BOUNDARY = re.compile(
    r"""^content-type:\s*multipart/[^\n]*(?:\n[ \t][^\n]*)*?boundary=(?:"([^"\n]+)"|([^\s;]+))""", re.I | re.M
)
_ENCODED = re.compile(r"^content-transfer-encoding:\s*base64\s*$", re.I | re.M)
_QUEUE = re.compile(r"""input_?queue["'\s]*(?:[=:>]\s*|\bvalue\s*=\s*)["']?([\w.:-]+)""", re.IGNORECASE | re.ASCII)


def agent_queue(user_data: str, environment: str) -> str | None:
    """The agent's input queue of a server of this environment; null where the data names none or another's."""
    prefix = queue_prefix(environment)
    for text in _texts(user_data[:_LONGEST]):
        if "queue" not in text.lower():  # a boot script is searched for the word in a tenth of the time
            continue
        for found in _QUEUE.finditer(text):
            if found.group(1).startswith(prefix) and len(found.group(1)) > len(prefix):
                return found.group(1)
    return None


def queue_prefix(environment: str) -> str:
    """How queues of its agents begin. Without an environment (tests of packages make their own) all are its own."""
    return f"e{environment.lower()}-h" if environment else "e"


def _texts(data: str) -> Iterator[str]:
    """The data or the parts of a multipart message, and texts written as Base64 in any of them."""
    for part in _parts(data, 0):
        yield part
        for word in part.split():
            if len(word) >= _SHORTEST_BLOB:  # the pattern alone is tried at each letter of each word
                yield from map(_decoded, _BLOB.findall(word))


def _parts(data: str, depth: int) -> Iterator[str]:
    """The parts of a multipart message, those of messages in it, too; anything else is one part."""
    head, _, rest = data.partition("\n\n")
    found = _BOUNDARY.search(head) if depth < 5 else None
    if found is None:
        yield _decoded(rest) if _ENCODED.search(head) else data
        return
    for part in rest.split("--" + (found.group(1) or found.group(2)))[1:]:
        if not part.startswith("--"):
            yield from _parts(part.lstrip("\r\n").replace("\r\n", "\n"), depth + 1)


def _decoded(text: str) -> str:
    """Base64 as text; nothing when it is none."""
    plain = "".join(text.split())
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return ""
