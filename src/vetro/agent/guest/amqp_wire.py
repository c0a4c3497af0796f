"""Frames and values of AMQP 0-9-1, as far as an agent needs them."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

PROTOCOL_HEADER = b"AMQP\x00\x00\x09\x01"
METHOD, HEADER, BODY, HEARTBEAT = 1, 2, 3, 8
END = 0xCE

#: Methods by name: class and number.
METHODS = {
    "connection.start": (10, 10),
    "connection.start-ok": (10, 11),
    "connection.tune": (10, 30),
    "connection.tune-ok": (10, 31),
    "connection.open": (10, 40),
    "connection.open-ok": (10, 41),
    "connection.close": (10, 50),
    "connection.close-ok": (10, 51),
    "connection.blocked": (10, 60),
    "connection.unblocked": (10, 61),
    "channel.open": (20, 10),
    "channel.open-ok": (20, 11),
    "channel.flow": (20, 20),
    "channel.flow-ok": (20, 21),
    "channel.close": (20, 40),
    "channel.close-ok": (20, 41),
    "queue.declare": (50, 10),
    "queue.declare-ok": (50, 11),
    "basic.qos": (60, 10),
    "basic.qos-ok": (60, 11),
    "basic.consume": (60, 20),
    "basic.consume-ok": (60, 21),
    "basic.cancel": (60, 30),
    "basic.publish": (60, 40),
    "basic.return": (60, 50),
    "basic.deliver": (60, 60),
    "basic.ack": (60, 80),
    "basic.nack": (60, 120),
    "confirm.select": (85, 10),
    "confirm.select-ok": (85, 11),
}
NAMES = {numbers: name for name, numbers in METHODS.items()}

#: Properties of a message in the order of their flags, with the code of their type.
_PROPERTIES = (
    ("content_type", "s"),
    ("content_encoding", "s"),
    ("headers", "t"),
    ("delivery_mode", "B"),
    ("priority", "B"),
    ("correlation_id", "s"),
    ("reply_to", "s"),
    ("expiration", "s"),
    ("message_id", "s"),
    ("timestamp", "Q"),
    ("type", "s"),
    ("user_id", "s"),
    ("app_id", "s"),
    ("cluster_id", "s"),
)

#: Field tables in field tables, at most.
_DEEPEST = 16


class WireError(Exception):
    """What arrived is not AMQP 0-9-1."""


class Reader:
    """Values one after another. Raises `WireError` at the end of the data."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    def take(self, size: int) -> bytes:
        """The next bytes."""
        part = self._data[self._place : self._place + size]
        if len(part) != size:
            raise WireError("a value is cut off")
        self._place += size
        return part

    def number(self, code: str) -> Any:
        """A number by its code in `struct`."""
        code = ">" + code
        return struct.unpack(code, self.take(struct.calcsize(code)))[0]

    def short_text(self) -> str:
        """Up to 255 bytes of text."""
        return self.take(self.number("B")).decode("utf-8", "replace")

    def long_bytes(self) -> bytes:
        """Bytes behind their number."""
        return self.take(self.number("I"))

    def table(self, depth: int = 0) -> dict[str, Any]:
        """A field table."""
        if depth > _DEEPEST:
            raise WireError("tables are nested too deeply")
        inner, values = Reader(self.long_bytes()), {}
        while not inner.at_end:
            name = inner.short_text()
            values[name] = inner.field(depth)
        return values

    @property
    def at_end(self) -> bool:
        """Whether everything was read."""
        return self._place == len(self._data)

    def field(self, depth: int) -> Any:
        """A value behind the letter of its type."""
        kind = chr(self.number("B"))
        numbers = {"b": "b", "B": "B", "U": "h", "s": "h", "u": "H", "I": "i", "i": "I", "l": "q", "L": "q"}
        numbers.update({"f": "f", "d": "d", "T": "Q"})
        if kind in numbers:
            return self.number(numbers[kind])
        if kind == "t":
            return bool(self.number("B"))
        if kind in "Sx":
            return self.long_bytes()  # text or bytes: who reads it knows which
        if kind == "F":
            return self.table(depth + 1)
        if kind == "A":
            inner, items = Reader(self.long_bytes()), []
            if depth > _DEEPEST:
                raise WireError("tables are nested too deeply")
            while not inner.at_end:
                items.append(inner.field(depth + 1))
            return items
        if kind == "D":
            return self.take(5)
        if kind == "V":
            return None
        raise WireError(f"a table holds a value of unknown type {kind!r}")


