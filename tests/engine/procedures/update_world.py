"""What a service does with the commands of a guarded update, for tests of each way through."""

from __future__ import annotations

import json

from vetro.engine.procedures.guarded_update import GuardedUpdate, advance
from vetro.engine.procedures.procedure import Cancel, Command, Enqueue, Facts, Intervention, Wake
from vetro.engine.watching.states import State

RUNNING, DOWN, UNKNOWN = State.RUNNING, State.DOWN, State.UNKNOWN


class World:
    """What a service does with commands: one task after the other, a clock, the health of one component."""

    def __init__(self, **options: float | bool) -> None:
        self.record = GuardedUpdate(**options)  # type: ignore[arg-type]
        self.now = 1000.0
        self.tasks: dict[str, str] = {}
        self.kinds: dict[str, str] = {}
        self.order: list[str] = []
        self.health: dict[str, State] = {"web": RUNNING}
        self.asked: Intervention = ""
        self.wake: float | None = None
        self.cancelled: list[str] = []
        #: Of the next part of a chain: '' where somebody made its draft.
        self.draft: str | None = None

    def facts(self) -> Facts:
        health = None if self.health is None else dict(self.health)
        return Facts(tasks=dict(self.tasks), health=health, asked=self.asked, draft=self.draft)

    def look(self) -> list[Command]:
        before = self.record
        after, commands = advance(before, self.facts(), self.now)
        for command in commands:
            match command:
                case Enqueue(key, kind):
                    assert key not in self.tasks, "a key is used once"
                    assert not self.working(), "one task at a time"
                    self.tasks[key], self.kinds[key] = "queued", kind
                    self.order.append(kind)
                case Cancel(key):
                    self.cancelled.append(key)
                case Wake(at):
                    self.wake = at
        self.record = GuardedUpdate.from_json(json.loads(json.dumps(after.as_json())))
        assert self.record == after
        if after.step != before.step:
            self.asked = ""
        if after.part != before.part:  # the draft was that of this part
            self.draft = None
        again, more = advance(after, self.facts(), self.now)
        assert again == after
        assert all(isinstance(command, Wake) for command in more), more  # looking twice begins nothing twice
        return commands

    def working(self) -> list[str]:
        return [key for key, state in self.tasks.items() if state in ("queued", "running", "needs_person")]

    def end(self, state: str = "done") -> None:
        (key,) = self.working()
        self.tasks[key] = state
        self.look()

    def sleep(self) -> None:
        assert self.wake is not None
        self.now, self.wake = max(self.now, self.wake), None
        self.look()


def begun(**options: float | bool) -> World:
    world = World(**options)
    world.look()
    return world
