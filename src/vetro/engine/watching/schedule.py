"""`Watch`: many environments looked at all the time, by one event loop that keeps to the bounds below.

States of servers come from the clouds, asked on threads, all environments of a cloud together. Probes go only to
addresses that a cloud calls reachable (`ServerState.reachable`). Told is what changed (`Watch.changes`), and for how
long everything else may be believed: see `Watch.believed`.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from vetro.clouds.interface import Cloud, CloudError, ListsServers, MeasuresServers, Owner, ServerMetrics, ServerState
from vetro.diagnostics import Text, decode_messages, encode_messages
from vetro.engine.watching import inventory, probes
from vetro.engine.watching.states import (
    CheckReport,
    ComponentReport,
    Finding,
    ProbeState,
    State,
    component_report,
    server_finding,
)

_log = logging.getLogger("vetro.worker")
#: Seconds between two looks at the servers of a cloud; without a good one for so long nobody knows how they are.
LOOK, STALE = 10.0, 30.0
#: Seconds between two measurements of what servers use.
MEASURE = 60.0
#: Probes under way at once: in all, for one project and for one environment; clouds that are looked at at once.
OPEN, OPEN_PROJECT, OPEN_EACH, LOOKS = 200, 20, 10, 256
#: Seconds after the time for a probe after which nobody knows any more what it would say.
OVERDUE = 30.0
#: The same for what a task is asked, which waits for others.
ASK_OVERDUE = 300.0
#: Environments that tasks are asked about at once, in all and of one project; checks of one question; seconds after
#: which its answer does not come any more.
ASKED, ASKED_PROJECT, ASKED_CHECKS, ASK_PATIENCE = 4, 1, 20, 180.0
#: Seconds between two questions about a command and about a method, at least; and how many times as long as the answer
#: took, and seconds until what was not answered is asked again.
ASK_EVERY = {"command": 60.0, "method": 300.0}
ASK_SHARE, ASK_AGAIN = 10.0, 30.0
#: Seconds between two looks at which probes are due, at least and at most, and at which results are too old.
TICK, IDLE, AGE = 0.05, 0.25, 5.0
#: Seconds by which the loop is late when what probes say about time is nobody's fault but ours.
LAG = 1.0
#: Seconds between probes that nobody declared.
_GUESS_EVERY = 30.0
#: Counters that are kept of servers, of those that are gone as well; projects whose turns are kept.
_COUNTED = 10_000
#: States of servers that can be started.
_ENDED = frozenset({"SHUTOFF", "ERROR"})
#: Part of a pause by which it is longer or shorter, so that probes spread.
_JITTER = 0.1


@dataclass(frozen=True, slots=True)
class Check:
    """A probe of one server, or what a task is asked about the object (``server`` is empty)."""

    key: str
    name: str
    server: str
    #: None: a task is asked, what `vetro.server.watch.prober` takes.
    probe: probes.Probe | None
    every: float
    grace: float
    declared: bool
    #: The only address that is asked, where it stands in the model itself.
    address: str = ""
    question: Mapping[str, Any] | None = None


@dataclass(slots=True)
class Component:
    """One component as it is watched. ``servers``: id -> name."""

    id: str
    servers: dict[str, str]
    checks: dict[str, Check]
    results: dict[str, ProbeState]
    last: Any = None
    #: How many of its results are too old.
    overdue: int = 0


@dataclass(slots=True)
class Environment:
    """One environment as it is watched."""

    id: str
    number: int
    owner: Owner
    cloud: str
    since: float
    #: Servers that somebody stopped: id -> who.
    stopped: Mapping[str, str]
    components: list[Component]
    #: When its servers were looked at last; None: they never were. Whether that is too long ago.
    looked: float | None = None
    stale: bool = True
    servers: dict[str, ServerState] = field(default_factory=dict)
    open: int = 0
    gone: bool = False
    #: Why its cloud could not be asked.
    trouble: str = ""
    #: When a task is asked about it next, and until when an answer is waited for.
    ask_at: float = 0.0
    ask_until: float = 0.0


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
        spread: float = LOOK,
    ) -> None:
        self._open_cloud = clouds
        self._allowed = allowed
        self._spread = spread
        self._clouds: dict[str, Cloud] = {}
        self._environments: dict[str, Environment] = {}
        self._due: list[tuple[float, int, Environment, Component, Check]] = []
        self._numbers = itertools.count()
        #: Entries of ``_due`` of environments that are watched no more, or differently.
        self._dead = 0
        #: Probes whose time has come, and how many are under way, by project. Projects take turns.
        self._ready: dict[str, deque[tuple[Environment, Component, Check]]] = {}
        self._open_of: dict[str, int] = {}
        self._open = 0
        self._inventory = inventory.Inventory(random.Random())
        #: Clouds that are being listed.
        self._listing: set[str] = set()
        #: When the loop was seen to run, and when it was seen to be late.
        self._beat, self._late = time.monotonic(), 0.0
        #: When results were looked at for being too old.
        self._aged = 0.0
        self._tasks: set[asyncio.Task[None]] = set()
        self._looking: set[str] = set()
        #: By key of a cloud: when its servers were measured last; by server: what was counted then.
        self._measured: dict[str, float] = {}
        self._counted: dict[str, tuple[float, float]] = {}
        self._metrics: dict[str, dict[str, list[float | None]]] = {}
        self._asked: dict[str, float] = {}
        self._random = random.Random()
        #: Environments that tasks are asked about; their projects take turns (when each had its last one), and they.
        self._askable: dict[str, Environment] = {}
        self._turns: dict[str, float] = {}
        self._asking: dict[str, Environment] = {}
        #: Components about which something may be told.
        self._touched: dict[int, tuple[Environment, Component]] = {}
        #: Probes that were made.
        self.made = 0

    def metrics(self) -> list[dict[str, Any]]:
        """What was measured and not told yet: {id, at, servers: id -> [processors, memory, its limit, disk]}."""
        found, self._metrics = self._metrics, {}
        at = int(time.time())
        return [{"id": id, "at": at, "servers": one} for id, one in found.items() if id in self._environments]

    # -- what is watched -----------------------------------------------------------------------------------------------

    def put(self, data: Mapping[str, Any]) -> None:
        """Watches an environment from now on, or as it is now (`vetro.server.watch.targets`)."""
        old = self._environments.get(str(data["id"]))
        made = Environment(
            str(data["id"]),
            int(data["number"]),
            Owner(**data["owner"]),
            str(data["cloud"]),
            float(data["since"]),
            dict(data.get("stopped") or {}),
            [_component(item, old) for item in data["components"]],
        )
        self.drop([made.id])
        if old is not None and old.cloud == made.cloud:
            made.looked, made.servers, made.trouble = old.looked, old.servers, old.trouble
            made.stale = old.stale
        self._environments[made.id] = made
        self._inventory.put(made.id, self._spread)
        self._asked.pop(made.cloud, None)  # its servers may be others now
        self._touch(made)
        now = time.monotonic()
        for component in made.components:
            for check in component.checks.values():
                pause = self._random.uniform(0.0, min(check.every, self._spread))
                result = component.results[check.key]
                if check.probe is None:
                    # Not at once after each task: what it costs is the same then.
                    result.due = max(result.due, now + pause)
                    result.until = result.until or result.due + check.every + ASK_OVERDUE
                    self._askable[made.id] = made
                    continue
                result.due = 0.0
                result.until = result.until or now + pause + check.every + OVERDUE
                self._plan(made, component, check, pause)

    def drop(self, ids: Iterable[str]) -> None:
        """Watches these environments no more."""
        for id in ids:
            found = self._environments.pop(id, None)
            if found is not None:
                self._inventory.drop(id)
                found.gone = True
                self._askable.pop(id, None)
                self._asking.pop(id, None)
                self._dead += sum(c.probe is not None for one in found.components for c in one.checks.values())
        if self._dead > max(1000, len(self._due) // 2):
            self._due = [entry for entry in self._due if not entry[2].gone]
            heapq.heapify(self._due)
            self._dead = 0

    def changes(self) -> list[dict[str, Any]]:
        """Environments with components that are not as they were told before: ``{id, number, components, off}``.

        ``off``: the servers (ids) that are to run and do not.
        """
        now = time.monotonic()
        ages = now - self._aged >= AGE
        if ages:
            self._aged = now
        for environment in self._environments.values():
            stale = environment.looked is None or now - environment.looked > STALE
            if stale is not environment.stale:
                environment.stale = stale
                self._touch(environment)
            for component in environment.components if ages else ():
                overdue = sum(result.until < now for result in component.results.values())
                if overdue != component.overdue:
                    component.overdue = overdue
                    self._touch(environment, component)
        touched, self._touched = self._touched, {}
        told: dict[str, dict[str, Any]] = {}
        for environment, component in touched.values():
            report = None if environment.gone else self._report(environment, component)
            data = None if report is None else _shown(component.id, report)
            if data is not None and data != component.last:
                component.last = data
                if data["state"] == State.DOWN.value:
                    self._inventory.hurry(environment.id)
                found = told.setdefault(
                    environment.id,
                    {
                        "id": environment.id,
                        "number": environment.number,
                        "components": [],
                        "off": _ended(environment),
                    },
                )
                found["components"].append(data)
        return list(told.values())

    def contents(self) -> list[dict[str, Any]]:
        """What clouds have of environments that were listed since the last time (`inventory.Inventory.take`)."""
        return self._inventory.take()

    # -- what tasks are asked ------------------------------------------------------------------------------------------

    def questions(self) -> list[dict[str, Any]]:
        """What is to be asked now: ``{id, number, checks: [{key, …question}]}``; `answered` takes what came of it."""
        now = time.monotonic()
        for id in [id for id, one in self._asking.items() if one.ask_until < now]:
            del self._asking[id]
        projects = [one.owner.project for one in self._asking.values()]
        found: list[dict[str, Any]] = []
        waiting = [one for id, one in self._askable.items() if one.ask_at <= now and id not in self._asking]
        waiting.sort(key=lambda one: self._turns.get(one.owner.project, 0.0))
        for environment in waiting:
            id = environment.id
            if len(self._asking) >= ASKED:
                break
            if projects.count(environment.owner.project) >= ASKED_PROJECT:
                continue
            due = self._due_questions(environment, now)
            environment.ask_at = now + LOOK / 2
            if not due:
                continue
            del self._askable[id]
            self._askable[id] = self._asking[id] = environment  # now it is the last one
            if len(self._turns) > _COUNTED:
                self._turns.clear()
            self._turns[environment.owner.project] = now
            environment.ask_until = now + ASK_PATIENCE
            projects.append(environment.owner.project)
            found.append({"id": id, "number": environment.number, "checks": due})
        return found

    def _due_questions(self, environment: Environment, now: float) -> list[dict[str, Any]]:
        if environment.looked is None or environment.trouble or environment.stale:
            return []
        due = []
        for component in environment.components:
            for check in component.checks.values():
                result = component.results[check.key]
                if check.question is None or result.due > now:
                    continue
                if self._off(environment, component, check):
                    result.until = now + check.every + ASK_OVERDUE
                else:
                    due.append((result.due, {"key": check.key, **check.question}))
        due.sort(key=lambda item: item[0])  # what was not answered the last time comes first
        return [question for _, question in due[:ASKED_CHECKS]]

    def _off(self, environment: Environment, component: Component, check: Check) -> str:
        """A server that does not run and that the check needs; empty: there is none."""
        needed = [check.server] if check.server else component.servers
        there = environment.servers
        return next((id for id in needed if id not in there or there[id].status != "ACTIVE"), "")

    def answered(self, told: Mapping[str, Any]) -> None:
        """What came of a question: ``{id, number, seconds, results: {key: {state, text}}}``."""
        environment = self._asking.pop(str(told["id"]), None)
        if environment is None or environment.number != told["number"]:
            return
        now, seconds, results = time.monotonic(), float(told["seconds"]), told["results"]
        environment.ask_at = now
        for component in environment.components:
            for check in component.checks.values():
                result = component.results[check.key]
                if check.question is None or result.due > now:
                    continue
                if check.key not in results:
                    result.due = max(result.due, now + ASK_AGAIN)
                    continue
                before, said = result.finding(), decode_messages(results[check.key])
                well, degraded = said["state"] == State.RUNNING, said["state"] == State.DEGRADED
                graced = time.time() - environment.since > check.grace
                result.result(None if well else said["text"], now, graced, degraded)
                self.made += 1
                least = max(ASK_EVERY[str(check.question["kind"])], ASK_SHARE * seconds)
                pause = max(result.pause(check.every, now), least)
                result.due = now + pause * self._random.uniform(1.0, 1.0 + _JITTER)
                result.until = result.due + check.every + ASK_OVERDUE
                if result.finding() != before:
                    self._touch(environment, component)

    def _touch(self, environment: Environment, *components: Component) -> None:
        """Something may be told about these components; without any, about all of the environment."""
        for component in components or environment.components:
            self._touched[id(component)] = environment, component

    def _report(self, environment: Environment, component: Component) -> ComponentReport | None:
        """How a component is; None: it was not looked at yet."""
        if component.servers and environment.looked is None and not environment.trouble:
            return None
        servers, now = {}, time.monotonic()
        for id, name in component.servers.items():
            if environment.stale:
                text = Text("the cloud does not answer: {why}", why=environment.trouble or Text("nobody knows why"))
                servers[id] = Finding(State.UNKNOWN, text)
            else:
                seen = environment.servers.get(id)
                servers[id] = server_finding(name, None if seen is None else seen.status, environment.stopped.get(id))
        checks = []
        for check in component.checks.values():
            result = component.results[check.key]
            finding = result.finding()
            if result.until < now and (check.declared or finding is not None):
                finding = Finding(State.UNKNOWN, Text("it was not asked in time"))
            server = check.server
            if not server:  # one that does not run keeps the object from answering
                server = next((id for id in servers if servers[id].state is not State.RUNNING), next(iter(servers), ""))
            checks.append((CheckReport(check.key, check.name, finding, result.reached), server))
            running = server in servers and servers[server].state is State.RUNNING
            if running and check.declared and finding is None and not result.failures:
                return None  # nothing is green before everything was looked at once
        return component_report(servers, checks)

    # -- the loop ------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Looks and probes until it is cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._look())
                group.create_task(self._list())
                group.create_task(self._pulse())
                group.create_task(self._probe())
        finally:
            for cloud in self._clouds.values():
                cloud.close()

    async def _look(self) -> None:
        while True:
            now = time.monotonic()
            groups: dict[str, list[Environment]] = {}
            for environment in self._environments.values():
                groups.setdefault(environment.cloud, []).append(environment)
            for key in [key for key in self._clouds if key not in groups and key not in self._looking | self._listing]:
                _thread(self._clouds.pop(key).close)  # nobody is in it any more
            for key, environments in groups.items():
                if len(self._looking) >= LOOKS:
                    break
                if key not in self._looking and now - self._asked.get(key, -LOOK) >= LOOK:
                    self._asked[key] = now
                    self._looking.add(key)
                    self._begin(self._look_at(key, environments))
            await asyncio.sleep(0.5)

    async def _list(self) -> None:
        while True:
            now = time.monotonic()
            groups: dict[str, list[Environment]] = {}
            for environment in self._environments.values():
                if self._inventory.due(environment.id, now) and environment.cloud in self._clouds:
                    groups.setdefault(environment.cloud, []).append(environment)
            for key, environments in groups.items():
                if key not in self._listing and len(self._listing) < inventory.CLOUDS:
                    self._listing.add(key)
                    self._begin(self._list_all(key, environments[: inventory.AT_ONCE]))
            await asyncio.sleep(0.5 if groups else 2.0)

    async def _list_all(self, key: str, environments: Sequence[Environment]) -> None:
        try:
            for environment in environments:
                self._inventory.begin(environment.id, time.monotonic())
                told: dict[str, Any]
                try:
                    told = await asyncio.wrap_future(_thread(inventory.listed, self._clouds[key], environment.owner))
                except Exception as error:
                    told = encode_messages({"trouble": _words(error)})
                if not environment.gone:
                    self._inventory.found(environment.id, environment.number, told)
        finally:
            self._listing.discard(key)

    async def _look_at(self, key: str, environments: Sequence[Environment]) -> None:
        wanted = {e.owner: [id for c in e.components for id in c.servers] for e in environments}
        try:
            begun = time.monotonic()
            # A thread of its own: clouds that hang hold nobody else up.
            seen = await asyncio.wrap_future(_thread(self._seen, key, wanted))
        except Exception as error:  # a cloud that is away is looked for again
            why = _words(error)
            for environment in environments:
                environment.trouble = why
                self._touch(environment)
            return
        finally:
            self._looking.discard(key)
        if begun - self._measured.get(key, -MEASURE) >= MEASURE:
            self._measured[key] = begun
            self._begin(self._measure(key, environments, wanted))
        for environment in environments:
            before, environment.servers = environment.servers, {}
            for component in environment.components:
                own = seen.get(environment.owner, {})
                environment.servers |= {id: own[id] for id in component.servers if id in own}
            if environment.looked is None or environment.trouble or _states(before) != _states(environment.servers):
                self._touch(environment)
            environment.looked, environment.trouble = begun, ""
            self._follow(environment, before)

    async def _measure(
        self, key: str, environments: Sequence[Environment], wanted: Mapping[Owner, Collection[str]]
    ) -> None:
        """What the servers of a cloud use, where it tells that."""
        cloud: object = self._clouds.get(key)
        if not isinstance(cloud, MeasuresServers):
            return
        try:
            found = await asyncio.wrap_future(_thread(cloud.server_metrics, wanted))
        except Exception as error:  # the next time tells more
            if not isinstance(error, CloudError):
                _log.warning("a cloud cannot be measured", exc_info=error)
            return
        now = time.monotonic()
        for environment in environments:
            own = {id: found[id] for id in wanted[environment.owner] if id in found}
            told = {id: _sample(one, self._counted.get(id), now) for id, one in own.items()}
            if told and not environment.gone:
                self._metrics[environment.id] = told
            self._counted |= {id: (now, one.cpu_seconds) for id, one in own.items() if one.cpu_seconds is not None}
        if len(self._counted) > _COUNTED:
            self._counted = {id: one for id, one in self._counted.items() if now - one[0] < 2 * MEASURE}

    def _seen(self, key: str, wanted: Mapping[Owner, Collection[str]]) -> Mapping[Owner, Mapping[str, ServerState]]:
        cloud = self._clouds.get(key)
        if cloud is None:
            cloud = self._clouds[key] = self._open_cloud(key, next(iter(wanted)))
        if isinstance(cloud, ListsServers):
            return cloud.seen_servers(wanted)
        return {owner: {server.id: server for server in cloud.servers(owner)} for owner in wanted}

    def _follow(self, environment: Environment, before: Mapping[str, ServerState]) -> None:
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
                if environment.gone or component.results[check.key].due > now:
                    continue  # it is watched differently now, or was planned for later meanwhile
                if environment.open >= OPEN_EACH:
                    waiting.append((environment, component, check))
                    continue
                self._open += 1
                self._open_of[project] = project_open + 1
                environment.open += 1
                self._begin(self._one(environment, component, check))
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
        try:
            result = component.results[check.key]
            before = result.finding()
            pause = await self._result(environment, result, check)
            if result.finding() != before:
                self._touch(environment, component)
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
        component.results[check.key].due = time.monotonic() + pause - 0.001
        self._plan(environment, component, check, pause)

    async def _result(self, environment: Environment, result: ProbeState, check: Check) -> float:
        """Probes, if there is something to probe; seconds until the next time."""
        begun = time.monotonic()
        if environment.looked is None:
            return min(LOOK / 2, max(self._spread, 0.5))
        if environment.trouble or begun - environment.looked > STALE:
            return LOOK / 2  # its addresses may be somebody else's by now
        server = environment.servers.get(check.server)
        if server is None or server.status != "ACTIVE":
            return LOOK
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
            return LOOK / 2  # we were too slow, not the server
        if environment.gone:
            return check.every
        result.result(text, now, time.time() - environment.since > check.grace)
        pause = result.pause(check.every, now)
        result.until = now + pause + check.every + OVERDUE
        return pause

    def _begin(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _sample(measured: ServerMetrics, before: tuple[float, float] | None, now: float) -> list[float | None]:
    """Processors that it kept busy since it was counted last, on average, and bytes."""
    busy = None
    if before is not None and measured.cpu_seconds is not None and now > before[0]:
        # Of processes that have ended nothing is counted any more.
        busy = round(max(0.0, measured.cpu_seconds - before[1]) / (now - before[0]), 4)
    return [busy, measured.memory, measured.memory_limit, measured.disk]


def _words(error: Exception) -> str:
    """Why a cloud could not be asked."""
    if isinstance(error, CloudError):
        return str(error.message)[:500]
    # Nobody wrote this text for people who are not the operator.
    _log.warning("a cloud cannot be looked at", exc_info=error)
    return Text("nobody knows why")


def _thread(function: Callable[..., Any], *args: Any) -> Future[Any]:
    """What a function gives or raises, on a thread that nobody waits for at the end."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(function(*args))
        except BaseException as error:
            future.set_exception(error)

    future.set_running_or_notify_cancel()
    threading.Thread(target=run, name="vetro look", daemon=True).start()
    return future


