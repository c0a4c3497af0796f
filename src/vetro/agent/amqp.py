"""The channel over a message broker, with the queues and messages that old images know (AGENT.md 1)."""

from __future__ import annotations

import collections
import json
import math
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

from kombu.entity import Queue
from kombu.messaging import Consumer, Producer

from vetro.agent.amqp_link import ANSWER_TIME, BrokerSettings, Link
from vetro.agent.errors import ChannelClosed, MessageInvalid
from vetro.agent.guest.framing import LARGEST
from vetro.agent.local import queue_prefix, results_prefix
from vetro.clouds.interface import Message, NotFound, Owner

#: The library has types in part only.
_Queue: Any = Queue
_Consumer: Any = Consumer
_Producer: Any = Producer

#: Arguments of every queue, old agents' and ours: a queue that nobody used for a day vanishes.
QUEUE_ARGUMENTS = {"x-ha-policy": "all", "x-expires": 86_400_000}
#: How many ids of messages are remembered to drop those that come again.
_REMEMBERED = 65_536


class AmqpChannel:
    """`vetro.clouds.interface.Channel` over AMQP 0-9-1, for one environment.

    Connects when it is used first, and again whenever the connection breaks; what was not acknowledged is delivered
    again by the broker, and delivered on only if it was not before. `send` returns when the broker has confirmed.
    ``patience`` is how many seconds it waits for that. Messages of one queue keep the order of `send`. Thread-safe.
    ``prepare`` makes what connecting needs, each time.
    """

    def __init__(
        self,
        settings: BrokerSettings,
        owner: Owner,
        *,
        patience: float = 60.0,
        prepare: Callable[[], object] = lambda: None,
    ) -> None:
        self._settings = settings
        self._prepare = prepare
        self._prefix = queue_prefix(owner)
        #: What the names of queues with answers begin with: environments may share a virtual host.
        self.results = results_prefix(owner)
        self._patience = patience
        self._guard = threading.Condition()
        self._link: Link | None = None
        self._closed = False
        self._declared: set[str] = set()
        self._consumed: set[str] = set()
        self._consumers: list[Any] = []
        self._inbox: dict[str, collections.deque[Message]] = {}
        #: Delivery tags of what was not acknowledged yet; None after the connection broke.
        self._open: dict[tuple[str, str], int | None] = {}
        self._done: dict[tuple[str, str], None] = {}
        self._sent: dict[tuple[str, str], None] = {}

    def send(self, queue: str, message: Message) -> None:
        """Has the broker keep a message. Raises `NotFound`, `MessageInvalid`, `BrokerUnavailable`, `ChannelClosed`."""
        if not queue.startswith(self._prefix):
            raise NotFound(f"there is no queue '{queue}' in this environment: its queues begin with '{self._prefix}'")
        try:
            size = len(message.body.encode())
        except UnicodeEncodeError:
            raise MessageInvalid("a message holds half of a surrogate pair, which is no Unicode text") from None
        if size > LARGEST:
            raise MessageInvalid(f"a plan of {size:,} bytes is too large: a message has at most {LARGEST:,}")
        if (queue, message.id) in self._sent:
            return
        headers: dict[str, Any] = {} if message.signature is None else {"signature": message.signature}
        if message.until is not None:
            headers["patience"] = max(0, math.ceil(message.until - time.time()))

        def publish(channel: Any) -> None:
            self._declare(channel, queue)
            _Producer(channel).publish(
                message.body,
                exchange="",
                routing_key=queue,
                content_type="application/json",
                content_encoding="utf-8",
                delivery_mode=2,
                message_id=message.id,
                reply_to=message.reply_to,
                headers=headers,
                retry=False,
                confirm_timeout=ANSWER_TIME,
            )

        self._use().submit(publish, self._patience).result()
        _remember(self._sent, (queue, message.id))

    def receive(self, queue: str, timeout: float) -> Message | None:
        """The next message nobody received through this object yet; None after ``timeout`` seconds.

        Raises `NotFound` for a queue that is not one of this environment's, `ChannelClosed`.
        """
        if not queue.startswith(self.results):
            raise NotFound(f"there is no queue '{queue}' in this environment: answers are in queues '{self.results}…'")
        deadline = time.monotonic() + timeout
        with self._guard:
            new = queue not in self._consumed
            if new:
                self._consumed.add(queue)
        if new:
            self._use().submit(lambda channel: self._consume(channel, queue), self._patience)
        with self._guard:
            while True:
                if self._closed:
                    raise ChannelClosed("the channel was closed")
                waiting = self._inbox.get(queue)
                if waiting:
                    return waiting.popleft()
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    return None
                self._guard.wait(remaining)

    def acknowledge(self, queue: str, id: str) -> None:
        """The message was stored by who received it: nobody gets it again."""
        key = (queue, id)

        def acknowledge(channel: Any) -> None:
            with self._guard:
                tag = self._open.pop(key, None)
            if tag is not None:
                channel.basic_ack(tag)

        with self._guard:
            # If the connection breaks before the broker knows, the message comes again and is dropped then.
            _remember(self._done, key)
        self._use().submit(acknowledge, self._patience)

    def close(self) -> None:
        """Ends the connection; what was not acknowledged stays with the broker."""
        with self._guard:
            self._closed = True
            link, self._link = self._link, None
            self._guard.notify_all()
        if link is not None:
            link.close()

    def _use(self) -> Link:
        with self._guard:
            if self._closed:
                raise ChannelClosed("the channel was closed")
            if self._link is None:
                self._link = Link(self._settings, self._opened, self._lost, self._prepare)
            return self._link

    # -- in the thread of the link -------------------------------------------------------------------------------------

    def _opened(self, channel: Any) -> None:
        for queue in tuple(self._consumed):
            self._consume(channel, queue)

    def _lost(self) -> None:
        self._declared.clear()
        self._consumers.clear()
        with self._guard:
            for queue, messages in self._inbox.items():
                for message in messages:
                    self._open.pop((queue, message.id), None)
                messages.clear()
            self._open = dict.fromkeys(self._open)

    def _declare(self, channel: Any, queue: str) -> None:
        if queue not in self._declared:
            channel.queue_declare(
                queue=queue, durable=True, exclusive=False, auto_delete=False, arguments=QUEUE_ARGUMENTS
            )
            self._declared.add(queue)

    def _consume(self, channel: Any, queue: str) -> None:
        if any(consumer.queues[0].name == queue for consumer in self._consumers):
            return
        self._declare(channel, queue)
        consumer = _Consumer(
            channel,
            [_Queue(queue, no_declare=True)],
            on_message=lambda message: self._arrived(queue, message),
            accept=["json", "text/plain", "application/data"],
        )
        consumer.consume()
        self._consumers.append(consumer)

    def _arrived(self, queue: str, raw: Any) -> None:
        body = raw.body
        try:
            text = body if isinstance(body, str) else bytes(body).decode()
        except UnicodeDecodeError:
            raw.ack()  # nobody can use it and it would come again for ever
            return
        id = raw.properties.get("message_id") or _source(text) or uuid.uuid4().hex
        key = (queue, str(id))
        with self._guard:
            known = key in self._open
            if key not in self._done:
                self._open[key] = raw.delivery_tag
                if not known:
                    signature = (raw.headers or {}).get("signature")
                    message = Message(
                        key[1],
                        text,
                        signature if isinstance(signature, bytes) else None,
                        raw.properties.get("reply_to"),
                    )
                    self._inbox.setdefault(queue, collections.deque()).append(message)
                    self._guard.notify_all()
                return
        raw.ack()


def _source(text: str) -> str | None:
    """The plan that an answer without message id belongs to."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    source = found.get("SourceID") if isinstance(found, dict) else None
    return source if isinstance(source, str) else None


def _remember(ids: dict[tuple[str, str], None], key: tuple[str, str]) -> None:
    """Adds to a set that forgets its oldest members."""
    ids[key] = None
    if len(ids) > _REMEMBERED:
        del ids[next(iter(ids))]
