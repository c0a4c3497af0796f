"""A guarded update: hold what is there, deploy, look whether all is as well as before; else everything goes back.

::

    ready -> snapshotting -> deploying -> settling -> (holding) -> keeping -> kept
                  |              |           |            |           ^
                  |              +-----------+------------+-> restoring -> recovering -> releasing -> restored
                  +--------------------------------------------------------------------> releasing -> restored

What was held is let go at the end of both ways (``keeping``, ``releasing``), and at once when the environment is given
up: then nothing goes back. A server that was started again is no application that serves yet: ``recovering`` is over
when all is as well as it was before the update, or has had its time.

A *chain* has several parts, which are deployed one after the other, each with a draft that is made when the one before
has settled (``drafting``)::

    settling -> keeping -> drafting -> snapshotting -> deploying    each part has a way back of its own
    settling -> drafting -> deploying    together: what is held is that of before the first

It stops where a part does not go well; then that part goes back, or together all of them.

A task that does not go well on the way back is tried again; when it never does, a person has to say what comes next
(``stuck``). `advance` is pure and total: called again with the same facts it changes nothing and commands nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field, replace
from typing import Any, Literal, Self, get_args

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.engine.procedures.procedure import DONE, FINAL, GONE, Cancel, Command, Enqueue, Facts, TaskKind, Wake
from vetro.engine.watching.states import State, worse

Step = Literal[
    "ready",
    "snapshotting",
    "deploying",
    "settling",
    "drafting",
    "holding",
    "keeping",
    "restoring",
    "recovering",
    "releasing",
    "stuck",
    "kept",
    "restored",
]
#: Steps after which nothing happens any more, and those in which the environment is the procedure's alone.
ENDED: frozenset[Step] = frozenset({"kept", "restored"})
RESERVED: frozenset[Step] = frozenset(get_args(Step)) - ENDED - {"holding"}

#: How often a task of the way back, or of the end, is tried; seconds before the second time, doubled each time.
ATTEMPTS, PAUSE = 5, 10.0
#: Seconds between two looks at the health of an environment, and for which a component may be unknown after settling.
LOOK, PATIENCE = 5.0, 180.0
#: Seconds that components have, once everything was brought back, to be as well as before the update.
RECOVERY = 300.0

_KINDS: Mapping[Step, TaskKind] = {
    "snapshotting": "snapshot",
    "deploying": "deploy",
    "keeping": "drop",
    "restoring": "restore",
    "releasing": "drop",
}
#: Steps of an update that only lets go of what it held, or has.
_ENDS: frozenset[Step] = ENDED | {"keeping", "recovering", "releasing"}
#: What follows a task that has to succeed.
_AFTER: Mapping[Step, Step] = {"keeping": "kept", "restoring": "recovering", "releasing": "restored"}


@dataclass(frozen=True, slots=True)
class GuardedUpdate:
    """Where a guarded update is. Times are seconds since 1970."""

    #: Seconds for which the new state is looked at, and for which it can be taken back afterwards.
    settle: float = 30.0
    hold: float = 0.0
    #: Whether components have to be as well as before.
    by_health: bool = True
    step: Step = "ready"
    #: Tasks that were begun so far, and those of the present step.
    tasks: int = 0
    attempt: int = 0
    #: When the present step began, and when it is over or its task is tried again.
    since: float = 0.0
    until: float | None = None
    #: How the components were before.
    before: Mapping[str, State] = field(default_factory=dict)
    #: The same before the first part of a chain.
    before_all: Mapping[str, State] = field(default_factory=dict)
    #: How components were, by their names, that were not as well as before when their time to recover was over.
    unwell: Mapping[str, State] = field(default_factory=dict)
    #: Whether a deployment was begun: before that there is nothing to bring back.
    deployed: bool = False
    #: Whether the present step's task was told to end.
    cancelled: bool = False
    #: Why it goes back, why a person is needed, or why the rest of a chain is not begun.
    reason: str = ""
    #: Parts that are deployed one after the other, and which of them it is now, from 0.
    parts: int = 1
    part: int = 0
    #: Whether all parts go back where one does not go well, and whether no more of them are to be begun.
    together: bool = False
    stopped: bool = False

    @property
    def key(self) -> str:
        """The key of the present step's task."""
        return f"{self.step}-{self.tasks}"

    @property
    def more(self) -> bool:
        """Whether a part comes after the present one."""
        return self.part + 1 < self.parts and not self.stopped

    @property
    def snapshot(self) -> int:
        """Number of the snapshot that is held, or was last."""
        return 0 if self.together else self.part

    def as_json(self) -> dict[str, Any]:
        """As it is stored."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Back from storage."""
        states = {
            name: {id: State(state) for id, state in (stored.get(name) or {}).items()}
            for name in ("before", "before_all", "unwell")
        }
        return cls(**{**stored, **states})


