"""``io.murano.system.AgentListener``: the queue on which agents answer (CORE_LIBRARY.md, AgentListener)."""

from __future__ import annotations

from typing import Any

from vetro.library.natives.common import perform, private, whole
from vetro.muranopl.native import method, state

LISTENER = "io.murano.system.AgentListener"


def queue_name(this: Any) -> str:
    """The result queue of a listener."""
    return f"-execution-results-{str(private(whole(this), LISTENER, '_name')).lower()}"


class AgentListener:
    """Started with the first subscription; the host ends it with the session."""

    @method("queueName")
    def queue_name(this: Any) -> str:
        """The name of the result queue."""
        return queue_name(this)

    @method("start")
    def start(cx: Any, this: Any) -> None:
        """Begins to listen; nothing when it already does."""
        values = state(whole(this))
        if not values.get("listening"):
            perform(cx, "agent.listen", queue=queue_name(this), on=True)
            values["listening"] = True

    @method("stop")
    def stop(cx: Any, this: Any) -> None:
        """Stops listening; nothing when it does not."""
        values = state(whole(this))
        if values.get("listening"):
            perform(cx, "agent.listen", queue=queue_name(this), on=False)
            values["listening"] = False
