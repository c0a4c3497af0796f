"""The channel over a message broker, with the queues and messages that old images know (AGENT.md 1)."""

from __future__ import annotations

import collections
import logging
import math
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

from amqp.basic_message import Message as Content

from vetro.agent.amqp_frames import Incoming, Reception
from vetro.agent.amqp_link import ANSWER_TIME, BrokerSettings, Link
from vetro.agent.errors import ChannelClosed, MessageInvalid
from vetro.agent.limits import LARGEST, LONGEST_NAME, MOST_HELD, read_json, refusal
from vetro.agent.sockets import queue_prefix, results_prefix
from vetro.clouds.interface import NotFound, Owner
from vetro.clouds.messages import Message
from vetro.data_classes import dataclass
from vetro.library.broker_names import answers_exchange

log = logging.getLogger(__name__)

#: The library has types in part only.
_Content: Any = Content

#: Arguments of every queue, old agents' and ours: a queue that nobody used for a day vanishes.
QUEUE_ARGUMENTS = {"x-ha-policy": "all", "x-expires": 86_400_000}
#: How many ids of messages are remembered to drop those that come again.
_REMEMBERED = 65_536
#: Messages of one queue that the broker sends before the first of them is acknowledged.
PREFETCH = 64
#: Seconds that asking whether an agent is there may take.
_GLANCE = 2.0


@dataclass(slots=True)
class _Delivery:
    """A message that is not acknowledged yet. ``tag`` is None after the connection broke."""

    tag: int | None
    size: int


