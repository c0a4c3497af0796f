"""What notices are about, and how bad it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vetro.engine.watching.states import State

INFO, WARNING, ERROR = "info", "warning", "error"
#: From the least on.
LEVELS: Final = (INFO, WARNING, ERROR)

HEALTH, DECISION, TEST = "health.changed", "decision.needed", "test"
#: Kinds that rules name; what each is about.
KINDS: Final[Mapping[str, str]] = {
    "deployment.done": "a deployment has ended well",
    "deployment.failed": "a deployment failed, or was cancelled",
    "deletion.done": "an environment is deleted",
    "deletion.failed": "deleting an environment failed",
    "action.done": "an action has ended well",
    "action.failed": "an action failed, or was cancelled",
    "repair.done": "an environment is as it was left",
    "repair.failed": "a repair failed, or was cancelled",
    "power.done": "servers were started, stopped or restarted",
    "power.failed": "servers could not be started, stopped or restarted",
    "update.kept": "what an update with a way back made stays",
    "update.restored": "an update was taken back: all is as it was before",
    "update.stuck": "an update could be taken back by a person only, or kept",
    DECISION: "a task waits for somebody to decide what became of an effect",
    HEALTH: "an application has come into another state",
}
#: Kinds of tasks that notices are about: the first half of the kind.
OF_TASKS: Final[Mapping[str, str]] = {
    "deploy": "deployment",
    "destroy": "deletion",
    "action": "action",
    "repair": "repair",
    "power": "power",
}
#: What is told of an update with a way back, by its step, and how bad that is.
OF_UPDATES: Final[Mapping[str, tuple[str, str]]] = {
    "kept": ("update.kept", INFO),
    "restored": ("update.restored", WARNING),
    "stuck": ("update.stuck", ERROR),
}
#: How bad a state of a component is.
OF_STATES: Final[Mapping[str, str]] = {
    State.RUNNING: INFO,
    State.STOPPED: INFO,
    State.SIMULATED: INFO,
    State.DEGRADED: WARNING,
    State.UNKNOWN: WARNING,
    State.DOWN: ERROR,
}


def reaches(level: str, least: str) -> bool:
    """Whether something is at least so bad."""
    return LEVELS.index(level) >= LEVELS.index(least)
