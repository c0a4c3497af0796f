"""What the agent wants of a transport, whatever it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Union


class TransportDown(Exception):
    """There is no connection; it is to be tried again later."""


@dataclass(frozen=True)
class Delivered:
    """A message came. ``tag`` is for `Transport.acknowledge`."""

    tag: object
    id: str | None
    body: bytes
    signature: bytes | None
    reply_to: str | None
    #: Seconds for which somebody waits for the answer from now on; None: nobody waits, or nobody said how long.
    patience: float | None = None
    #: Whoever waits wants to hear meanwhile what scripts write.
    output: bool = False


def patience_of(value: object) -> float | None:
    """What a message says of the time for which somebody waits."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return max(0.0, float(value)) if number and value == value else None  # type: ignore[arg-type]


@dataclass(frozen=True)
class Kept:
    """The other side keeps a published message for good."""

    token: str


@dataclass(frozen=True)
class NotKept:
    """A published message was not taken. ``final``: it never will be; otherwise its queue is not there yet."""

    token: str
    reason: str
    final: bool


Event = Union[Delivered, Kept, NotKept]


class Transport(Protocol):
    """One connection to the engine. Every method but `close` raises `TransportDown`."""

    def fileno(self) -> int:
        """For waiting until something can be read."""
        ...  # pragma: no cover - protocol

    def read(self) -> list[Event]:
        """What has come, without waiting; called when the descriptor is readable and from time to time."""
        ...  # pragma: no cover - protocol

    def acknowledge(self, tag: object) -> None:
        """A message was stored."""
        ...  # pragma: no cover - protocol

    def publish(self, token: str, queue: str, id: str, body: str) -> None:
        """Sends a message; `Kept` or `NotKept` follows."""
        ...  # pragma: no cover - protocol

    def tell(self, queue: str, plan: str, number: int, body: str) -> None:
        """Sends a piece of what a plan writes, where the other side takes such; whether it comes is not told."""
        ...  # pragma: no cover - protocol

    def tick(self) -> float:
        """Keeps the connection alive; the seconds after which it wants to be called again."""
        ...  # pragma: no cover - protocol

    def close(self) -> None:
        """Ends the connection."""
        ...  # pragma: no cover - protocol