class AmqpChannel:
    """`vetro.clouds.messages.Channel` over AMQP 0-9-1, for one environment.

    Connects when it is used first, and again whenever the connection breaks; what was not acknowledged is delivered
    again by the broker, and delivered on only if it was not before. `send` returns when the broker has confirmed.
    ``patience`` is how many seconds it waits for that. Messages of one queue keep the order of `send`. Thread-safe.
    ``prefetch``: messages of a queue that may wait here for `acknowledge`; 0: any number. ``prepare`` makes what
    connecting needs, each time. ``servers`` makes the login of the server with an input queue;
    without it servers share a login, and nobody can tell who said what.
    """

    def __init__(
        self,
        settings: BrokerSettings,
        owner: Owner,
        *,
        patience: float = 60.0,
        prepare: Callable[[], object] = lambda: None,
        servers: Callable[[str], object] | None = None,
        prefetch: int = PREFETCH,
    ) -> None:
        self._prefetch = prefetch
        self._servers = servers
        self._settings = settings
        self._prepare = prepare
        self._prefix = queue_prefix(owner)
        #: What the names of queues with answers begin with: environments may share a virtual host.
        self.results = results_prefix(owner)
        self._patience = patience
        self._guard = threading.Condition()
        self._link: Link | None = None
        self._reception: Reception | None = None
        self._closed = False
        self._declared: set[str] = set()
        #: Exchanges of servers and the queues with answers that are bound to them.
        self._bound: set[tuple[str, str]] = set()
        self._consumed: set[str] = set()
        #: Queues that the broker sends from now, with the tags of their consumers.
        self._consumers: dict[str, str] = {}
        self._inbox: dict[str, collections.deque[Message]] = {}
        self._open: dict[tuple[str, str], _Delivery] = {}
        #: Queues of which a refused message was written to the log.
        self._reported: set[str] = set()
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
        if message.output:
            headers["output"] = True
        properties: dict[str, Any] = {"message_id": message.id, "application_headers": headers}
        if message.until is not None:
            headers["patience"] = left = max(0, math.ceil(message.until - time.time()))
            # An agent that comes back later would count from then: nobody waits for what was left behind.
            properties["expiration"] = str(max(left, 1) * 1000)
        if message.reply_to is not None:
            properties["reply_to"] = message.reply_to
        content = _Content(
            message.body.encode(),
            content_type="application/json",
            content_encoding="utf-8",
            delivery_mode=2,
            **properties,
        )

        def publish(channel: Any) -> None:
            self._declare(channel, queue)
            if message.login and self._servers is not None:
                self._let_answer(channel, queue, message.reply_to)
            channel.basic_publish(content, "", queue, confirm_timeout=min(ANSWER_TIME, self._patience))

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
                delivery = self._open.pop(key, None)
            if delivery is not None and delivery.tag is not None:
                channel.basic_ack(delivery.tag)
                self._release(channel, delivery.size)

        with self._guard:
            # If the connection breaks before the broker knows, the message comes again and is dropped then.
            _remember(self._done, key)
        self._use().submit(acknowledge, self._patience)

    def give_back(self, queue: str, id: str) -> bool:
        """Lets another one have a message that was received here, if another one receives from the queue; whether one
        does. Raises `BrokerUnavailable`."""

        def give(channel: Any) -> bool:
            if self._consumers_of(channel, queue) < 2:
                return False
            with self._guard:
                delivery = self._open.pop((queue, id), None)
            if delivery is not None and delivery.tag is not None:
                channel.basic_reject(delivery.tag, requeue=True)
                self._release(channel, delivery.size)
            return True

        return bool(self._use().submit(give, min(self._patience, _GLANCE)).result())

    def connected(self, queue: str) -> bool | None:
        """See `Channel.connected`: whether somebody takes messages from the queue. Raises `BrokerUnavailable`."""
        if not queue.startswith(self._prefix):
            return None
        asked = self._use().submit(lambda channel: self._consumers_of(channel, queue), min(self._patience, _GLANCE))
        return int(asked.result()) > 0

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
                self._reception = self._link.reception
            return self._link

    # -- in the thread of the link -------------------------------------------------------------------------------------

    def _opened(self, channel: Any) -> None:
        for queue in tuple(self._consumed):
            self._consume(channel, queue)

    def _lost(self) -> None:
        self._declared.clear()
        self._bound.clear()
        self._consumers.clear()
        with self._guard:
            for queue, messages in self._inbox.items():
                for message in messages:
                    self._open.pop((queue, message.receipt), None)
                messages.clear()
            for delivery in self._open.values():
                delivery.tag = None

    def _declare(self, channel: Any, queue: str) -> None:
        if queue not in self._declared:
            channel.queue_declare(
                queue=queue, durable=True, exclusive=False, auto_delete=False, arguments=QUEUE_ARGUMENTS
            )
            self._declared.add(queue)

    def _consumers_of(self, channel: Any, queue: str) -> int:
        found = channel.queue_declare(
            queue=queue, durable=True, exclusive=False, auto_delete=False, arguments=QUEUE_ARGUMENTS
        )
        return int(found.consumer_count)

    def _let_answer(self, channel: Any, queue: str, results: str | None) -> None:
        """Makes the exchange on which only this server may answer, and its login."""
        assert self._servers is not None
        exchange = answers_exchange(queue)
        if results is not None and (exchange, results) not in self._bound and results.startswith(self.results):
            self._declare(channel, results)
            channel.exchange_declare(exchange, "direct", durable=True, auto_delete=False)
            channel.queue_bind(results, exchange, results)
            self._servers(queue)
            self._bound.add((exchange, results))

    def _consume(self, channel: Any, queue: str) -> None:
        if queue in self._consumers:
            return
        self._declare(channel, queue)
        channel.basic_qos(0, self._prefetch, False)
        tag = uuid.uuid4().hex
        self._consumers[queue] = tag
        channel.basic_consume(queue, tag, callback=lambda content: self._arrived(channel, queue, content))

    def _release(self, channel: Any, size: int) -> None:
        """Memory is free again; the broker sends on when half of it is."""
        assert self._reception is not None
        self._reception.release(size)
        if self._reception.held <= MOST_HELD // 2 and not self._closed:
            for queue in self._consumed - self._consumers.keys():
                self._consume(channel, queue)

    def _arrived(self, channel: Any, queue: str, content: Incoming) -> None:
        tag = content.delivery_info["delivery_tag"]
        if content.postponed:
            # The broker keeps it, and sends nothing more before there is room.
            for consumer in self._consumers.values():
                channel.basic_cancel(consumer, nowait=True)
            self._consumers.clear()
            channel.basic_reject(tag, requeue=True)
            return
        message = self._read(queue, content)
        key = (queue, message.receipt)
        with self._guard:
            known = self._open.get(key)
            if key not in self._done and (known is None or known.tag is None):
                self._open[key] = _Delivery(tag, content.body_size)
                if known is None:
                    self._inbox.setdefault(queue, collections.deque()).append(message)
                    self._guard.notify_all()
                return
        channel.basic_ack(tag)
        self._release(channel, content.body_size)

    def _read(self, queue: str, content: Incoming) -> Message:
        """The message; one that cannot be used says why to whoever waits for it."""
        properties = content.properties
        id, reply_to = properties.get("message_id"), properties.get("reply_to")
        # The broker says where it was published, and lets a login with its own exchange publish nowhere else.
        exchange = None if self._servers is None else str(content.delivery_info["exchange"])
        reason = content.refusal
        text, value = "", None
        if reason is None:
            try:
                value = read_json(content.body)
                text = content.body.decode()
            except MessageInvalid as error:
                reason = error.message
        if not id and isinstance(value, dict) and isinstance(value.get("SourceID"), str):
            id = value["SourceID"]
        if id is not None and len(id) > LONGEST_NAME:
            id, reason = None, "its id is too long"
        id = id or uuid.uuid4().hex
        if reason is not None:
            # A server that floods must not flood the log.
            level = logging.DEBUG if queue in self._reported else logging.WARNING
            self._reported.add(queue)
            log.log(level, "the message %r in queue '%s' was refused: %s", id[:100], queue, reason)
            return Message(id, refusal(id, reason), exchange=exchange)
        return Message(id, text, None, reply_to, exchange=exchange)


def _remember(ids: dict[tuple[str, str], None], key: tuple[str, str]) -> None:
    """Adds to a set that forgets its oldest members."""
    ids[key] = None
    if len(ids) > _REMEMBERED:
        del ids[next(iter(ids))]
