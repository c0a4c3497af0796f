"""`Watch`: many environments looked at all the time, by one event loop that keeps to bounds.

Clouds say how servers are (`looks`), probes and tasks whether these answer (`probing`, `questions`). Probes go only to
addresses that a cloud calls reachable (`ServerState.reachable`). Told is what changed (`reports`), and for how long
everything else may be believed: see `Watch.changes`.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from vetro.clouds.interface import Cloud, Owner
from vetro.engine.watching import probes, targets
from vetro.engine.watching.looks import Looks
from vetro.engine.watching.probing import Probing
from vetro.engine.watching.questions import Questions
from vetro.engine.watching.reports import Reports
from vetro.engine.watching.states import State
from vetro.engine.watching.targets import Environment


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
        self._probing = Probing(self._reports, self._random, allowed, spread)
        self._questions = Questions(self._reports, self._random)
        self._looks = Looks(clouds, self._environments, self._reports, self._probing.follow)

    @property
    def made(self) -> int:
        """Probes that were made, and answers that came."""
        return self._probing.made + self._questions.made

    async def run(self) -> None:
        """Looks and probes until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._looks.run())
            group.create_task(self._probing.run())

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
                pause = self._random.uniform(0.0, min(check.every, self._spread))
                asker: Questions | Probing = self._questions if check.probe is None else self._probing
                asker.put(made, component, check, pause)

    def drop(self, ids: Iterable[str]) -> None:
        """Watches these environments no more."""
        for id in ids:
            found = self._environments.pop(id, None)
            if found is not None:
                found.gone = True
                self._looks.inventory.drop(id)
                self._questions.drop(id)
                self._probing.drop(found)

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
        """What clouds have of environments that were listed since the last time (`inventory.Inventory.take`)."""
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
