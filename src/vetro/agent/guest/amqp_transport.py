"""The transport over a message broker: AMQP 0-9-1 as old images and real clouds use it (AGENT.md 1)."""

from __future__ import annotations

import random
import select
import socket
import ssl
import struct
import time
from typing import Any

from . import VERSION
from . import amqp_wire as wire
from .config import Config, ConfigInvalid
from .framing import LARGEST
from .messages import Delivered, Event, Kept, NotKept, TransportDown, patience_of

#: Seconds for connecting and for each answer of the broker while connecting, and for writing.
_PATIENCE = 30.0
_CHANNEL = 1
_TLS_VERSIONS = {
    "TLSV1": ssl.TLSVersion.TLSv1,
    "TLSV1_1": ssl.TLSVersion.TLSv1_1,
    "TLSV1_2": ssl.TLSVersion.TLSv1_2,
    "TLSV1_3": ssl.TLSVersion.TLSv1_3,
}


class AmqpTransport:
    """A connection that consumes the input queue. The queue must be there: the engine declares it, the agent waits."""

    def __init__(self, config: Config, context: ssl.SSLContext | None) -> None:
        self._config = config
        self._decoder = wire.Decoder()
        self._methods: list[tuple[str, wire.Reader]] = []
        self._events: list[Event] = []
        self._delivery: list[Any] | None = None
        self._returned: dict[str, str] = {}
        self._unconfirmed: dict[int, tuple[str, str]] = {}
        self._published = 0
        self._heartbeat = 0
        self._largest = 4096
        self._written = self._heard = time.monotonic()
        try:
            self._socket = socket.create_connection((config.host, config.port), _PATIENCE)
        except OSError as error:
            raise TransportDown(f"cannot connect to {config.host}:{config.port}: {error.strerror or error}") from None
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if context is not None:
                self._socket = context.wrap_socket(self._socket, server_hostname=config.host)
            self._open()
        except OSError as error:
            self.close()
            raise TransportDown(f"cannot connect to {config.host}:{config.port}: {error}") from None
        except (TransportDown, wire.WireError) as error:
            self.close()
            raise TransportDown(f"{config.host}:{config.port}: {error}") from None

    @staticmethod
    def prepare(config: Config) -> ssl.SSLContext | None:
        """The settings of TLS, checked once. Raises `ConfigInvalid`."""
        if not config.ssl:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        wanted = config.ssl_version.upper().replace("PROTOCOL_", "").replace(".", "_")
        if wanted in _TLS_VERSIONS:
            context.minimum_version = context.maximum_version = _TLS_VERSIONS[wanted]
        elif wanted not in ("", "SSLV23", "TLS"):
            raise ConfigInvalid(f"[rabbitmq] ssl_version '{config.ssl_version}' is not supported; leave it empty")
        if config.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        try:
            if config.ca_certs:
                context.load_verify_locations(config.ca_certs)
            elif not config.insecure:
                context.load_default_certs()
        except (OSError, ssl.SSLError) as error:
            raise ConfigInvalid(f"[rabbitmq] ca_certs {config.ca_certs} cannot be read: {error}") from None
        return context

    def fileno(self) -> int:
        return self._socket.fileno()

    def read(self) -> list[Event]:
        try:
            while self._ready(0):
                self._take()
                if len(self._events) > 100:
                    break
            self._dispatch()
        except (OSError, wire.WireError) as error:
            raise TransportDown(f"the connection broke: {error}") from None
        events, self._events = self._events, []
        return events

    def acknowledge(self, tag: object) -> None:
        assert isinstance(tag, int)
        self._write(wire.method(_CHANNEL, "basic.ack", struct.pack(">QB", tag, 0)))

    def publish(self, token: str, queue: str, id: str, body: str) -> None:
        try:
            # Mandatory: the broker returns what no queue takes instead of dropping it.
            to = struct.pack(">H", 0) + wire.short_text(self._config.result_exchange) + wire.short_text(queue) + b"\1"
            properties = {"content_type": "application/json", "delivery_mode": 2, "message_id": id}
            frames = wire.content(_CHANNEL, body.encode(), properties, self._largest)
        except wire.WireError as error:
            self._events.append(NotKept(token, str(error), final=True))
            return
        self._published += 1
        self._unconfirmed[self._published] = (token, id)
        self._write(wire.method(_CHANNEL, "basic.publish", to) + frames)

    def tell(self, queue: str, plan: str, number: int, body: str) -> None:
        # Neither mandatory nor lasting: nobody misses it.
        to = struct.pack(">H", 0) + wire.short_text(self._config.result_exchange) + wire.short_text(queue) + b"\0"
        properties = {"content_type": "application/json", "message_id": f"{plan}#{number}"}
        frames = wire.content(_CHANNEL, body.encode(), properties, self._largest)
        self._published += 1
        self._write(wire.method(_CHANNEL, "basic.publish", to) + frames)

    def tick(self) -> float:
        if self._events or self._methods:
            return 0.0
        if not self._heartbeat:
            return 3600.0
        now = time.monotonic()
        if now - self._heard > 2 * self._heartbeat:
            raise TransportDown(f"the broker was silent for {2 * self._heartbeat} seconds")
        if now - self._written >= self._heartbeat / 2:
            self._write(wire.frame(wire.HEARTBEAT, 0, b""))
        return max(0.05, self._heartbeat / 2 - (time.monotonic() - self._written))

    def close(self) -> None:
        try:
            self._socket.close()
        except OSError:
            pass

    # -- connecting ----------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        config = self._config
        self._write(wire.PROTOCOL_HEADER)
        self._expect("connection.start")
        client = {
            "product": "muranoagent",
            "version": VERSION,
            "capabilities": {"publisher_confirms": True, "consumer_cancel_notify": True, "basic.nack": True},
        }
        secret = wire.long_bytes(f"\0{config.login}\0{config.password}".encode())
        self._write(
            wire.method(
                0,
                "connection.start-ok",
                wire.table(client) + wire.short_text("PLAIN") + secret + wire.short_text("en_US"),
            )
        )
        tune = self._expect("connection.tune", hint="login or password may be wrong")
        tune.number("H")
        largest, heartbeat = tune.number("I"), tune.number("H")
        self._largest = min(largest or 131072, 131072)
        self._decoder.largest = max(self._largest, 4096)
        own = random.randint(20, 40)
        self._heartbeat = min(own, heartbeat) if heartbeat else own
        self._write(wire.method(0, "connection.tune-ok", struct.pack(">HIH", 1, self._largest, self._heartbeat)))
        self._write(wire.method(0, "connection.open", wire.short_text(config.virtual_host) + b"\0\0"))
        self._expect("connection.open-ok", hint=f"is there a virtual host {config.virtual_host}, and open to us?")
        self._call("channel.open", b"\0", "channel.open-ok")
        self._call("basic.qos", struct.pack(">IHB", 0, 1, 0), "basic.qos-ok")
        self._call("confirm.select", b"\0", "confirm.select-ok")
        queue = wire.short_text(config.input_queue)
        self._call("queue.declare", b"\0\0" + queue + b"\1" + wire.table({}), "queue.declare-ok")  # passive: only looks
        self._call("basic.consume", b"\0\0" + queue + wire.short_text("") + b"\0" + wire.table({}), "basic.consume-ok")

    def _call(self, name: str, arguments: bytes, answer: str) -> None:
        self._write(wire.method(_CHANNEL, name, arguments))
        self._expect(answer)

    def _expect(self, name: str, hint: str = "") -> wire.Reader:
        deadline = time.monotonic() + _PATIENCE
        while True:
            while self._methods:
                found, reader = self._methods.pop(0)
                if found == name:
                    return reader
                self._method(found, reader)
            remaining = deadline - time.monotonic()
            if remaining <= 0 or not self._ready(remaining):
                raise TransportDown(f"the broker did not answer within {_PATIENCE:g} seconds")
            try:
                self._take()
            except TransportDown as error:
                raise TransportDown(f"{error} ({hint})" if hint else str(error)) from None

    # -- frames --------------------------------------------------------------------------------------------------------

    def _ready(self, timeout: float) -> bool:
        if isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
            return True
        return bool(select.select([self._socket], [], [], timeout)[0])

    def _write(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise TransportDown(f"the connection broke: {error}") from None
        self._written = time.monotonic()

    def _take(self) -> None:
        """Reads once and sorts what is complete."""
        data = self._socket.recv(1 << 16)
        if not data:
            raise TransportDown("the broker has closed the connection")
        self._heard = time.monotonic()
        for kind, _, payload in self._decoder.feed(data):
            if kind == wire.METHOD:
                numbers = struct.unpack_from(">HH", payload.ljust(4, b"\0"))
                self._methods.append((wire.NAMES.get(numbers, str(numbers)), wire.Reader(payload[4:])))
                if self._methods[-1][0] in ("basic.deliver", "basic.return"):
                    self._begin_content(*self._methods.pop())
            elif kind == wire.HEADER and self._delivery is not None:
                self._delivery[2:] = [*wire.read_header(payload), bytearray()]
                self._end_content()
            elif kind == wire.BODY and self._delivery is not None and len(self._delivery) == 5:
                self._delivery[4] += payload
                self._end_content()

    def _begin_content(self, name: str, reader: wire.Reader) -> None:
        self._delivery = [name, reader]

    def _end_content(self) -> None:
        assert self._delivery is not None
        name, reader, size, properties, body = self._delivery
        if size > 2 * LARGEST:
            raise wire.WireError(f"a message of {size} bytes is too large")
        if len(body) < size:
            return
        self._delivery = None
        if name == "basic.return":
            reader.number("H")
            self._returned[str(properties.get("message_id"))] = reader.short_text()
            return
        reader.short_text()
        headers = properties.get("headers") or {}
        signature = headers.get("signature")
        self._events.append(
            Delivered(
                reader.number("Q"),
                properties.get("message_id"),
                bytes(body),
                signature if isinstance(signature, bytes) else None,
                properties.get("reply_to"),
                patience_of(headers.get("patience")),
                headers.get("output") is True,
            )
        )

    def _dispatch(self) -> None:
        while self._methods:
            self._method(*self._methods.pop(0))

    def _method(self, name: str, reader: wire.Reader) -> None:
        if name in ("connection.close", "channel.close"):
            code, text = reader.number("H"), reader.short_text()
            if name == "connection.close":
                self._write(wire.method(0, "connection.close-ok"))
            raise TransportDown(f"the broker ends the connection: {code} {text}")
        if name == "basic.cancel":
            raise TransportDown("the input queue was removed")
        if name == "channel.flow":
            self._write(wire.method(_CHANNEL, "channel.flow-ok", bytes([reader.number("B")])))
        if name in ("basic.ack", "basic.nack"):
            tag, multiple = reader.number("Q"), reader.number("B") & 1
            for number in [n for n in self._unconfirmed if n == tag or (multiple and n <= tag)]:
                token, id = self._unconfirmed.pop(number)
                reason = self._returned.pop(id, None)
                if name == "basic.nack":
                    reason = "the broker could not keep it"
                self._events.append(Kept(token) if reason is None else NotKept(token, reason, final=False))
