"""`Looks`: how clouds say that servers are, what these use, and what else there is. Asked on threads, all environments
of a cloud together: one that hangs holds nobody else up.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from vetro.clouds.interface import Cloud, CloudError, ListsServers, MeasuresServers, Owner, ServerMetrics, ServerState
from vetro.diagnostics import Text, encode_messages
from vetro.engine.watching import inventory, targets
from vetro.engine.watching.background import Tasks, thread
from vetro.engine.watching.reports import Reports
from vetro.engine.watching.targets import Environment

_log = logging.getLogger("vetro.worker")
#: Seconds between two measurements of what servers use.
MEASURE = 60.0
#: Clouds that are looked at at once.
CLOUDS = 256
#: Counters that are kept of servers, of those that are gone as well.
_COUNTED = 10_000


class Looks:
    """``open_cloud`` opens a cloud by its key; called on threads. ``environments``: those that are watched, which
    another one changes. ``seen`` is told of each environment that was looked at, and how its servers were before.
    """

    def __init__(
        self,
        open_cloud: Callable[[str, Owner], Cloud],
        environments: Mapping[str, Environment],
        reports: Reports,
        seen: Callable[[Environment, Mapping[str, ServerState]], None],
    ) -> None:
        self._open_cloud = open_cloud
        self._environments = environments
        self._reports = reports
        self._tell = seen
        self._tasks = Tasks()
        self._clouds: dict[str, Cloud] = {}
        #: Clouds that are being looked at, and when each was the last time.
        self._looking: set[str] = set()
        self._asked: dict[str, float] = {}
        #: What clouds have, and clouds that are being listed.
        self.inventory = inventory.CloudListings(random.Random())
        self._listing: set[str] = set()
        #: By key of a cloud: when its servers were measured last; by server: what was counted then.
        self._measured: dict[str, float] = {}
        self._counted: dict[str, tuple[float, float]] = {}
        self._metrics: dict[str, dict[str, list[float | None]]] = {}

    def hurry(self, cloud: str) -> None:
        """Looks at a cloud soon: its servers may be others now."""
        self._asked.pop(cloud, None)

    def metrics(self) -> list[dict[str, Any]]:
        """What was measured and not told yet: {id, at, servers: id -> [processors, memory, its limit, disk]}."""
        found, self._metrics = self._metrics, {}
        at = int(time.time())
        return [{"id": id, "at": at, "servers": one} for id, one in found.items() if id in self._environments]

    async def run(self) -> None:
        """Looks until it is cancelled; closes its clouds."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._look())
                group.create_task(self._list())
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
                thread(self._clouds.pop(key).close)  # nobody is in it any more
            for key, environments in groups.items():
                if len(self._looking) >= CLOUDS:
                    break
                if key not in self._looking and now - self._asked.get(key, -targets.LOOK) >= targets.LOOK:
                    self._asked[key] = now
                    self._looking.add(key)
                    self._tasks.begin(self._look_at(key, environments))
            await asyncio.sleep(0.5)

    async def _look_at(self, key: str, environments: Sequence[Environment]) -> None:
        wanted = {e.owner: [id for c in e.components for id in c.servers] for e in environments}
        try:
            begun = time.monotonic()
            # A thread of its own: clouds that hang hold nobody else up.
            seen = await asyncio.wrap_future(thread(self._seen, key, wanted))
        except Exception as error:  # a cloud that is away is looked for again
            why = _words(error)
            for environment in environments:
                environment.trouble = why
                self._reports.touch(environment)
            return
        finally:
            self._looking.discard(key)
        if begun - self._measured.get(key, -MEASURE) >= MEASURE:
            self._measured[key] = begun
            self._tasks.begin(self._measure(key, environments, wanted))
        for environment in environments:
            before, environment.servers = environment.servers, {}
            for component in environment.components:
                own = seen.get(environment.owner, {})
                environment.servers |= {id: own[id] for id in component.servers if id in own}
            if environment.looked is None or environment.trouble or _states(before) != _states(environment.servers):
                self._reports.touch(environment)
            environment.looked, environment.trouble = begun, ""
            self._tell(environment, before)

    def _seen(self, key: str, wanted: Mapping[Owner, Collection[str]]) -> Mapping[Owner, Mapping[str, ServerState]]:
        cloud = self._clouds.get(key)
        if cloud is None:
            cloud = self._clouds[key] = self._open_cloud(key, next(iter(wanted)))
        if isinstance(cloud, ListsServers):
            return cloud.seen_servers(wanted)
        return {owner: {server.id: server for server in cloud.servers(owner)} for owner in wanted}

    async def _measure(
        self, key: str, environments: Sequence[Environment], wanted: Mapping[Owner, Collection[str]]
    ) -> None:
        """What the servers of a cloud use, where it tells that."""
        cloud: object = self._clouds.get(key)
        if not isinstance(cloud, MeasuresServers):
            return
        try:
            found = await asyncio.wrap_future(thread(cloud.server_metrics, wanted))
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

    async def _list(self) -> None:
        while True:
            now = time.monotonic()
            groups: dict[str, list[Environment]] = {}
            for environment in self._environments.values():
                if self.inventory.due(environment.id, now) and environment.cloud in self._clouds:
                    groups.setdefault(environment.cloud, []).append(environment)
            for key, environments in groups.items():
                if key not in self._listing and len(self._listing) < inventory.CLOUDS:
                    self._listing.add(key)
                    self._tasks.begin(self._list_all(key, environments[: inventory.AT_ONCE]))
            await asyncio.sleep(0.5 if groups else 2.0)

    async def _list_all(self, key: str, environments: Sequence[Environment]) -> None:
        try:
            for environment in environments:
                self.inventory.begin(environment.id, time.monotonic())
                told: dict[str, Any]
                try:
                    told = await asyncio.wrap_future(thread(inventory.listed, self._clouds[key], environment.owner))
                except Exception as error:
                    told = encode_messages({"trouble": _words(error)})
                if not environment.gone:
                    self.inventory.found(environment.id, environment.number, told)
        finally:
            self._listing.discard(key)


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


def _states(servers: Mapping[str, ServerState]) -> dict[str, str]:
    return {id: server.status for id, server in servers.items()}
