"""`DryRunHost`: an effects host for plans. Nothing waits, and what only the real world can do is not done.

Stacks and agents go to the recorder that the host has; here are the rest: pauses end at once (and the clock goes on by
as much, so that loops with a deadline end), effects of plug-ins are answered with null.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from vetro.engine.host.answer import Request
from vetro.engine.host.performer import Answered, EffectsHost


class DryRunHost:
    """Stands before ``host``, for `vetro.engine.host.frame_server.Service`."""

    def __init__(self, host: EffectsHost) -> None:
        self._host = host
        self._skipped = 0.0

    def tell_waits(self, tell: Callable[[list[dict[str, Any]]], None]) -> None:
        """See `EffectsHost.tell_waits`."""
        self._host.tell_waits(tell)

    def expect(self, ids: Iterable[str]) -> None:
        """See `EffectsHost.expect`."""
        self._host.expect(ids)

    def begin(self, request: Request, answered: Answered) -> None:
        """See `EffectsHost.begin`."""
        if request.kind == "sleep":
            seconds = request.args.get("seconds")
            if isinstance(seconds, (int, float)) and not isinstance(seconds, bool):
                self._skipped += max(float(seconds), 0.0)
            answered(request.key, None, None)
        elif request.kind == "clock":
            answered(request.key, time.time() + self._skipped, None)
        elif request.kind.startswith("plugin:"):
            answered(request.key, None, None)
        else:
            self._host.begin(request, answered)

    def stored(self, key: str) -> None:
        """See `EffectsHost.stored`."""
        self._host.stored(key)

    def abandon(self, key: str) -> None:
        """See `EffectsHost.abandon`."""
        self._host.abandon(key)

    def close(self, grace: float = 0.0) -> None:
        """See `EffectsHost.close`."""
        self._host.close(grace)