def _component(data: Mapping[str, Any], old: Environment | None) -> Component:
    known = next((c for c in old.components if c.id == data["id"]), None) if old is not None else None
    servers = {str(item["id"]): str(item["name"]) for item in data["servers"]}
    checks: dict[str, Check] = {}
    for check in (*_declared(data, servers), *_guessed(data, servers)):
        checks.setdefault(check.key, check)
    was = data.get("was") or {}
    results = {}
    for key, check in checks.items():
        same = known is not None and known.checks.get(key) == check
        state, reached = was.get(key) or ("", False)
        results[key] = known.results[key] if same and known is not None else ProbeState(check.declared, state, reached)
    return Component(str(data["id"]), servers, checks, results)


def _declared(data: Mapping[str, Any], servers: Mapping[str, str]) -> Iterable[Check]:
    for item in data.get("checks") or ():
        key, name, every, grace = f"{item['object']}/{item['name']}", str(item["name"]), item["every"], item["grace"]
        if item["kind"] == "method":
            question = {"kind": "method", "object": item["id"], "method": item["method"]}
            yield Check(f"{key}/", name, "", None, float(every), float(grace), True, question=question)
            continue
        on = [id for id in item["on"] if id in servers]
        if item["kind"] == "command":
            for id in on:
                own = name if len(on) == 1 else f"{name} ({servers[id]})"
                question = {"kind": "command", "server": item["machines"][id], "command": item["run"], "name": name}
                yield Check(f"{key}/{id}", own, id, None, float(every), float(grace), True, question=question)
            continue
        probe = probes.Probe(item["kind"], int(item["port"]), str(item["path"]), tuple(item["expect"]))
        for id in on:
            own = name if len(on) == 1 else f"{name} ({servers[id]})"
            yield Check(f"{key}/{id}", own, id, probe, float(every), float(grace), True)