def short_text(value: str) -> bytes:
    """Text of up to 255 bytes."""
    data = value.encode()
    if len(data) > 255:
        raise WireError(f"the name '{value[:50]}...' has more than 255 bytes")
    return bytes([len(data)]) + data


def long_bytes(value: bytes) -> bytes:
    """Bytes behind their number."""
    return struct.pack(">I", len(value)) + value


def table(values: Mapping[str, Any]) -> bytes:
    """A field table of texts, bytes, flags, whole numbers and tables."""
    parts = []
    for name, value in values.items():
        if isinstance(value, bool):
            encoded = b"t" + bytes([value])
        elif isinstance(value, int):
            encoded = b"l" + struct.pack(">q", value)
        elif isinstance(value, bytes):
            encoded = b"x" + long_bytes(value)
        elif isinstance(value, Mapping):
            encoded = b"F" + table(value)
        else:
            encoded = b"S" + long_bytes(str(value).encode())
        parts.append(short_text(name) + encoded)
    return long_bytes(b"".join(parts))


def frame(kind: int, channel: int, payload: bytes) -> bytes:
    """One frame."""
    return struct.pack(">BHI", kind, channel, len(payload)) + payload + bytes([END])


def method(channel: int, name: str, arguments: bytes = b"") -> bytes:
    """The frame of a method."""
    return frame(METHOD, channel, struct.pack(">HH", *METHODS[name]) + arguments)


def content(channel: int, body: bytes, properties: Mapping[str, Any], largest: int) -> bytes:
    """The frames of a message's header and body; ``largest`` is the size of a frame."""
    flags, values = 0, b""
    for index, (name, code) in enumerate(_PROPERTIES):
        value = properties.get(name)
        if value is not None:
            flags |= 1 << (15 - index)
            if code == "s":
                values += short_text(value)
            elif code == "t":
                values += table(value)
            else:
                values += struct.pack(">" + code, value)
    frames = [frame(HEADER, channel, struct.pack(">HHQH", 60, 0, len(body), flags) + values)]
    step = largest - 8
    frames += [frame(BODY, channel, body[start : start + step]) for start in range(0, len(body), step)]
    return b"".join(frames)


def read_header(payload: bytes) -> tuple[int, dict[str, Any]]:
    """Size of the body and properties out of a header frame."""
    reader = Reader(payload)
    reader.take(4)
    size, flags = reader.number("Q"), reader.number("H")
    properties: dict[str, Any] = {}
    for index, (name, code) in enumerate(_PROPERTIES):
        if flags & (1 << (15 - index)):
            if code == "s":
                properties[name] = reader.short_text()
            elif code == "t":
                properties[name] = reader.table()
            else:
                properties[name] = reader.number(code)
    return size, properties


class Decoder:
    """Frames out of a stream of bytes. ``largest`` is what both sides agreed upon."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self.largest = 1 << 20

    def feed(self, data: bytes) -> list[tuple[int, int, bytes]]:
        """Kind, channel and payload of the frames that are complete. Raises `WireError`."""
        self._buffer += data
        frames = []
        while len(self._buffer) >= 7:
            if self._buffer.startswith(b"AMQP"):
                raise WireError("the broker speaks another version of AMQP")
            kind, channel, size = struct.unpack_from(">BHI", self._buffer)
            if size > self.largest:
                raise WireError("a frame is larger than agreed")
            if len(self._buffer) < size + 8:
                break
            if self._buffer[size + 7] != END:
                raise WireError("a frame has no end")
            frames.append((kind, channel, bytes(self._buffer[7 : size + 7])))
            del self._buffer[: size + 8]
        return frames
