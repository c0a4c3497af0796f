"""`Reception`: takes messages off a connection to a broker without believing what they say of themselves.

The library that speaks AMQP collects bodies of any size, unpacks what a header calls packed, decodes by the character
set that a sender names, and gives the connection up over a header that it cannot read, which the broker then sends
again, for ever. So frames of messages are put together here: the size is known before the body is, what is too large is
read and thrown away, and a header that nobody understands makes a refused message, not a broken connection.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import error as StructError
from struct import unpack_from
from typing import Any

from amqp import spec
from amqp.basic_message import Message as Content
from amqp.exceptions import UnexpectedFrame

from vetro.agent.guest import amqp_wire as wire
from vetro.agent.limits import LARGEST, MOST_HELD

_Content: Any = Content
_WITH_CONTENT = frozenset({spec.Basic.Return, spec.Basic.Deliver, spec.Basic.GetOk})
#: Names of encodings that change nothing about UTF-8.
_PLAIN = frozenset({"", "utf-8", "utf8", "us-ascii", "ascii", "binary"})


class Incoming(_Content):  # type: ignore[misc]
    """A message as it arrives; ``body`` is bytes."""

    #: Why nobody shall read it.
    refusal: str | None = None
    #: There was no room for it: the broker shall keep it.
    postponed = False

    def inbound_header(self, buf: bytes, offset: int = 0) -> int:
        """Takes the header; the body is collected only if it may be."""
        try:
            (self.body_size,) = unpack_from(">Q", buf, offset + 4)
        except StructError:
            raise UnexpectedFrame("the header of a message is cut off") from None
        self.body = b""
        try:
            _, self.properties = wire.read_header(bytes(buf[offset:]))
            self.refusal = self._objection()
        except wire.WireError as error:
            self.properties = {}
            self.refusal = f"its header cannot be read: {error}"
        self.ready = not self.body_size
        return len(buf)

    def _objection(self) -> str | None:
        if self.body_size > LARGEST:
            return f"it has {self.body_size:,} bytes; at most {LARGEST:,} are taken"
        encoding = str(self.properties.get("content_encoding") or "").lower()
        if encoding not in _PLAIN or "compression" in (self.properties.get("headers") or {}):
            return "it is packed or not in UTF-8, which no agent does"
        return None

    def inbound_body(self, buf: bytes) -> None:
        """Takes a piece of the body, or counts it only."""
        self.body_received += len(buf)
        if self.refusal is None and not self.postponed:
            self._pending_chunks.append(bytes(buf))
        if self.body_received >= self.body_size:
            self.body = b"".join(self._pending_chunks)
            self._pending_chunks.clear()
            self.ready = True


class Reception:
    """What of the broker's messages is held in memory; used by the thread of the connection only.

    ``blocked`` is told why the broker takes nothing at present, and None when it does again.
    """

    def __init__(self, blocked: Callable[[str | None], None] = lambda reason: None) -> None:
        self._blocked = blocked
        #: Bytes of messages that have come and that nobody has acknowledged.
        self.held = 0

    def release(self, size: int) -> None:
        """A message with that many bytes was acknowledged."""
        self.held = max(0, self.held - size)

    def frames(self, connection: Any, callback: Callable[..., None]) -> Callable[[tuple[int, int, bytes]], bool]:
        """A handler of frames as ``amqp.Connection`` takes it: True when something was complete."""
        contents: dict[int, Incoming] = {}
        self.held = 0

        def take(frame: tuple[int, int, bytes]) -> bool:
            kind, channel, payload = frame
            connection.bytes_recv += 1
            if kind == wire.HEARTBEAT:
                return False
            if kind == wire.METHOD:
                method = unpack_from(">HH", payload, 0)
                if method in _WITH_CONTENT:
                    contents[channel] = Incoming(frame_method=method, frame_args=payload)
                    return False
                if method in (spec.Connection.Blocked, spec.Connection.Unblocked):
                    self._blocked(_reason(payload) if method == spec.Connection.Blocked else None)
                callback(channel, method, payload, None)
                return True
            content = contents.get(channel)
            if content is None:
                raise UnexpectedFrame("a part of a message came without the message")
            if kind == wire.HEADER:
                content.inbound_header(payload)
                if content.refusal is None:
                    content.postponed = self.held > 0 and self.held + content.body_size > MOST_HELD
                    self.held += 0 if content.postponed else content.body_size
            else:
                content.inbound_body(payload)
            if not content.ready:
                return False
            del contents[channel]
            callback(channel, content.frame_method, content.frame_args, content)
            return True

        return take


def _reason(payload: bytes) -> str:
    try:
        return wire.Reader(bytes(payload[4:])).short_text() or "no reason given"
    except wire.WireError:
        return "no reason given"
