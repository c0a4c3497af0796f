"""The local transport: a unix socket that the host has put into this server (AGENT.md 7)."""

from __future__ import annotations

import base64
import binascii
import select
import socket
import time
from typing import Any

from . import VERSION
from .framing import Decoder, FrameError, encode
from .messages import Delivered, Event, Kept, NotKept, TransportDown, patience_of

#: Seconds for connecting, greeting, and writing one message.
_PATIENCE = 60.0


class SocketTransport:
    """A greeted connection on ``path`` for one input queue. Raises `TransportDown`."""

    def __init__(self, path: str, queue: str) -> None:
        self._decoder = Decoder()
        self._events: list[Event] = []
        self._welcome = False
        #: The host takes frames ``output``.
        self._listens = False
        self._tokens: dict[str, str] = {}
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(_PATIENCE)
        try:
            self._socket.connect(path)
            self._send(t="hello", queue=queue, version=VERSION)
            deadline = time.monotonic() + _PATIENCE
            while not self._welcome:
                remaining = deadline - time.monotonic()
                if remaining <= 0 or not select.select([self._socket], [], [], remaining)[0]:
                    raise TransportDown(f"{path} does not answer")
                self._take()
        except OSError as error:
            self.close()
            raise TransportDown(f"cannot connect to {path}: {error.strerror or error}") from None
        except TransportDown:
            self.close()
            raise

    def fileno(self) -> int:
        return self._socket.fileno()

    def read(self) -> list[Event]:
        if not self._events and select.select([self._socket], [], [], 0)[0]:
            self._take()
        events, self._events = self._events, []
        return events

    def acknowledge(self, tag: object) -> None:
        self._send(t="ack", id=tag)

    def publish(self, token: str, queue: str, id: str, body: str) -> None:
        self._tokens[id] = token
        try:
            self._send(t="publish", queue=queue, id=id, reply_to=None, body=body)
        except FrameError as error:
            self._events.append(NotKept(token, str(error), final=True))

    def tell(self, queue: str, plan: str, number: int, body: str) -> None:
        if self._listens:
            self._send(t="output", queue=queue, plan=plan, number=number, body=body)

    def tick(self) -> float:
        # What came together with the welcome waits without the descriptor being readable.
        return 0.0 if self._events else 3600.0

    def close(self) -> None:
        self._socket.close()

    def _send(self, **frame: Any) -> None:
        try:
            self._socket.sendall(encode(frame))
        except OSError as error:
            raise TransportDown(f"the connection broke: {error}") from None

    def _take(self) -> None:
        try:
            data = self._socket.recv(1 << 16)
            if not data:
                raise TransportDown("the host has closed the connection")
            for frame in self._decoder.feed(data):
                self._event(frame)
        except (OSError, FrameError, KeyError, TypeError, binascii.Error) as error:
            raise TransportDown(f"the connection broke: {error}") from None

    def _event(self, frame: dict[str, Any]) -> None:
        kind = frame["t"]
        if kind == "deliver":
            signature = frame.get("signature")
            self._events.append(
                Delivered(
                    frame["id"],
                    frame["id"],
                    frame["body"].encode(),
                    None if signature is None else base64.b64decode(signature),
                    frame.get("reply_to"),
                    patience_of(frame.get("patience")),
                    frame.get("output") is True,
                )
            )
        elif kind == "stored":
            self._events.append(Kept(self._tokens.pop(frame["id"], "")))
        elif kind == "refused":
            self._events.append(NotKept(self._tokens.pop(frame["id"], ""), str(frame.get("reason")), final=True))
        elif kind == "error":
            raise TransportDown(f"the host refuses: {frame.get('reason')}")
        elif kind == "welcome":
            self._welcome = True
            self._listens = frame.get("output") is True
