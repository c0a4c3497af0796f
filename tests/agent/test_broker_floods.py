"""Servers that say hostile things to the effects host through RabbitMQ, with a login that they rightfully have (A1)."""

from __future__ import annotations

import gzip
import json
import resource
import struct
import time
from collections.abc import Iterator
from typing import Any

import pytest
from amqp import Channel as RawChannel
from amqp import Connection as RawConnection
from amqp import Message as RawMessage
from amqp import spec

from tests.agent.agentworld import OWNER, PATIENCE, RESULTS, wait_for
from tests.agent.broker import Broker
from vetro.agent import amqp as amqp_channel
from vetro.agent import amqp_frames, limits
from vetro.agent.amqp import QUEUE_ARGUMENTS, AmqpChannel
from vetro.agent.amqp_link import BrokerSettings
from vetro.agent.errors import MessageInvalid
from vetro.agent.guest import amqp_wire as wire

pytestmark = pytest.mark.attack("broker", "A1")


@pytest.fixture
def raw(broker: Broker) -> Iterator[RawChannel]:
    """A server that says what it wants; the queue is there and empty."""
    with RawConnection(f"127.0.0.1:{broker.port}", userid="guest", password="guest") as connection:
        channel = connection.channel()
        channel.queue_delete(RESULTS)
        channel.queue_declare(RESULTS, durable=True, auto_delete=False, arguments=QUEUE_ARGUMENTS)
        yield channel
        channel.queue_delete(RESULTS)


@pytest.fixture
def channel(raw: RawChannel, broker: Broker) -> Iterator[AmqpChannel]:
    found = AmqpChannel(BrokerSettings("127.0.0.1", broker.port), OWNER, patience=PATIENCE)
    yield found
    found.close()


def say(raw: RawChannel, body: bytes | str, **properties: Any) -> None:
    raw.basic_publish(RawMessage(body, **properties), "", RESULTS)


def hear(channel: AmqpChannel) -> Any:
    """The next answer, acknowledged: its id and what it says, or why it was refused."""
    message = channel.receive(RESULTS, PATIENCE)
    assert message is not None
    channel.acknowledge(RESULTS, message.id)
    said = json.loads(message.body)
    return message.id, said["Body"]["Message"] if isinstance(said, dict) and said.get("ErrorCode") else said


def works_on(channel: AmqpChannel, raw: RawChannel) -> None:
    """What another server says gets through, over the same connection."""
    say(raw, '{"fine": true}', message_id="good")
    assert hear(channel) == ("good", {"fine": True})
    assert wait_for(lambda: raw.queue_declare(RESULTS, passive=True).message_count == 0)


@pytest.mark.parametrize(
    ("body", "properties", "reason"),
    [
        (
            gzip.compress(b" " * (64 << 20), mtime=0),
            {"application_headers": {"compression": "application/x-gzip"}},
            "packed",
        ),
        (gzip.compress(b"{}", mtime=0), {"content_encoding": "gzip"}, "packed"),
        (b"a-" * 500_000, {"content_encoding": "punycode"}, "not in UTF-8"),
        (b"{}", {"content_encoding": "utf-7"}, "not in UTF-8"),
        (b"\xff\xfe{\0}\0", {}, "not UTF-8"),
        (b" " * (limits.LARGEST + 1), {}, "bytes"),
        (b"[" + b"[]," * 1_000_000 + b"[]]", {}, "values"),
        (b"[" * 200 + b"]" * 200, {}, "nested deeper"),
        (b'{"a": NaN}', {}, "no number"),
        (b'["' + b'\\"' * 1_000_000, {}, "no end"),
        (b"1" * 100_000, {}, "not JSON"),
        (b"", {}, "not JSON"),
    ],
)
def test_what_is_too_much_is_refused_and_said_once(
    channel: AmqpChannel, raw: RawChannel, body: bytes, properties: dict[str, Any], reason: str
) -> None:
    channel.receive(RESULTS, 0.01)
    before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    say(raw, body, message_id="plan", **properties)
    id, said = hear(channel)
    assert id == "plan" and reason in said
    works_on(channel, raw)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10  # KiB
    assert time.process_time() - begin < 20


def _header(properties: bytes, flags: int, size: int) -> bytes:
    return wire.frame(wire.HEADER, 1, struct.pack(">HHQH", 60, 0, size, flags) + properties)


def _nested(depth: int) -> bytes:
    table = wire.long_bytes(b"")
    for _ in range(depth):
        table = wire.long_bytes(wire.short_text("a") + b"F" + table)
    return table


