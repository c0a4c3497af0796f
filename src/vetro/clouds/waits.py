"""`Waits`: what the operations of one opened cloud wait for now, for those who are waited for by people."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

from vetro.clouds.interface import CloudWait, Owner
from vetro.diagnostics import Text

#: A kind of `CloudWait` and its text.
Told = tuple[str, Text]
#: Says what else is waited for by now; since when stays.
Say = Callable[[Text], None]


class Waits:
    """Used from many threads. What is told is gone with the operation, however that ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = count()
        self._open: dict[int, tuple[Owner, CloudWait]] = {}

    @contextmanager
    def on(self, owner: Owner, kind: str, text: Text) -> Iterator[Say]:
        """During the block an operation for ``owner`` waits for what ``text`` calls by a noun."""
        since = time.time()
        with self._lock:
            number = next(self._numbers)
            self._open[number] = (owner, CloudWait(kind, text, since))

        def say(text: Text) -> None:
            with self._lock:
                self._open[number] = (owner, CloudWait(kind, text, since))

        try:
            yield say
        finally:
            with self._lock:
                del self._open[number]

    def of(self, owner: Owner) -> list[CloudWait]:
        """What operations for ``owner`` wait for, the longest first."""
        with self._lock:
            found = list(self._open.values())
        place = (owner.project, owner.environment)
        mine = [wait for other, wait in found if (other.project, other.environment) == place]
        return sorted(mine, key=lambda wait: wait.since)


def resource_text(name: str, type: str, action: str) -> Text:
    """A resource of a stack while something is done with it; ``action``: CREATE, DELETE, what else Heat calls so."""
    if action == "CREATE":
        return Text("resource '{name}' ({type}), which is being made", name=name, type=type)
    if action == "DELETE":
        return Text("resource '{name}' ({type}), which is being removed", name=name, type=type)
    return Text("resource '{name}' ({type}), which is being changed", name=name, type=type)


def server_text(name: str, doing: str) -> Text:
    """A server while something is done with it; ``doing``: CREATE, UPDATE, DELETE, start, stop, restart, answer."""
    match doing:
        case "CREATE":
            return Text("server '{server}', which is being made and boots", server=name)
        case "DELETE":
            return Text("server '{server}', which is being removed", server=name)
        case "start" | "restart":
            return Text("server '{server}', which is starting", server=name)
        case "stop":
            return Text("server '{server}', which is stopping", server=name)
        case "answer":
            return Text("the machine of server '{server}', which does not answer", server=name)
    return Text("server '{server}', which is being changed", server=name)


def service_text(name: str) -> Text:
    """A service of a cloud that is away or busy."""
    return Text("the service {name}, which does not answer", name=name)


def held_text(stack: str) -> Text:
    """A stack that is not free."""
    return Text("stack '{stack}', which another operation holds", stack=stack)


def deployment_text(server: str, name: str) -> Text:
    """A software deployment to a server."""
    return Text("server '{server}', which runs the deployment '{name}'", server=server, name=name)


def signals_text(count: int, most: int) -> Text:
    """A wait condition."""
    return Text("signals of servers: {count} of {most} have come", count=count, most=most)
