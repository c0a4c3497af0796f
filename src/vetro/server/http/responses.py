"""`Answers`: large answers on their way to clients that may read slowly, or never.

An answer is in memory, or in a file, until its client has taken it. So a client has a time for each part, and what all
of a process hold together is bounded: beyond, whoever holds the most loses what was read from longest ago. Nobody's
only answer is taken from him.
"""

from __future__ import annotations

import asyncio
from asyncio import FIRST_COMPLETED
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final

from vetro.data_classes import dataclass
from vetro.server.requests.buffered_response import PART, BufferedResponse

Send = Callable[[dict[str, Any]], Awaitable[None]]
Head = dict[str, Any]

#: Seconds within which a client takes a part of an answer.
SEND_SECONDS: Final = 60.0
#: Bytes of answers that a process holds, in memory and in files.
HELD: Final = 64 << 20


@dataclass(eq=False)
class _Answer:
    whose: str
    size: int
    #: Done where it is to end early.
    cut: asyncio.Future[None]
    #: When the client took a part.
    taken: float


class Answers:
    """The answers of a process; of one loop only."""

    def __init__(self, most: int = HELD) -> None:
        self._most = most
        self._held: list[_Answer] = []

    async def send(self, send: Send, head: Head, data: bytes | BufferedResponse, whose: str) -> None:
        """Sends an answer in parts. It ends early, and with it the connection, where the client does not read."""
        loop = asyncio.get_running_loop()
        answer = _Answer(whose, len(data), loop.create_future(), loop.time())
        self._held.append(answer)
        self._make_room()
        try:
            for message in _messages(head, data):
                sending = loop.create_task(_awaited(send(message)))
                await asyncio.wait({sending, answer.cut}, timeout=SEND_SECONDS, return_when=FIRST_COMPLETED)
                if not sending.done():
                    sending.cancel()  # not waited for: the HTTP server may go on holding it, and this part
                    return
                sending.result()
                answer.taken = loop.time()
        finally:
            if isinstance(data, BufferedResponse):
                data.close()
            if answer in self._held:
                self._held.remove(answer)

    def _make_room(self) -> None:
        while sum(answer.size for answer in self._held) > self._most:
            number, size = Counter(answer.whose for answer in self._held), Counter[str]()
            for answer in self._held:
                size[answer.whose] += answer.size
            most = max((whose for whose in number if number[whose] > 1), key=lambda whose: size[whose], default=None)
            if most is None:
                return
            longest = min((answer for answer in self._held if answer.whose == most), key=lambda answer: answer.taken)
            self._held.remove(longest)
            longest.cut.set_result(None)


def _messages(head: Head, data: bytes | BufferedResponse) -> Iterator[dict[str, Any]]:
    # The HTTP server takes about a dozen parts that its client has not read.
    yield _with_length(head, len(data))
    for part in data if isinstance(data, BufferedResponse) else _parts(data):
        yield {"type": "http.response.body", "body": part, "more_body": True}
    yield {"type": "http.response.body", "body": b""}


def _parts(data: bytes) -> Iterator[bytes]:
    return (data[start : start + PART] for start in range(0, len(data), PART))


async def _awaited(sent: Awaitable[None]) -> None:
    await sent


def _with_length(head: Head, length: int) -> Head:
    """With the length, by which a client sees that an answer ended early."""
    if any(name.lower() == b"content-length" for name, _ in head["headers"]):
        return head
    return {**head, "headers": [*head["headers"], (b"Content-Length", str(length).encode())]}
