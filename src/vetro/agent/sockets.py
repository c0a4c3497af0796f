"""The channel over unix sockets: no broker, no port; who a server is follows from the path of its socket.

Each server has a folder of its own that is bind-mounted into it at ``/run/vetro``; the agent inside connects to
``agent.sock`` there. Queues live in one SQLite file for each environment (`vetro.agent.store`), so plans that are sent
before the server has booted wait, and answers wait for an engine that was restarted. Of all processes that have opened
the channel of one environment, one serves the sockets; when it ends, another takes over (LOCAL_CLOUD.md 5.4).
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from vetro.agent.errors import ChannelClosed, MessageInvalid
from vetro.agent.guest.framing import LARGEST
from vetro.agent.hub import Hub
from vetro.agent.store import QueueStore
from vetro.clouds.drivers import agent_sockets
from vetro.clouds.interface import NotFound, Owner
from vetro.clouds.kind_protocols import Listen
from vetro.clouds.messages import Message

#: Room for the envelope around a body.
_ENVELOPE = 64 << 10


def channel_folder(directory: Path, owner: Owner) -> Path:
    """Where under ``directory`` the queues of an environment are kept (``channel.db`` and its lock)."""
    name = hashlib.sha256(f"{owner.project}\0{owner.environment}".encode()).hexdigest()[:32]
    return directory / "channels" / name


def queue_prefix(owner: Owner) -> str:
    """How the names of the input queues of an environment's servers begin."""
    return f"e{owner.environment.lower()}-h"


def results_prefix(owner: Owner) -> str:
    """How the names of the queues begin on which an environment's agents answer."""
    return f"-execution-results-e{owner.environment.lower()}-"


class SocketChannel:
    """`vetro.clouds.messages.Channel` over local sockets, for one environment.

    ``directory`` is any folder of the cloud's data; several environments may share it. ``sockets`` says in which folder
    the socket of a queue belongs: a mapping that is added at once, or a callable that is asked when a queue is sent to
    that has none yet (None: the server is not there yet); ``listen`` opens it. Folders are remembered across restarts
    until `remove`. Raises `ChannelStoreError` when the file cannot be opened.

    Messages of one queue are delivered in the order of `send`. Thread-safe.
    """

    def __init__(
        self,
        directory: Path,
        owner: Owner,
        sockets: Mapping[str, Path] | Callable[[str], Path | None] | None = None,
        listen: Listen = lambda queue, folder: agent_sockets.listen(folder),
    ) -> None:
        folder = channel_folder(directory, owner)
        self._prefix = queue_prefix(owner)
        self._store = QueueStore(folder / "channel.db")
        self._arrived = threading.Condition()
        self._received: dict[str, int] = {}
        self._closed = False
        self._ask = sockets if callable(sockets) else None
        if sockets is not None and not callable(sockets):
            for queue, place in sockets.items():
                self._check_queue(queue)
                self._store.add_server(queue, place)
        self._served = set(self._store.servers())
        self._hub = Hub(self._store, folder / "channel.lock", self._notify, listen)
        self._hub.start()

    def add(self, queue: str, folder: Path) -> None:
        """From now on ``folder``/agent.sock is the server that reads ``queue``. The folder must exist or come soon.

        Raises `NotFound` when the queue is not one of this environment's.
        """
        self._check_queue(queue)
        self._store.add_server(queue, folder)
        self._served.add(queue)
        self._hub.wake()

    def remove(self, queue: str) -> None:
        """The server is gone: its socket is closed and removed. Messages for the queue wait for a next server."""
        self._store.remove_server(queue)
        self._served.discard(queue)
        self._hub.wake()

    def send(self, queue: str, message: Message) -> None:
        """Stores a message for a server. Raises `NotFound`, `MessageInvalid`, `ChannelClosed`, `ChannelStoreError`."""
        self._check_queue(queue)
        if len(message.body) > LARGEST - _ENVELOPE or not message.body.isascii():
            # What is not ASCII may grow sixfold in the frame.
            size = len(message.body.encode("utf-16-be", "surrogatepass")) * 3
            if message.body.isascii() or size > LARGEST - _ENVELOPE:
                raise MessageInvalid(
                    f"a plan of {len(message.body):,} characters is too large: a message has at most {LARGEST:,} bytes"
                )
        if self._ask is not None and queue not in self._served:
            folder = self._ask(queue)
            if folder is not None:
                self.add(queue, folder)
        if self._store.put(queue, message):
            self._hub.wake(queue)

    def receive(self, queue: str, timeout: float) -> Message | None:
        """The next message nobody received through this object yet; None after ``timeout`` seconds."""
        deadline = time.monotonic() + timeout
        with self._arrived:
            while True:
                if self._closed:
                    raise ChannelClosed("the channel was closed")
                found = self._store.next(queue, self._received.get(queue, 0))
                if found is not None:
                    self._received[queue] = found.seq
                    return found.message
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    return None
                self._arrived.wait(remaining)

    def acknowledge(self, queue: str, id: str) -> None:
        """The message was stored by who received it: nobody gets it again."""
        self._store.done(queue, id)

    def purge(self) -> None:
        """See `PurgedChannel.purge`."""
        self._store.purge()

    def connected(self, queue: str) -> bool | None:
        """See `vetro.clouds.messages.Channel.connected`: another process may serve the sockets."""
        return self._hub.connected(queue)

    def close(self) -> None:
        """Ends the connections; what was not acknowledged stays in the file."""
        with self._arrived:
            if self._closed:
                return
            self._closed = True
            self._arrived.notify_all()
        self._hub.close()
        self._store.close()

    def _check_queue(self, queue: str) -> None:
        if not queue.startswith(self._prefix):
            raise NotFound(f"there is no queue '{queue}' in this environment: its queues begin with '{self._prefix}'")

    def _notify(self) -> None:
        with self._arrived:
            self._arrived.notify_all()
