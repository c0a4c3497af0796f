"""Frames of both transports: what one side writes the other reads, however it is cut; rubbish is refused."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vetro.agent.guest import amqp_wire as wire
from vetro.agent.guest import framing


def test_frames_in_pieces() -> None:
    frames = [{"t": "ack", "id": "ж"}, {"t": "publish", "body": "x" * 1000}]
    data = b"".join(framing.encode(frame) for frame in frames)
    for step in (1, 3, 7, len(data)):
        decoder = framing.Decoder()
        found = [f for start in range(0, len(data), step) for f in decoder.feed(data[start : start + step])]
        assert found == frames
        assert decoder.waiting == 0


def test_large_frames_are_refused_on_both_sides() -> None:
    with pytest.raises(framing.FrameError, match="larger"):
        framing.encode({"t": "x" * (framing.LARGEST + 1)})
    with pytest.raises(framing.FrameError, match="larger"):
        framing.Decoder().feed(struct.pack(">I", framing.LARGEST + 1))


fields = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.binary(max_size=300),
    lambda inner: st.dictionaries(st.text(max_size=60), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=60), fields, max_size=5))
def test_tables(values: dict[str, object]) -> None:
    reader = wire.Reader(wire.table(values))
    assert reader.table() == values
    assert reader.at_end


@given(st.binary(max_size=300))
def test_rubbish_is_no_table(data: bytes) -> None:
    try:
        wire.Reader(wire.long_bytes(data)).table()
    except wire.WireError:
        pass


def test_every_type_of_field() -> None:
    cases = [
        (b"t\1", True),
        (b"b\xff", -1),
        (b"B\xff", 255),
        (b"s\xff\xff", -1),
        (b"U\xff\xff", -1),
        (b"u\xff\xff", 65535),
        (b"I\xff\xff\xff\xff", -1),
        (b"i\xff\xff\xff\xff", 2**32 - 1),
        (b"l" + b"\xff" * 8, -1),
        (b"L" + b"\xff" * 8, -1),
        (b"T" + b"\0" * 7 + b"\1", 1),
        (b"d" + struct.pack(">d", 1.5), 1.5),
        (b"f" + struct.pack(">f", 1.5), 1.5),
        (b"S\0\0\0\2ab", b"ab"),
        (b"x\0\0\0\1\xff", b"\xff"),
        (b"V", None),
        (b"D\1\0\0\0\2", b"\1\0\0\0\2"),
        (b"A\0\0\0\4t\1t\0", [True, False]),
        (b"F\0\0\0\4\1at\1", {"a": True}),
    ]
    for data, value in cases:
        assert wire.Reader(wire.long_bytes(b"\1k" + data)).table() == {"k": value}


def test_tables_that_are_nested_too_deeply() -> None:
    data = wire.table({})
    for _ in range(30):
        data = wire.long_bytes(b"\1aF" + data)
    with pytest.raises(wire.WireError, match="deep"):
        wire.Reader(data).table()
    data = b"\0\0\0\0"
    for _ in range(30):
        data = wire.long_bytes(b"A" + data)
    with pytest.raises(wire.WireError, match="deep"):
        wire.Reader(wire.long_bytes(b"\1aA" + data)).table()


def test_content_is_cut_into_frames() -> None:
    body = bytes(range(256)) * 50
    properties = {"message_id": "id", "headers": {"signature": b"\xff"}, "delivery_mode": 2, "timestamp": 5}
    data = wire.content(1, body, properties, largest=4096)
    decoder = wire.Decoder()
    frames = [frame for byte in range(0, len(data), 999) for frame in decoder.feed(data[byte : byte + 999])]
    assert [kind for kind, _, _ in frames] == [wire.HEADER, wire.BODY, wire.BODY, wire.BODY, wire.BODY]
    assert all(len(payload) + 8 <= 4096 for _, _, payload in frames)
    assert wire.read_header(frames[0][2]) == (len(body), properties)
    assert b"".join(payload for kind, _, payload in frames if kind == wire.BODY) == body


def test_an_empty_message_has_no_body_frame() -> None:
    frames = wire.Decoder().feed(wire.content(1, b"", {}, 4096))
    assert [kind for kind, _, _ in frames] == [wire.HEADER]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"AMQP\0\0\x09\x01", "another version"),
        (b"\1\0\0" + struct.pack(">I", 2 << 20), "larger"),
        (b"\1\0\0\0\0\0\1x\0", "no end"),
    ],
)
def test_what_is_no_frame(data: bytes, message: str) -> None:
    with pytest.raises(wire.WireError, match=message):
        wire.Decoder().feed(data)


def test_long_names_are_refused() -> None:
    with pytest.raises(wire.WireError, match="255"):
        wire.short_text("ж" * 200)
