"""`Planner`: upgrades and plans of many environments, in processes behind the walls of tasks.

A process answers for environments of one project that need the same packages: their models belong to one owner, and
the code that runs there could say what it likes of each of them anyway. What went wrong in a process that had answered
for others is asked again in a fresh one, so what a package does to a process is nothing that its neighbours are told.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from vetro.agent.signing import ensure_key
from vetro.clouds.interface import Cloud, Owner
from vetro.clouds.stacks.state.slices import Slices
from vetro.data_classes import dataclass
from vetro.engine.host.config import cloud_of
from vetro.engine.host.encryption import SecretCipher
from vetro.engine.host.simple_effects import Small
from vetro.engine.planning import memory
from vetro.engine.query.query import AskFailed, Conversation
from vetro.engine.task.launcher import Launcher
from vetro.engine.task.task import Budget
from vetro.engine.task.task import Task as EngineTask
from vetro.engine.version import engine_version
from vetro.server.caller import Caller
from vetro.server.catalog.dependencies import Chosen
from vetro.server.config.config import Config
from vetro.server.environments import power, queries
from vetro.server.environments.models import Environment
from vetro.server.impact import groups
from vetro.server.tasks import spec
from vetro.server.tasks.models import Task

#: What one process may take: processor seconds and MiB; the steps of one answer (a plan of ten applications takes a
#: thousand), and seconds for it.
BUDGET: Final = Budget(steps=5_000_000, cpu_seconds=30.0, memory_mib=512)
SECONDS: Final = 60.0
#: Bytes of an answer: a plan is text for people.
MOST_ANSWER: Final = 2 << 20
#: As many processes at once as there are processors, however many tasks of this process want some.
_PROCESSORS: Final = os.cpu_count() or 1
_processors = threading.BoundedSemaphore(_PROCESSORS)
#: Environments that one process answers for.
MOST_SERVED: Final = 50


class NotAlone(Exception):
    """Something went wrong in a process that had answered for other environments, perhaps because of them."""


@dataclass(slots=True)
class _Process:
    """``served``: environments that it has answered for."""

    conversation: Conversation
    served: int = 0
    failed: bool = False
    #: States of clouds that it has, the first and the last one.
    first: bytes = b""
    last: bytes | None = None

    def packed(self, state: bytes) -> list[int | str] | None:
        """What is sent of a state."""
        if self.last is not None and state == self.last:
            return None
        parts = memory.packed(state, self.first)
        self.first, self.last = self.first or state, state
        return parts


class PlannerConversation:
    """One process, for one environment at a time."""

    def __init__(self, planner: Planner, process: _Process, row: Environment, digests: Sequence[str]) -> None:
        self._planner, self._process, self._row = planner, process, row
        self.digests = frozenset(digests)
        #: Environments that the process answered for before.
        self.served = process.served

    def upgrade(self, packages: Sequence[Any], model: Mapping[str, Any], args: Mapping[str, Any]) -> dict[str, Any]:
        """What migrations make of it: see `vetro.engine.planning.batch`. Raises `AskFailed`, `NotAlone`."""
        task = self._task("static", model, packages, ())
        asked = {**task.as_json(), "kind": "migrate", "args": dict(args)}
        return self._ask({"do": "upgrade", "task": asked}, {})

    def plan(self, model: Mapping[str, Any], chosen: Any, image: Mapping[str, Any], now: float) -> dict[str, Any]:
        """The plan of a model with packages that were chosen (`vetro.server.environments.packages.resolved`).

        Raises `AskFailed`, `NotAlone`.
        """
        task = self._task("plan", model, chosen.rows, chosen.resolution, power.before_deployment(self._row, model))
        found = self._planner.identities(self._row)
        small = Small(found, SecretCipher(spec.secret_keys(self._planner.config), self._row.project_id))
        key = self._planner.public_key(self._row)
        sent = {**image, "state": self._process.packed(image["state"])}
        question = {"do": "plan", "task": task.as_json(), "image": sent, "key": key, "identities": found, "now": now}
        return self._ask(question, {"secret": small.secret})

    def _ask(self, question: dict[str, Any], handlers: Mapping[str, Any]) -> dict[str, Any]:
        process, well = self._process, False
        try:
            answer = process.conversation.ask(question, timeout=SECONDS, handlers=handlers)
            if not isinstance(answer, dict) or len(json.dumps(answer)) > MOST_ANSWER:
                raise ValueError("an answer that is none, or too large")
            error = answer.get("error")
            well = error is None
            if process.served and error is not None and error.get("code") in groups.LIMITS:
                raise NotAlone
        except AskFailed as failed:
            if process.served:
                raise NotAlone from failed
            raise
        finally:
            process.failed = process.failed or not well
        return answer

    def _task(
        self, kind: str, model: Mapping[str, Any], packages: Sequence[Any], resolution: Any, steps: Any = ()
    ) -> EngineTask:
        row = self._row
        id = hashlib.sha256(f"impact of {row.id}".encode()).hexdigest()[:32]
        made = spec.make(
            self._planner.config,
            _asker(row),
            id,
            kind,
            environment=row,
            model=model,
            packages=packages,
            resolution=resolution,
            power=steps,
        )
        # Both plans of an environment have the same chance: what differs is what the package changes.
        return replace(spec.engine_task(Task(id=id, kind=kind, spec=made)), seed=id, budget=BUDGET)


class Planner:
    """Opens the real clouds once. May be used from several threads; a context manager."""

    def __init__(self, config: Config, launcher: Launcher) -> None:
        self.config = config
        self._launcher = launcher
        self._lock = threading.Lock()
        self._clouds: dict[str, Cloud] = {}
        self._states: dict[Path, Slices] = {}
        self._keys: dict[str, str | None] = {}
        #: Processes that wait for an environment of their project with their packages; the oldest first.
        self._waiting: list[tuple[tuple[str, ...], _Process]] = []
        #: Packages that were chosen for environments (`vetro.server.catalog.dependencies.cached_choices`).
        self.choices: dict[Any, Chosen] = {}

    def __enter__(self) -> Planner:
        return self

    def __exit__(self, *error: object) -> None:
        for _, process in self._waiting:
            process.conversation.close()
        for state in self._states.values():
            state.close()
        for cloud in self._clouds.values():
            cloud.close()

    @contextmanager
    def conversation(
        self, row: Environment, digests: Sequence[str], *, alone: bool = False
    ) -> Iterator[PlannerConversation]:
        """A process that may read these packages; it waits for a processor. ``alone``: that has seen no environment.

        Raises `AskFailed`, `LauncherError`.
        """
        key = (row.project_id, *sorted(digests))
        with _processors:
            process = (None if alone else self._waiting_for(key)) or _Process(self._begin(digests))
            try:
                yield PlannerConversation(self, process, row, digests)
            except BaseException:
                process.failed = True
                raise
            finally:
                process.served += 1
                self._keep(key, process)

    def _begin(self, digests: Sequence[str]) -> Conversation:
        task = EngineTask(
            id="plans",
            kind="questions",
            method="plans",
            packages=tuple(spec.local_paths(list(digests))),
            budget=BUDGET,
        )
        return Conversation(task, launcher=self._launcher, timeout=SECONDS)

    def _waiting_for(self, key: tuple[str, ...]) -> _Process | None:
        with self._lock:
            for place, (known, process) in enumerate(self._waiting):
                if known == key:
                    del self._waiting[place]
                    return process
        return None

    def _keep(self, key: tuple[str, ...], process: _Process) -> None:
        """Has a process wait for the next environment, unless something went wrong in it or it has had its share."""
        over: list[_Process] = []
        with self._lock:
            if process.failed or process.served >= MOST_SERVED or not process.conversation.alive:
                over.append(process)
            else:
                self._waiting.append((key, process))
            while len(self._waiting) > _PROCESSORS:
                over.append(self._waiting.pop(0)[1])
        for one in over:
            one.conversation.close()

    def identities(self, row: Environment) -> dict[str, Any]:
        """Who asks: nobody in particular, so that the answer is the same for everybody."""
        return spec.identities(_asker(row), row)

    def image(self, row: Environment) -> dict[str, Any] | None:
        """What the recorder of its plans begins with; None where its cloud has to be asked on the way."""
        owner, settings = _owner(row), self._settings(row)
        real = settings["cloud"]
        if not memory.possible(real):
            return None
        states = {server.id: server.status for server in self._cloud(real, owner).servers(owner)}
        return memory.image(real, owner, states, self._slices(memory.source_of(real)))

    def _slices(self, source: Path) -> Slices | None:
        with self._lock:
            if source not in self._states and source.exists():
                self._states[source] = Slices(source)
            return self._states.get(source)

    def key(self, found: queries.ListedEnvironment, image: Mapping[str, Any], digests: Sequence[str]) -> str:
        """What the plan of an environment as it is follows from, in a word."""
        state = hashlib.sha256(image["state"]).hexdigest()
        about = [found.id, found.version, engine_version(), {**image, "state": state}, sorted(digests)]
        return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()

    def public_key(self, row: Environment) -> str | None:
        """The key that the environment's servers were told; None: none."""
        path = self._settings(row)["signing_key"]
        with self._lock:
            if path is not None and path not in self._keys:
                self._keys[path] = ensure_key(Path(path)).public_pem() if Path(path).exists() else None
            return None if path is None else self._keys[path]

    def _settings(self, row: Environment) -> dict[str, Any]:
        return spec.host_settings(self.config, _owner(row), row.cloud or None, None)

    def _cloud(self, real: Mapping[str, Any], owner: Owner) -> Cloud:
        """One that is only looked at: quotas, which are the project's, do not matter for that."""
        name = json.dumps({**real, "quotas": {}}, sort_keys=True, default=str)
        with self._lock:
            if name not in self._clouds:
                self._clouds[name] = cloud_of(real, owner, sweeps=False)
            return self._clouds[name]


def _owner(row: Environment) -> Owner:
    return Owner(row.project_id, row.id, "system")


def _asker(row: Environment) -> Caller:
    return Caller("system", "system", row.project_id, row.project_id, ())