def _guessed(data: Mapping[str, Any], servers: Mapping[str, str]) -> Iterable[Check]:
    """What is not said but can be seen: addresses of its own servers that stand in its properties."""
    for item in data.get("guesses") or ():
        if item["on"] in servers:
            probe = probes.Probe(item["kind"], int(item["port"]), str(item["path"]), strict=False)
            key = f"guess/{item['name']}/{item['on']}"
            yield Check(key, str(item["name"]), item["on"], probe, _GUESS_EVERY, 0.0, False, str(item["address"]))


def _ended(environment: Environment) -> list[str]:
    if environment.stale:
        return []
    wanted = {id for component in environment.components for id in component.servers} - environment.stopped.keys()
    return sorted(id for id in wanted & environment.servers.keys() if environment.servers[id].status in _ENDED)


def _states(servers: Mapping[str, ServerState]) -> dict[str, str]:
    return {id: server.status for id, server in servers.items()}


def _shown(id: str, report: ComponentReport) -> dict[str, Any]:
    return {
        "id": id,
        **_finding(report.finding),
        "checks": [
            {"key": check.key, "name": check.name, "reached": check.reached, **_finding(check.finding)}
            for check in report.checks
        ],
    }


def _finding(finding: Finding | None) -> dict[str, Any]:
    if finding is None:
        return {"state": "", "text": ""}
    told: dict[str, Any] = encode_messages({"state": finding.state.value, "text": finding.text})
    return told
