"""One connection on a server's socket: what the other side may say and what it is told.

The other side is a guest where package scripts run as root: everything it sends is bounded and checked. It may take
the messages of its own queue only, and answer only what was sent to it, each once.
"""

from __future__ import annotations

import base64
import logging
import socket
import time
from collections.abc import Callable
from typing import Any

from vetro.agent.errors import MessageInvalid
from vetro.agent.guest.framing import Decoder, FrameError, encode
from vetro.agent.limits import LARGEST, LONGEST_NAME, MOST_ANSWERS, read_json
from vetro.agent.store import QueueStore
from vetro.clouds.messages import Message

log = logging.getLogger(__name__)

#: Seconds in which a connection must say who it is, and in which a frame must be complete.
GREETING_TIME = 10.0
FRAME_TIME = 60.0
#: With more than this many bytes to write, nothing more is read from the other side.
MOST_UNSENT = LARGEST + (1 << 20)
RESULTS = "-execution-results-"
#: Pieces of output that are taken at once and in a second of one connection, and characters of one; messages that may
#: wait where another one is put: whoever connects anew each time, or writes where nobody reads, fills no disk.
MOST_PIECES, PIECES_A_SECOND = 20, 6.0
LARGEST_PIECE = 256 << 10
MOST_WAITING = 200


class Refused(Exception):
    """The other side broke the rules; the connection ends."""