@pytest.mark.parametrize(
    "header",
    [
        _header(_nested(3_000), 1 << 13, 2),
        _header(wire.long_bytes(wire.short_text("a") + b"A" + wire.long_bytes(b"t\1" * 60_000)), 1 << 13, 2),
        _header(wire.long_bytes(b"\2\xff\xfe" + b"V"), 1 << 13, 2),
        _header(b"\3\xff\xfe\xfd", 1 << 15, 2),
        _header(b"\3\xff\xfe\xfd", 1 << 14, 2),
        _header(b"\4\xff\xff\xff\xff", 1 << 7, 2),
        _header(b"\377" + b"x" * 255, 1 << 7, 2),
        _header(b"\377", 1 << 11, 2),
    ],
    ids=["deep", "long", "names", "type", "encoding", "id", "long-id", "priority"],
)
def test_headers_that_nobody_understands_do_not_break_the_connection(
    channel: AmqpChannel, broker: Broker, raw: RawChannel, header: bytes
) -> None:
    """Such a message would be sent again with each new connection, and no server of the environment be heard."""
    works_on(channel, raw)
    before = channel._use()._connection
    with RawConnection(f"127.0.0.1:{broker.port}", userid="guest", password="guest", frame_max=131072) as connection:
        server = connection.channel()
        assert server.channel_id == 1
        to = struct.pack(">H", 0) + wire.short_text("") + wire.short_text(RESULTS) + b"\0"
        connection.transport.write(wire.method(1, "basic.publish", to) + header + wire.frame(wire.BODY, 1, b"{}"))
        try:
            server.queue_declare(RESULTS, passive=True)  # the broker has taken what came before
        except OSError:
            pass  # it is no message for the broker either
    say(raw, '{"fine": true}', message_id="last")
    while hear(channel)[0] != "last":
        pass
    assert channel._use()._connection is before
    assert wait_for(lambda: raw.queue_declare(RESULTS, passive=True).message_count == 0)


def test_what_waits_in_memory_is_bounded_and_nothing_is_lost(
    raw: RawChannel, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty large answers at once: the broker keeps what there is no room for, until somebody takes the first."""
    most, size = 4 << 20, 1 << 20
    monkeypatch.setattr(amqp_frames, "MOST_HELD", most)
    monkeypatch.setattr(amqp_channel, "MOST_HELD", most)
    body = json.dumps("x" * (size - 100))
    for number in range(40):
        say(raw, body, message_id=str(number))
    channel = AmqpChannel(BrokerSettings("127.0.0.1", broker.port), OWNER, patience=PATIENCE)
    try:
        found, highest = set(), 0
        for _ in range(40):
            message = channel.receive(RESULTS, PATIENCE)
            assert message is not None
            found.add(message.id)
            highest = max(highest, channel._use().reception.held)
            channel.acknowledge(RESULTS, message.id)
        assert found == {str(number) for number in range(40)}
        assert size < highest <= most
        works_on(channel, raw)
        assert wait_for(lambda: channel._use().reception.held == 0)
    finally:
        channel.close()


def test_the_same_answer_a_thousand_times_stops_nobody(channel: AmqpChannel, raw: RawChannel) -> None:
    """Doubles are acknowledged at once, also while the first is not stored yet: they take no place of others."""
    channel.receive(RESULTS, 0.01)
    for _ in range(5 * amqp_channel.PREFETCH):
        say(raw, '{"n": 1}', message_id="double")
    say(raw, '{"n": 2}', message_id="other")
    first, second = (channel.receive(RESULTS, PATIENCE) for _ in range(2))
    assert first is not None and second is not None
    assert (first.id, second.id) == ("double", "other")
    for id in ("double", "other"):
        channel.acknowledge(RESULTS, id)
    works_on(channel, raw)


def test_what_was_acknowledged_before_the_end_does_not_come_again(raw: RawChannel, broker: Broker) -> None:
    for number in range(30):
        say(raw, "{}", message_id=str(number))
    channel = AmqpChannel(BrokerSettings("127.0.0.1", broker.port), OWNER, patience=PATIENCE)
    messages = [channel.receive(RESULTS, PATIENCE) for _ in range(30)]
    for message in messages:
        assert message is not None
        channel.acknowledge(RESULTS, message.receipt)
    channel.close()
    assert raw.queue_declare(RESULTS, passive=True).message_count == 0


def test_a_flood_is_reported_once(channel: AmqpChannel, raw: RawChannel, caplog: pytest.LogCaptureFixture) -> None:
    channel.receive(RESULTS, 0.01)
    for number in range(50):
        say(raw, b"\xff", message_id=str(number))
    for _ in range(50):
        hear(channel)
    assert len([row for row in caplog.records if row.levelname == "WARNING" and "was refused" in row.message]) == 1


def test_json_is_counted_before_it_is_made() -> None:
    assert limits.read_json('{"a": [1, "[[[,,,", null]}') == {"a": [1, "[[[,,,", None]}
    assert limits.read_json(json.dumps(["x,[{" * 500_000])) == ["x,[{" * 500_000]
    for hostile in (
        "[" * (limits.DEEPEST + 1),
        "[1," * limits.MOST_TOKENS,
        '"' + "\\" * 1_000_001,
        '{"a":1e',
        "\ud800",
    ):
        with pytest.raises(MessageInvalid):
            limits.read_json(hostile)


def test_frames_out_of_order_end_the_connection() -> None:
    from amqp.exceptions import UnexpectedFrame

    class Connection:
        bytes_recv = 0

    take = amqp_frames.Reception().frames(Connection(), lambda *given: None)
    for kind in (wire.HEADER, wire.BODY):
        with pytest.raises(UnexpectedFrame):
            take((kind, 1, b""))
    assert take((wire.METHOD, 1, struct.pack(">HH", *spec.Basic.Deliver))) is False
    with pytest.raises(UnexpectedFrame):
        take((wire.HEADER, 1, b"\0"))
