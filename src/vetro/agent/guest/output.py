"""What programs of a plan write, told while they run: to whoever waits for the answer and said that it listens.

The process of the plan hands pieces of whole lines to the agent, which sends them on as far as its transport takes them
(`Transport.tell`). No program waits for that: what does not get through in time is left out, and counted. The answer
holds the output all the same.
"""

from __future__ import annotations

import json
import socket
import time
from typing import Any

#: Seconds between two pieces of a stream, bytes of a piece, and of all pieces of a plan.
EVERY = 0.5
LARGEST = 16 << 10
MOST = 1 << 20
#: ``Action`` of a message with a piece.
ACTION = "Execution:Output"


class Teller:
    """The plan's end: what one stream of one program writes. ``end`` is None where nobody listens."""

    #: What was told of the plan so far, in bytes.
    told = 0

    def __init__(self, end: socket.socket | None, script: str, stream: str) -> None:
        self._end = end
        self._about = {"Script": script, "Stream": stream}
        self._lines = bytearray()
        self._left = 0
        #: What comes next belongs to a line of which the beginning was left out.
        self._inside = False
        self._next = 0.0

    def add(self, data: bytes) -> None:
        """The program has written this."""
        if self._end is None:
            return
        if self._inside:
            rest = data.find(b"\n") + 1
            self._inside = not rest
            self._left += rest or len(data)
            data = data[rest:] if rest else b""
        self._lines += data
        if len(self._lines) > 2 * LARGEST:  # cut seldom, so that much output costs linear time
            self._cut()

    def _cut(self) -> None:
        """Leaves out the oldest lines; a line that is longer than a piece, too."""
        cut = self._lines.find(b"\n", len(self._lines) - LARGEST - 1) + 1
        self._inside = not cut
        cut = cut or len(self._lines)
        self._left += cut
        del self._lines[:cut]

    def flush(self, *, last: bool = False) -> None:
        """Hands over the whole lines, if it is time; with ``last`` everything."""
        if self._end is None:
            return
        if len(self._lines) > LARGEST:
            self._cut()
        size = len(self._lines) if last else self._lines.rfind(b"\n") + 1
        now = time.monotonic()
        if not size and not (last and self._left):
            return
        if not last and (now < self._next or Teller.told >= MOST):
            return
        self._next = now + EVERY
        piece = {**self._about, "Text": self._lines[:size].decode("utf-8", "replace"), "Left": self._left}
        try:
            self._end.send(json.dumps(piece).encode("ascii"))
        except OSError:  # nobody takes it at the moment
            return
        Teller.told += size
        self._left = 0
        del self._lines[:size]


#: The end of the process of a plan.
_end: socket.socket | None = None


def use(end: socket.socket) -> None:
    """This process is that of a plan from now on."""
    global _end
    _end = end
    end.setblocking(False)


def teller(script: str, stream: str) -> Teller:
    """For one stream of one program of the plan that this process runs."""
    return Teller(_end, script, stream)


class Pieces:
    """The agent's end: pieces of the plan that runs, as texts for messages."""

    def __init__(self, plan: str) -> None:
        self._plan = plan
        self._number = 0
        # Of a kind that keeps messages apart.
        self._ours, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._ours.setblocking(False)

    def fileno(self) -> int:
        """Readable when there are some."""
        return self._ours.fileno()

    def read(self) -> list[tuple[int, str]]:
        """Those that have come: number and text of each."""
        found: list[tuple[int, str]] = []
        while len(found) < 100:
            try:
                data = self._ours.recv(1 << 18)
                piece: Any = json.loads(data) if data else None
            except (OSError, ValueError):
                break
            if not isinstance(piece, dict):
                break
            self._number += 1
            body = {**piece, "FormatVersion": "2.0.0", "Action": ACTION, "PlanID": self._plan, "Number": self._number}
            found.append((self._number, json.dumps(body)))
        return found

    def close(self) -> None:
        """Lets both ends go."""
        self._ours.close()
        self.theirs.close()
