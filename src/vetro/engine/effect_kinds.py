"""What may be done about an effect that was begun and whose end nobody knows (docs/internals.md, "After a death").

Every kind of effect states its policy here; kinds of plug-ins that state none are unsafe.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class Policy(Enum):
    """How an intent without result is adopted."""

    #: Doing it again leads to the same state: it is done again.
    CONVERGENT = "convergent"
    #: What was begun can be found by the id in its arguments: it is sent again, and the other side drops doubles.
    FINDABLE = "findable"
    #: Only a person can say whether it was done.
    UNSAFE = "unsafe"


class Answer(Enum):
    """When the task goes on."""

    #: It waits for the answer; other branches run meanwhile.
    WAITS = "waits"
    #: It waits and no other branch runs.
    QUICK = "quick"
    #: It does not wait: the answer is null at once. The worker stores the effect under its key, once.
    NONE = "none"


#: kind -> (policy, answer)
KINDS: Mapping[str, tuple[Policy, Answer]] = {
    "report": (Policy.CONVERGENT, Answer.NONE),
    "log": (Policy.CONVERGENT, Answer.NONE),
    "track": (Policy.CONVERGENT, Answer.NONE),
    "execution": (Policy.CONVERGENT, Answer.NONE),
    "agent.listen": (Policy.CONVERGENT, Answer.NONE),
    "identity": (Policy.CONVERGENT, Answer.QUICK),
    "clock": (Policy.CONVERGENT, Answer.QUICK),
    "entropy": (Policy.CONVERGENT, Answer.QUICK),
    "secret": (Policy.CONVERGENT, Answer.QUICK),
    "agent.key": (Policy.CONVERGENT, Answer.QUICK),
    # A sleep ends at its own time: what remains is counted from the intent.
    "sleep": (Policy.CONVERGENT, Answer.WAITS),
    "stack.read": (Policy.CONVERGENT, Answer.WAITS),
    "stack.push": (Policy.CONVERGENT, Answer.WAITS),
    "stack.delete": (Policy.CONVERGENT, Answer.WAITS),
    # It says the state that is wanted; a restart that is done twice ends as one does.
    "server.power": (Policy.CONVERGENT, Answer.WAITS),
    # Each finishes what was begun under the same name.
    "snapshot.make": (Policy.CONVERGENT, Answer.WAITS),
    "snapshot.restore": (Policy.CONVERGENT, Answer.WAITS),
    "snapshot.drop": (Policy.CONVERGENT, Answer.WAITS),
    # Hosts make a missing router under a fixed name and find it there.
    "network": (Policy.CONVERGENT, Answer.WAITS),
    "metadef": (Policy.CONVERGENT, Answer.WAITS),
    # Plans carry their id and stamp: channels and agents drop doubles and keep results until acknowledged.
    "agent.send": (Policy.FINDABLE, Answer.WAITS),
    "agent.call": (Policy.FINDABLE, Answer.WAITS),
    "workflow": (Policy.UNSAFE, Answer.WAITS),
}


def answer_of(kind: str) -> Answer:
    """When the task goes on after an effect of this kind."""
    return KINDS[kind][1] if kind in KINDS else Answer.WAITS