def advance(record: GuardedUpdate, facts: Facts, now: float) -> tuple[GuardedUpdate, list[Command]]:
    """What the update is now, and what is to be done for it, in one transaction with storing the record."""
    commands: list[Command] = []
    while True:
        step = _abandoned if facts.asked == "abandon" and record.step not in _ENDS else _STEPS[record.step]
        after, more = step(_in_time(record, now), facts, now)
        commands += more
        if after.step == record.step or after.step in _KINDS:  # nobody knows a task that is only commanded
            return after, commands
        record = after


def _in_time(record: GuardedUpdate, now: float) -> GuardedUpdate:
    """A clock that was set back makes no step longer than it was to be."""
    if record.until is None or now >= record.since:
        return record
    return replace(record, since=now, until=now + (record.until - record.since))


_Result = tuple[GuardedUpdate, list[Command]]


def _enter(record: GuardedUpdate, step: Step, now: float, lasts: float | None = None, **more: Any) -> _Result:
    begins = step in _KINDS
    after = replace(
        record,
        step=step,
        tasks=record.tasks + begins,
        attempt=int(begins),
        since=now,
        until=None if lasts is None else now + lasts,
        cancelled=False,
        **more,
    )
    if begins:
        return after, [Enqueue(after.key, _KINDS[step])]
    return after, [] if after.until is None else [Wake(after.until)]


def _ready(record: GuardedUpdate, facts: Facts, now: float) -> _Result:
    before = dict(facts.health or {})
    return _enter(record, "snapshotting", now, before=before, before_all=before)


def _snapshotting(record: GuardedUpdate, facts: Facts, now: float) -> _Result:
    state = facts.tasks.get(record.key, GONE)
    if state == DONE and facts.asked != "undo":
        return _enter(record, "deploying", now, deployed=True)
    if state in FINAL:  # nothing was changed yet
        wanted = state == DONE or facts.asked == "undo"
        reason = Text("somebody wanted so") if wanted else Text("what is there could not be held")
        return _enter(record, "releasing", now, reason=record.reason or reason)
    return _cancelled(record, facts)


def _deploying(record: GuardedUpdate, facts: Facts, now: float) -> _Result:
    state = facts.tasks.get(record.key, GONE)
    if state == DONE and facts.asked != "undo":
        return _enter(record, "settling", now, record.settle)
    if state in FINAL:
        return _back(record, facts, now, Text("the deployment ended as {state}", state=state))
    return _cancelled(record, facts)


def _cancelled(record: GuardedUpdate, facts: Facts) -> _Result:
    if facts.asked == "undo" and not record.cancelled:
        return replace(record, cancelled=True), [Cancel(record.key)]
    return record, []


def _abandoned(record: GuardedUpdate, facts: Facts, now: float) -> _Result:
    """Nobody looks after the environment any more: what works on it ends, and what is held is let go."""
    working = record.step in _KINDS and record.until is None
    if working and facts.tasks.get(record.key, GONE) not in FINAL:
        return (record, []) if record.cancelled else (replace(record, cancelled=True), [Cancel(record.key)])
    return _enter(record, "keeping", now, reason=Text("the environment was given up"), stopped=True)


def _settling(record: GuardedUpdate, facts: Facts, now: float) -> _Result:
    assert record.until is not None
    if facts.asked == "undo":
        return _back(record, facts, now, Text("somebody wanted so"))
    if facts.asked == "keep":
        return _enter(record, "keeping", now, stopped=True)
    if now < record.until:
        return record, [Wake(record.until)]
    if record.by_health and facts.health is None:
        return record, [Wake(now)]
    bad = worsened(record, facts.health or {}) if record.by_health else {}
    if bad and now < record.until + PATIENCE and set(bad.values()) == {State.UNKNOWN}:
        return record, [Wake(now + LOOK)]  # nobody has looked yet
    if bad:
        id, state = min(bad.items())
        name = facts.names.get(id, id)
        return _back(record, facts, now, Text("application '{id}' is {state}", id=name, state=state.value))
    if record.more:  # what got better has to stay so
        record = replace(record, before={**record.before, **(facts.health or {})})
        return _enter(record, "drafting" if record.together else "keeping", now)
    if record.hold > 0:
        return _enter(record, "holding", now, record.hold)
    return _enter(record, "keeping", now)