class Peer:
    """A connection of the agent of ``queue``. Used by the thread of the hub only."""

    def __init__(self, sock: socket.socket, queue: str, store: QueueStore, arrived: Callable[[], None]) -> None:
        sock.setblocking(False)
        self.sock = sock
        self.queue = queue
        self.greeted = False
        self._store = store
        self._arrived = arrived
        self._decoder = Decoder(_frame)
        self._out = bytearray()
        self._delivering: str | None = None
        #: Pieces of output that are taken now, and when that was counted.
        self._pieces = float(MOST_PIECES)
        self._piece_at = time.monotonic()
        self._deadline: float | None = time.monotonic() + GREETING_TIME

    @property
    def waiting(self) -> int:
        """Bytes of incomplete frames that are held for this connection."""
        return self._decoder.waiting

    @property
    def wants_to_write(self) -> bool:
        """Whether something is to be written."""
        return bool(self._out)

    @property
    def may_read(self) -> bool:
        """False while the other side does not read what it was told."""
        return len(self._out) <= MOST_UNSENT

    def check_time(self, now: float) -> None:
        """Raises `Refused` when the other side is too slow."""
        if self._deadline is not None and now > self._deadline:
            raise Refused("it did not complete its message in time")

    def readable(self) -> bool:
        """Takes what has come; False at the end of the connection. Raises `Refused`."""
        try:
            data = self.sock.recv(1 << 16)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if not data:
            return False
        try:
            frames = self._decoder.feed(data)
        except FrameError as error:
            raise Refused(str(error)) from None
        for frame in frames:
            self._take(frame)
        if not self._decoder.waiting:
            self._deadline = None if self.greeted else self._deadline
        elif frames or self._deadline is None:
            self._deadline = time.monotonic() + FRAME_TIME
        return True

    def writable(self) -> bool:
        """Writes what fits; False at the end of the connection."""
        try:
            while self._out:
                sent = self.sock.send(memoryview(self._out)[: 1 << 18])
                del self._out[:sent]
        except BlockingIOError:
            return True
        except OSError:
            return False
        return True

    def deliver(self) -> None:
        """Sends the next message of the queue unless one is on its way (prefetch 1)."""
        if not self.greeted or self._delivering is not None:
            return
        found = self._store.next(self.queue)
        if found is None:
            return
        message = found.message
        signature = None if message.signature is None else base64.b64encode(message.signature).decode()
        self._delivering = message.id
        frame: dict[str, Any] = {"queue": self.queue, "id": message.id, "reply_to": message.reply_to}
        if message.until is not None:
            frame["patience"] = max(0.0, message.until - time.time())
        if message.output:
            frame["output"] = True
        self._say(t="deliver", **frame, signature=signature, body=message.body)

    def hang_up(self, reason: str) -> None:
        """Says why, as far as that can be said at once. The caller closes the connection."""
        self._say(t="error", reason=reason)
        self.writable()

    def _say(self, **frame: Any) -> None:
        self._out += encode(frame)

    def _take(self, frame: dict[str, Any]) -> None:
        kind = frame["t"]
        if not self.greeted:
            if kind != "hello":
                raise Refused("the first message must be the greeting")
            if frame.get("queue") not in (None, self.queue):
                raise Refused(f"this socket belongs to the queue '{self.queue}', input_queue names another")
            self.greeted = True
            self._say(t="welcome", queue=self.queue, output=True)
            self.deliver()
        elif kind == "ack":
            if self._delivering is not None and frame.get("id") == self._delivering:
                self._store.done(self.queue, self._delivering)
                self._delivering = None
                self.deliver()
        elif kind == "publish":
            self._publish(frame)
        elif kind == "output":
            self._output(frame)
        else:
            raise Refused("it sent a message of unknown kind")

    def _publish(self, frame: dict[str, Any]) -> None:
        queue, id, body, reply_to = (frame.get(name) for name in ("queue", "id", "body", "reply_to"))
        if not (isinstance(queue, str) and isinstance(id, str) and isinstance(body, str)):
            raise Refused("queue, id and body of a message must be text")
        if len(queue) > LONGEST_NAME or len(id) > LONGEST_NAME:
            raise Refused("the name of a queue or of a message is too long")
        reason = self._objection(queue, id, body)
        if reason is not None:
            log.warning("an answer of %s was refused: %s", self.queue, reason)
            self._say(t="refused", id=id, reason=reason)
            return
        reply = reply_to if isinstance(reply_to, str) and len(reply_to) <= LONGEST_NAME else None
        if self._store.put(queue, Message(id, body, None, reply)):
            self._arrived()
        self._say(t="stored", id=id)

    def _output(self, frame: dict[str, Any]) -> None:
        """Hands on a piece of what a plan writes. Pieces beyond what anybody reads, and wrong ones, are dropped."""
        queue, plan, number, body = (frame.get(name) for name in ("queue", "plan", "number", "body"))
        if not (isinstance(queue, str) and isinstance(plan, str) and isinstance(body, str) and isinstance(number, int)):
            raise Refused("queue, plan and body of a piece of output must be text, its number a number")
        now = time.monotonic()
        self._pieces = min(MOST_PIECES, self._pieces + (now - self._piece_at) * PIECES_A_SECOND)
        self._piece_at = now
        sent, reply_to = self._store.had(self.queue, plan[:LONGEST_NAME])
        if self._pieces < 1 or len(body) > LARGEST_PIECE or not sent or not 0 < number < 1 << 31 or queue != reply_to:
            return
        self._pieces -= 1
        if self._store.waiting(queue, MOST_WAITING) >= MOST_WAITING:
            return
        try:
            stored = self._store.put(queue, Message(f"{plan}#{number}", body))
        except MessageInvalid:
            return
        if stored:
            self._arrived()

    def _objection(self, queue: str, id: str, body: str) -> str | None:
        try:
            body.encode()
            id.encode()
            answer = read_json(body)
        except UnicodeEncodeError:
            return "the answer is not JSON in Unicode"
        except MessageInvalid as error:
            return f"the answer cannot be taken: {error.message}"
        sent, reply_to = self._store.had(self.queue, id)
        if not sent:
            return "there was no plan with this id for this server"
        if isinstance(answer, dict) and answer.get("SourceID", id) != id:
            return "SourceID names another plan than the message"
        if not queue.startswith(RESULTS) and queue != reply_to:
            return f"answers go to a queue whose name begins with '{RESULTS}' or to that named by the plan"
        if self._store.answered(id, by=self.queue, on=queue) >= MOST_ANSWERS:
            return "this plan was answered on other queues"
        return None


def _frame(data: bytes | bytearray) -> Any:
    """The value of a frame. Raises ValueError for what is none, or too much."""
    try:
        return read_json(data)
    except MessageInvalid as error:
        raise ValueError(error.message) from None
