"""What one server has at the message broker: the mark in the name of its login, the exchange on which it answers."""

from __future__ import annotations

import hashlib

#: Names of exchanges.
EXCHANGE = "vetro-answers-{server}"


def server_mark(queue: str) -> str:
    """What of a server's login, password and exchange belongs to it: follows from its input queue."""
    return hashlib.sha256(queue.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def answers_exchange(queue: str) -> str:
    """The exchange on which a server answers that has a login of its own."""
    return EXCHANGE.format(server=server_mark(queue))
