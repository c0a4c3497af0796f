"""Messages between the engine and the agents in servers, and the queues that carry them. Source: AGENT.md 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Message:
    """One message on a queue (AGENT.md 1): body is JSON text, ``id`` that of the plan."""

    id: str
    body: str
    signature: bytes | None = None
    reply_to: str | None = None
    #: Until when somebody waits for the answer, in seconds since the epoch; then the agent ends the plan.
    until: float | None = None
    #: Of a plan: its server has a login of its own at the broker, and answers with that.
    login: bool = False
    #: Of a plan: what its scripts write is to be told while they run, where the agent can.
    output: bool = False
    #: Of an answer: on which exchange of the broker it was said, '' the default one; None: the channel cannot tell.
    exchange: str | None = None

    @property
    def receipt(self) -> str:
        """What `Channel.acknowledge` takes: answers with the same id of different senders are different messages."""
        return f"{self.exchange}\0{self.id}" if self.exchange else self.id


@runtime_checkable
class Channel(Protocol):
    """Durable queues between the engine and the agents of one environment: AMQP, local sockets, or a recorder."""

    def send(self, queue: str, message: Message) -> None:
        """Hands a message over for good. A message with an id that the queue has or had already is dropped.

        Raises `NotFound` when the queue is not one of this environment's.
        """
        ...  # pragma: no cover - protocol

    def receive(self, queue: str, timeout: float) -> Message | None:
        """The next message that was not received yet; None after ``timeout`` seconds. It stays until acknowledged."""
        ...  # pragma: no cover - protocol

    def acknowledge(self, queue: str, id: str) -> None:
        """The message was stored: it is not delivered again."""
        ...  # pragma: no cover - protocol

    def connected(self, queue: str) -> bool | None:
        """Whether an agent takes messages from the queue of its server now; None where that cannot be told."""
        ...  # pragma: no cover - protocol

    def close(self) -> None:
        """Lets connections go. Messages that were not acknowledged are delivered to the next who receives."""
        ...  # pragma: no cover - protocol


@runtime_checkable
class PurgedChannel(Protocol):
    """A channel whose queues can be emptied."""

    def purge(self) -> None:
        """Drops all messages of the environment that were not acknowledged, plans and answers; their ids stay known."""
        ...  # pragma: no cover - protocol
