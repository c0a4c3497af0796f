"""Length-framed JSON objects on a socket or pipe pair: what processes of ours say to each other.

Never a pickle: a frame is four bytes of length, most significant first, and that many bytes of UTF-8 JSON, an object
with its kind ``t``.
"""

from __future__ import annotations

import json
import os
import re
import struct
from collections.abc import Callable
from typing import Any

from vetro.yaql.errors import VetroError

#: Largest frame, in bytes: models of some hundred thousand objects, and nothing that fills a memory.
LARGEST = 256 << 20

#: Made once: `json.dumps` makes one for each text.
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode

_LENGTH = struct.Struct(">I")
#: A string in JSON. One that does not end goes on to the end: nothing is looked at twice.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?+', re.DOTALL)


class FrameError(VetroError):
    """What arrived is no frame, or the other side has gone in the middle of one."""

    kind = "error"
    code = "ENG101"


def encode(message: dict[str, Any]) -> bytes:
    """One frame. Raises `FrameError` when it is too large."""
    body = _encode(message).encode("utf-8", "surrogatepass")
    if len(body) > LARGEST:
        raise FrameError(f"a message of {len(body):,} bytes is larger than {LARGEST:,}")
    return _LENGTH.pack(len(body)) + body


class Decoder:
    """Frames out of a stream of bytes.

    ``largest``: bytes of one, `LARGEST` unless it is given. ``weigh`` gets each frame's JSON before it is read, where
    who sends it may want to fill a memory (`values_in`), and raises `FrameError`.
    """

    def __init__(self, largest: int | None = None, weigh: Callable[[bytes], None] | None = None) -> None:
        self._buffer = bytearray()
        self._largest = largest
        self._weigh = weigh

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The messages that are complete with these bytes. Raises `FrameError`."""
        self._buffer += data
        made = []
        while len(self._buffer) >= 4:
            (length,) = _LENGTH.unpack_from(self._buffer)
            largest = LARGEST if self._largest is None else self._largest
            if length > largest:
                raise FrameError(f"a message of {length:,} bytes is larger than {largest:,}")
            if len(self._buffer) < 4 + length:
                break
            body = bytes(memoryview(self._buffer)[4 : 4 + length])
            if self._weigh is not None:
                self._weigh(body)
            try:
                message = json.loads(body.decode("utf-8", "surrogatepass"))
            except (ValueError, RecursionError) as error:
                raise FrameError(f"a message is not JSON: {error}") from None
            del self._buffer[: 4 + length]
            if not isinstance(message, dict) or not isinstance(message.get("t"), str):
                raise FrameError("a message is not an object with its kind 't'")
            made.append(message)
        return made

    @property
    def partial(self) -> bool:
        """Whether the beginning of a frame waits for its end."""
        return bool(self._buffer)


def values_in(body: bytes, enough: int) -> int:
    """About how many values are in some JSON, counted no further than to ``enough``: two bytes of it can be a hundred
    bytes when they are read."""
    found = at = 0
    for string in _STRING.finditer(body):
        found += 1 + sum(body.count(sign, at, string.start()) for sign in (b",", b"[", b"{"))
        at = string.end()
        if found > enough:
            return found
    return found + sum(body.count(sign, at) for sign in (b",", b"[", b"{"))


def write(fd: int, message: dict[str, Any]) -> int:
    """Writes one frame to a blocking descriptor; the number of bytes."""
    data = encode(message)
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    return len(data)


def read(fd: int, decoder: Decoder) -> list[dict[str, Any]] | None:
    """Waits for at least one message of a blocking descriptor; None at its end. Raises `FrameError` in mid-frame."""
    while True:
        data = os.read(fd, 1 << 16)
        if not data:
            if decoder.partial:
                raise FrameError("the other side has gone in the middle of a message")
            return None
        messages = decoder.feed(data)
        if messages:
            return messages
