"""`ProbeSchedule`: when which probe is made, and how many at once; projects take turns."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import random
import time
from collections import deque
from collections.abc import Callable, Mapping

from vetro.clouds.interface import ServerState
from vetro.engine.watching import probes, targets
from vetro.engine.watching.background import Tasks
from vetro.engine.watching.reports import Reports
from vetro.engine.watching.states import ProbeState
from vetro.engine.watching.targets import Check, Component, Environment

#: Probes under way at once: in all, for one project and for one environment.
OPEN, OPEN_PROJECT, OPEN_EACH = 200, 20, 10
#: Seconds after the time for a probe after which nobody knows any more what it would say.
OVERDUE = 30.0
#: Seconds between two looks at which probes are due, at least and at most.
TICK, IDLE = 0.05, 0.25
#: Seconds by which the loop is late when what probes say about time is nobody's fault but ours.
LAG = 1.0
#: Part of a pause by which it is longer or shorter, so that probes spread.
_JITTER = 0.1


class ProbeSchedule:
    """``allowed``: whether an address may be probed by an interface ('': any), asked before each probe. ``spread``:
    seconds over which the first probes of an environment are made.
    """

    def __init__(
        self, reports: Reports, chance: random.Random, allowed: Callable[[str, str], bool], spread: float
    ) -> None:
        self._reports = reports
        self._random = chance
        self._allowed = allowed
        self._spread = spread
        self._tasks = Tasks()
        self._due: list[tuple[float, int, Environment, Component, Check]] = []
        self._numbers = itertools.count()
        #: Entries of ``_due`` of environments that are watched no more, or differently.
        self._dead = 0
        #: Probes whose time has come, and how many are under way, by project. Projects take turns.
        self._ready: dict[str, deque[tuple[Environment, Component, Check]]] = {}
        self._open_of: dict[str, int] = {}
        self._open = 0
        #: When the loop was seen to run, and when it was seen to be late.
        self._beat, self._late = time.monotonic(), 0.0
        #: Probes that were made.
        self.made = 0

    def put(self, environment: Environment, component: Component, check: Check, pause: float) -> None:
        """Makes a probe from now on, the first one after ``pause`` seconds."""
        result = component.results[check.key]
        result.due = 0.0
        result.until = result.until or time.monotonic() + pause + check.every + OVERDUE
        self._plan(environment, component, check, pause)

    def drop(self, environment: Environment) -> None:
        """Makes no more probes of this environment, which is gone."""
        self._dead += sum(c.probe is not None for one in environment.components for c in one.checks.values())
        if self._dead > max(1000, len(self._due) // 2):
            self._due = [entry for entry in self._due if not entry[2].gone]
            heapq.heapify(self._due)
            self._dead = 0

    def follow(self, environment: Environment, before: Mapping[str, ServerState]) -> None:
        """Servers that came back are probed at once: nobody waits for the end of a pause."""
        back = {
            id
            for id, server in environment.servers.items()
            if server.status == "ACTIVE" and (id not in before or before[id].status != "ACTIVE")
        }
        if not back or not before:
            return
        for component in environment.components:
            for check in component.checks.values():
                if check.server in back and check.probe is not None:
                    component.results[check.key].due = 0.0
                    self._plan(environment, component, check, 1.0)

    def _plan(self, environment: Environment, component: Component, check: Check, pause: float) -> None:
        entry = time.monotonic() + pause, next(self._numbers), environment, component, check
        heapq.heappush(self._due, entry)

    async def run(self) -> None:
        """Makes probes until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._pulse())
            group.create_task(self._probe())

    async def _probe(self) -> None:
        while True:
            now = time.monotonic()
            while self._due and self._due[0][0] <= now:
                _, _, environment, component, check = heapq.heappop(self._due)
                if environment.gone:
                    self._dead -= 1
                else:
                    self._ready.setdefault(environment.owner.project, deque()).append((environment, component, check))
            while self._open < OPEN and self._turn(now):
                pass
            # To be woken for each probe costs more than what it begins.
            pause = self._due[0][0] - now if self._due else IDLE
            await asyncio.sleep(TICK if self._ready else min(max(pause, TICK), IDLE))

    def _turn(self, now: float) -> bool:
        """One probe of each project that has one ready and may; whether there was any."""
        begun = False
        for project in list(self._ready):
            if self._open >= OPEN:
                break  # who had no turn is the first one next time
            waiting, project_open = self._ready.pop(project), self._open_of.get(project, 0)
            for _ in range(len(waiting) if project_open < OPEN_PROJECT else 0):
                environment, component, check = waiting.popleft()
                if environment.gone or component.checks.get(check.key) is not check:
                    continue  # it is watched differently now
                if component.results[check.key].due > now:
                    continue  # it was planned for later meanwhile
                if environment.open >= OPEN_EACH:
                    waiting.append((environment, component, check))
                    continue
                self._open += 1
                self._open_of[project] = project_open + 1
                environment.open += 1
                self._tasks.begin(self._one(environment, component, check))
                begun = True
                break
            if waiting:
                self._ready[project] = waiting  # now it is the last one
        return begun

    async def _pulse(self) -> None:
        """Sees whether the loop runs in time."""
        while True:
            await asyncio.sleep(LAG / 4)
            now = time.monotonic()
            if now - self._beat > LAG * 1.25:
                self._late = now
            self._beat = now

    async def _one(self, environment: Environment, component: Component, check: Check) -> None:
        result = component.results[check.key]
        try:
            before = result.finding()
            pause = await self._result(environment, result, check)
            if result.finding() != before:
                self._reports.touch(environment, component)
        finally:
            project = environment.owner.project
            self._open -= 1
            environment.open -= 1
            self._open_of[project] -= 1
            if not self._open_of[project]:
                del self._open_of[project]
        if environment.gone:
            return  # what is planned now is another's
        pause *= self._random.uniform(1.0 - _JITTER, 1.0 + _JITTER)
        result.due = time.monotonic() + pause - 0.001
        self._plan(environment, component, check, pause)

    async def _result(self, environment: Environment, result: ProbeState, check: Check) -> float:
        """Probes, if there is something to probe; seconds until the next time."""
        begun = time.monotonic()
        if environment.looked is None:
            return min(targets.LOOK / 2, max(self._spread, 0.5))
        if environment.trouble or begun - environment.looked > targets.STALE:
            return targets.LOOK / 2  # its addresses may be somebody else's by now
        server = environment.servers.get(check.server)
        if server is None or server.status != "ACTIVE":
            return targets.LOOK
        addresses = [address for address in server.reachable if self._allowed(address, server.device)]
        if check.address:
            addresses = [address for address in addresses if address == check.address]
        if not addresses and not check.declared:
            result.forget()
            return check.every
        assert check.probe is not None, "a task is asked"
        text = await probes.run(check.probe, addresses, server.device)
        self.made += 1
        now = time.monotonic()
        if text is not None and (self._late > begun or now - self._beat > LAG * 1.25):
            return targets.LOOK / 2  # we were too slow, not the server
        if environment.gone:
            return check.every
        result.result(text, now, time.time() - environment.since > check.grace)
        pause = result.pause(check.every, now)
        result.until = now + pause + check.every + OVERDUE
        return pause
