"""The agents of all servers of the campaign that are reached over RabbitMQ: one thread."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import deque
from pathlib import Path
from typing import Any

from kombu.messaging import Producer

from tests.faults.world import World, answer_of
from vetro.agent.amqp import QUEUE_ARGUMENTS
from vetro.agent.amqp_link import BrokerSettings

#: The library has types in part only.
_Producer: Any = Producer


class Agents(threading.Thread):
    """Run each plan once, answer it each time it comes, and come back when the broker does."""

    def __init__(self, port: int, world: Path) -> None:
        # A callback that waits for the broker's confirmation may see messages of a queue that is just being consumed:
        # the library puts them back and says so.
        logging.getLogger("amqp").setLevel(logging.ERROR)
        super().__init__(name="agents", daemon=True)
        self._settings = BrokerSettings(host="127.0.0.1", port=port)
        self._world = World(world)
        self._over = threading.Event()
        #: What came, as (queue, message). Nothing is answered while the library reads: a publisher that waits for its
        #: confirmation would be handed further messages, whose publishers take each other's confirmations away.
        self._came: deque[tuple[str, Any]] = deque()
        #: How often the broker had to be found again.
        self.lost = 0

    def run(self) -> None:
        """Until `stop`."""
        while not self._over.is_set():
            try:
                self._serve()
            except Exception:  # whatever the library makes of a broker that is killed
                self.lost += 1
                self._over.wait(0.2)

    def _serve(self) -> None:
        with self._settings.connection() as connection:
            connection.connect()
            channel = connection.default_channel
            channel.basic_qos(0, 16, False)
            known: set[str] = set()
            self._came.clear()
            while not self._over.is_set():
                for queue in self._world.queues():
                    if queue not in known:
                        known.add(queue)
                        channel.queue_declare(
                            queue=queue, durable=True, exclusive=False, auto_delete=False, arguments=QUEUE_ARGUMENTS
                        )
                        channel.basic_consume(queue, callback=lambda raw, queue=queue: self._came.append((queue, raw)))
                with contextlib.suppress(TimeoutError):
                    connection.drain_events(timeout=0.1)
                while self._came:
                    self._take(channel, *self._came.popleft())

    def _take(self, channel: Any, queue: str, raw: Any) -> None:
        body = raw.body if isinstance(raw.body, str) else bytes(raw.body).decode()
        id, reply_to = raw.properties["message_id"], raw.properties["reply_to"]
        with self._world.deed():
            self._world.run_plan(queue, id, body)
        _Producer(channel).publish(
            answer_of(id, body), exchange="", routing_key=reply_to, content_type="application/json",
            content_encoding="utf-8", delivery_mode=2, message_id=id, retry=False, confirm_timeout=10,
        )  # fmt: skip
        channel.basic_ack(raw.delivery_tag)

    def stop(self) -> None:
        """Ends it."""
        self._over.set()
        self.join(30)
        self._world.close()
