"""`Watch`: many environments looked at all the time, by one event loop that keeps to bounds.

Clouds say how servers are (`looks`), probes and tasks whether these answer (`probe_schedule`, `questions`). Probes go
only to addresses that a cloud calls reachable (`ServerState.reachable`). Told is what changed (`reports`), and for how
long everything else may be believed: see `Watch.changes`.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from vetro.clouds.interface import Cloud, Owner, ServerState
from vetro.diagnostics import Text
from vetro.engine.watching import probes, targets
from vetro.engine.watching.looks import Looks
from vetro.engine.watching.probe_schedule import ProbeSchedule
from vetro.engine.watching.questions import Questions
from vetro.engine.watching.reports import Reports
from vetro.engine.watching.states import State
from vetro.engine.watching.targets import Check, Component, Environment


class Watch:
    """``clouds`` opens a cloud by its key; called on threads. ``allowed``: whether an address may be probed by
    an interface ('': any), asked before each probe. ``spread``: seconds over which the first probes of an
    environment are made.
    """

    def __init__(
        self,
        clouds: Callable[[str, Owner], Cloud],
        *,
        allowed: Callable[[str, str], bool] = probes.allowed,
        spread: float = targets.LOOK,
    ) -> None:
        self._spread = spread
        self._environments: dict[str, Environment] = {}
        self._random = random.Random()
        self._reports = Reports()
        self._probes = ProbeSchedule(self._reports, self._random, allowed, spread)
        self._questions = Questions(self._reports, self._random)
        self._looks = Looks(clouds, self._environments, self._reports, self._follow)

    @property
    def made(self) -> int:
        """Probes that were made, and answers that came."""
        return self._probes.made + self._questions.made

    async def run(self) -> None:
        """Looks and probes until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._looks.run())
            group.create_task(self._probes.run())

    def put(self, data: Mapping[str, Any]) -> None:
        """Watches an environment from now on, or as it is now (`vetro.server.watch.target_reader`)."""
        made = targets.read_environment(data, self._environments.get(str(data["id"])))
        self.drop([made.id])
        self._environments[made.id] = made
        self._looks.inventory.put(made.id, self._spread)
        self._looks.hurry(made.cloud)
        self._reports.touch(made)
        for component in made.components:
            for check in component.checks.values():
                self._begin(made, component, check)

    def _begin(self, environment: Environment, component: Component, check: Check) -> None:
        pause = self._random.uniform(0.0, min(check.every, self._spread))
        if check.probe is not None:
            self._probes.put(environment, component, check, pause)
        elif check.question is not None:
            self._questions.put(environment, component, check, pause)

    def _follow(self, environment: Environment, before: Mapping[str, ServerState]) -> None:
        """An environment was looked at."""
        if environment.gone:
            return
        fresh, less = targets.derive(environment)
        for component, check in fresh:
            self._begin(environment, component, check)
        if less:
            self._reports.touch(environment, *less)
        self._agents(environment)
        self._probes.follow(environment, before)

    def _agents(self, environment: Environment) -> None:
        """What the cloud says of agents is the result of these checks."""
        now = time.monotonic()
        for component in environment.components:
            for check in component.checks.values():
                seen = environment.servers.get(check.server)
                if not check.derived or check.probe is not None or seen is None or seen.agent is None:
                    continue
                result = component.results[check.key]
                known = result.finding()
                name = component.servers[check.server]
                why = None if seen.agent else Text("the agent of server '{name}' does not run", name=name)
                result.result(why, now, True)
                result.until = now + targets.STALE
                if result.finding() != known:
                    self._reports.touch(environment, component)

    def drop(self, ids: Iterable[str]) -> None:
        """Watches these environments no more."""
        for id in ids:
            found = self._environments.pop(id, None)
            if found is not None:
                found.gone = True
                self._looks.inventory.drop(id)
                self._questions.drop(id)
                self._probes.drop(found)

    def changes(self) -> list[dict[str, Any]]:
        """Environments with components that are not as they were told before: ``{id, number, components, off}``.

        ``off``: the servers (ids) that are to run and do not.
        """
        told = self._reports.take(self._environments.values())
        for environment in told:
            if any(component["state"] == State.DOWN.value for component in environment["components"]):
                self._looks.inventory.hurry(environment["id"])
        return told

    def contents(self) -> list[dict[str, Any]]:
        """What clouds have of environments that were listed since the last time (`inventory.CloudListings.take`)."""
        return self._looks.inventory.take()

    def metrics(self) -> list[dict[str, Any]]:
        """What was measured and not told yet (`Looks.metrics`)."""
        return self._looks.metrics()

    def questions(self) -> list[dict[str, Any]]:
        """What tasks are to be asked now (`Questions.take`)."""
        return self._questions.take()

    def answered(self, told: Mapping[str, Any]) -> None:
        """What came of a question (`Questions.answered`)."""
        self._questions.answered(told)
