"""A guest that says what it wants on its socket."""

from __future__ import annotations

import json
import socket
import struct
import time
from pathlib import Path
from typing import Any

from tests.agent.agentworld import PATIENCE


class RawPeer:
    """A connection without an agent behind it."""

    def __init__(self, path: Path) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(PATIENCE)
        while True:
            try:
                self.sock.connect(str(path))
                return
            except BlockingIOError:
                time.sleep(0.01)  # the queue of connections is full for a moment
            except OSError:
                self.sock.close()
                raise

    def greet(self, queue: str) -> RawPeer:
        self.send(t="hello", queue=queue, version="test")
        assert self.receive() == {"t": "welcome", "queue": queue, "output": True}
        return self

    def send(self, **frame: Any) -> None:
        data = json.dumps(frame).encode()
        self.sock.sendall(struct.pack(">I", len(data)) + data)

    def receive(self) -> dict[str, Any]:
        """The next frame; {} at the end of the connection."""
        head = self._exactly(4)
        if not head:
            return {}
        frame = json.loads(self._exactly(struct.unpack(">I", head)[0]))
        assert isinstance(frame, dict)
        return frame

    def closed(self) -> str:
        """The reason that the host gives before it hangs up; '' when it gives none."""
        reason = ""
        while True:
            try:
                frame = self.receive()
            except ConnectionError:
                return reason
            if not frame:
                return reason
            reason = str(frame.get("reason", reason))

    def close(self) -> None:
        self.sock.close()

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self.sock.recv(size - len(data))
            if not part:
                return b""
            data += part
        return data
