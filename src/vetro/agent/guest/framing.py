"""Frames on the local socket: four bytes of length, most significant first, and that many bytes of UTF-8 JSON.

Every frame is an object with its kind ``t``. From the guest: ``{t: hello, queue, version}`` first, ``{t: ack, id}``,
``{t: publish, queue, id, reply_to, body}``; where the welcome has ``output: true`` also ``{t: output, queue, plan,
number, body}`` (module ``output``), which nobody answers. To the guest: ``{t: welcome, queue, output}``, ``{t: deliver,
queue, id, reply_to, signature, body, patience, output}`` with the signature in Base64, ``{t: stored, id}``,
``{t: refused, id, reason}``, ``{t: error, reason}`` before the host hangs up.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

#: Largest frame in bytes. Plans and results are smaller by far; a server must not fill the host's memory.
LARGEST = 16 << 20

_LENGTH = struct.Struct(">I")


class FrameError(Exception):
    """What arrived is no frame of this protocol."""


def encode(frame: dict[str, Any]) -> bytes:
    """One frame. Raises `FrameError` when it is too large."""
    body = json.dumps(frame, separators=(",", ":")).encode("ascii")
    if len(body) > LARGEST:
        raise FrameError(f"a message of {len(body)} bytes is larger than {LARGEST}")
    return _LENGTH.pack(len(body)) + body


class Decoder:
    """Frames out of a stream of bytes. ``read`` makes a value of JSON, raises ValueError; hosts have a stricter one."""

    def __init__(self, read: Callable[[bytearray], Any] = json.loads) -> None:
        self._buffer = bytearray()
        self._read = read

    @property
    def waiting(self) -> int:
        """Bytes of a frame whose end has not come yet."""
        return len(self._buffer)

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The frames that are complete with these bytes. Raises `FrameError`."""
        self._buffer += data
        frames = []
        while len(self._buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer)
            if length > LARGEST:
                raise FrameError(f"a message of {length} bytes is larger than {LARGEST}")
            end = _LENGTH.size + length
            if len(self._buffer) < end:
                break
            try:
                frame = self._read(self._buffer[_LENGTH.size : end])
            except (ValueError, RecursionError) as error:
                raise FrameError(f"a message is not JSON: {error}") from None
            del self._buffer[:end]
            if not isinstance(frame, dict) or not isinstance(frame.get("t"), str):
                raise FrameError("a message is not an object with its kind 't'")
            frames.append(frame)
        return frames
