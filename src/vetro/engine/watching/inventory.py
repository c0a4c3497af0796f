"""`CloudListings`: what clouds have of environments, listed every ten minutes, and at once after something went down.

It says what is there, not what should be: who knows the model compares the two. A cloud that does not answer is told as
that: nothing follows from it about what it has.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from typing import Any

from vetro.clouds.interface import Cloud, Owner

#: Seconds between two lists of an environment, between the first one and its being put, and the least between two.
EVERY, SOON, LEAST = 600.0, 20.0, 15.0
#: Clouds that are listed at once (one that hangs keeps its place), and environments of one in one go.
CLOUDS, AT_ONCE = 64, 20
#: Most stacks and servers that are told of one environment, and characters of a name.
_STACKS, _SERVERS = 500, 2000
#: Characters of a text that others say.
LONGEST = 255


class CloudListings:
    """When which environment is listed; what was found and is still to be told."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._due: dict[str, float] = {}
        self._last: dict[str, float] = {}
        self._found: dict[str, dict[str, Any]] = {}

    def put(self, id: str, spread: float) -> None:
        """An environment is there, or was changed: it is listed soon."""
        self._due[id] = time.monotonic() + self._chance.uniform(0.0, min(SOON, spread))

    def drop(self, id: str) -> None:
        """It is listed no more."""
        self._due.pop(id, None)
        self._last.pop(id, None)
        self._found.pop(id, None)

    def hurry(self, id: str) -> None:
        """Something went down: it is listed at once, unless it just was."""
        at = max(time.monotonic(), self._last.get(id, 0.0) + LEAST)
        self._due[id] = min(self._due.get(id, at), at)

    def due(self, id: str, now: float) -> bool:
        """Whether it is to be listed now."""
        return self._due.get(id, now + 1.0) <= now

    def begin(self, id: str, now: float) -> None:
        """It is being listed."""
        self._last[id] = now
        self._due[id] = now + EVERY * self._chance.uniform(0.9, 1.1)

    def found(self, id: str, number: int, told: Mapping[str, Any]) -> None:
        """What was found, for `take`."""
        if id in self._due:
            self._found[id] = {"id": id, "number": number, **told}

    def take(self) -> list[dict[str, Any]]:
        """What was found since the last time: ``{id, number, stacks: {place: digest}, servers: {id: [name, state]}}``,
        or ``{id, number, trouble}``."""
        found, self._found = self._found, {}
        return list(found.values())


def listed(cloud: Cloud, owner: Owner) -> dict[str, Any]:
    """The stacks and servers that a cloud has of an environment. Raises `CloudError`."""
    stacks: dict[str, str] = {}
    for stack in list(cloud.stacks(owner))[:_STACKS]:
        state = cloud.read_stack(owner, stack.region, stack.name)
        if state is not None and not state.status.startswith("DELETE_COMPLETE"):
            stacks[plain_text(f"{stack.name} ({stack.region})" if stack.region else stack.name)] = state.digest
    servers = {plain_text(one.id): [plain_text(one.name), one.status] for one in list(cloud.servers(owner))[:_SERVERS]}
    return {"stacks": stacks, "servers": servers}


def plain_text(told: str) -> str:
    """What others say as a text that every database and terminal can hold, of `LONGEST` characters at most."""
    return told[:LONGEST].encode("utf-8", "replace").decode().replace("\0", "?")