def _drafting(record: GuardedUpdate, facts: Facts, now: float) -> _Result:
    """Between two parts. Those before are kept already, unless all go together."""
    if not facts.asked and facts.draft is None:
        return record, [Wake(now)]
    if not facts.asked and not facts.draft:
        following = replace(record, part=record.part + 1, deployed=record.together)
        return _enter(following, "deploying" if record.together else "snapshotting", now)
    why = Text("the next part cannot be begun: {why}", why=facts.draft)
    reason = Text("somebody wanted so") if facts.asked else why
    if not record.together:
        return _enter(record, "kept", now, reason=reason, stopped=True)
    return _enter(record, "keeping" if facts.asked == "keep" else "restoring", now, reason=reason, stopped=True)


def worsened(record: GuardedUpdate, health: Mapping[str, State]) -> dict[str, State]:
    """The components that are not as well as before; new ones have to run."""
    whole = record.step == "recovering" and record.together
    before = record.before_all if whole else record.before
    return {id: state for id, state in health.items() if worse(state, before.get(id, State.RUNNING))}


def _holding(record: GuardedUpdate, facts: Facts, now: float) -> _Result:
    assert record.until is not None
    if facts.asked == "undo":
        return _back(record, facts, now, Text("somebody wanted so"))
    if facts.asked == "keep" or now >= record.until:
        return _enter(record, "keeping", now)
    return record, [Wake(record.until)]


def _back(record: GuardedUpdate, facts: Facts, now: float, reason: str) -> _Result:
    asked = Text("somebody wanted so") if facts.asked == "undo" else reason
    return _enter(record, "restoring", now, reason=asked)


def _finishing(record: GuardedUpdate, facts: Facts, now: float) -> _Result:
    """`keeping`, `restoring`, `releasing`: what has to be done, so it is tried again."""
    if facts.asked == "abandon":
        record = replace(record, stopped=True)
    if record.until is None:
        state = facts.tasks.get(record.key, GONE)
        if state == DONE:
            goes_on = record.step == "keeping" and record.more
            following = "drafting" if goes_on else _AFTER[record.step]
            return _enter(record, following, now, RECOVERY if following == "recovering" else None)
        if state not in FINAL:
            return record, []
        if record.attempt >= ATTEMPTS:
            text = Text(
                "the task '{kind}' ended {count} times without success", kind=_KINDS[record.step], count=ATTEMPTS
            )
            return _enter(record, "stuck", now, reason=text)
        wait = PAUSE * 2 ** (record.attempt - 1)
        return replace(record, since=now, until=now + wait), [Wake(now + wait)]
    if now < record.until:
        return record, [Wake(record.until)]
    after = replace(record, tasks=record.tasks + 1, attempt=record.attempt + 1, since=now, until=None)
    return after, [Enqueue(after.key, _KINDS[after.step])]


def _recovering(record: GuardedUpdate, facts: Facts, now: float) -> _Result:
    assert record.until is not None
    if facts.asked == "abandon":
        return _enter(record, "releasing", now)
    if facts.health is None:
        return record, [Wake(now)]
    bad = worsened(record, facts.health)
    if bad and now < record.until:
        return record, [Wake(min(now + LOOK, record.until))]
    return _enter(record, "releasing", now, unwell={facts.names.get(id, id): state for id, state in bad.items()})


def _stuck(record: GuardedUpdate, facts: Facts, now: float) -> _Result:
    if facts.asked == "undo":
        return _enter(record, "restoring" if record.deployed else "releasing", now)
    if facts.asked == "keep":
        return _enter(record, "keeping", now, stopped=True)
    return record, []


def _ended(record: GuardedUpdate, facts: Facts, now: float) -> _Result:
    return record, []


_STEPS = {
    "ready": _ready,
    "snapshotting": _snapshotting,
    "deploying": _deploying,
    "settling": _settling,
    "drafting": _drafting,
    "holding": _holding,
    "keeping": _finishing,
    "restoring": _finishing,
    "recovering": _recovering,
    "releasing": _finishing,
    "stuck": _stuck,
    "kept": _ended,
    "restored": _ended,
}
