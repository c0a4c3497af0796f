"""Snapshots of environments: disks by the driver, everything else as rows of the cloud's own database.

Each step is noted before it is done and can be done again, so what was broken off is finished by the same call. While
a snapshot is made, restored or dropped nothing else is done with the stacks of its environment (`refuse_unfinished`).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any, TypeVar

from vetro.clouds.drivers.base import SnapshotDriver
from vetro.clouds.drivers.values import Id, short
from vetro.clouds.interface import CloudError, Conflict, Held, Holdable, NotAvailable, NotFound, Owner
from vetro.clouds.stacks import reservations
from vetro.clouds.stacks.services import Services
from vetro.clouds.stacks.specs import group_spec, need_network, server_spec, set_aside, sync_network, volume_spec
from vetro.clouds.stacks.state import snapshot_rows as rows
from vetro.clouds.stacks.state.inventory import Inventory
from vetro.clouds.stacks.state.locks import StackLocks
from vetro.clouds.stacks.state.snapshot_rows import KeptRecord, SnapshotState

#: Notes of a snapshot besides rows: states of servers when it was made, how they were kept, what has to be removed.
_STATES, _HELD, _AFTER = "states", "held", "after"
ItemT = TypeVar("ItemT")


class EnvironmentSnapshots:
    """See `vetro.clouds.interface.Snapshots`. ``forget``: called with the id of each stack that was changed."""

    def __init__(self, services: Services, locks: StackLocks, forget: Callable[[str], None]) -> None:
        self._services = services
        self._database = services.database
        self._locks = locks
        self._forget = forget

    # -- report --------------------------------------------------------------------------------------------------------

    def report(self, owner: Owner) -> list[Holdable]:
        """See `Snapshots.snapshot_report`."""
        driver = self._driver()
        found = [one for one in rows.records_now(self._database, owner) if one.kind in ("server", "volume")]
        servers = [one for one in found if one.kind == "server"]
        methods = driver.snapshot_methods([one.id for one in servers])
        made: list[Holdable] = []
        for one in servers:
            how, name = methods.get(one.id), one.body["name"]
            if one.body["status"] == "BUILD" or how is None:
                why = "making it was begun and never finished" if how is not None else "it is not on its machine"
                made.append(Holdable(id=one.id, name=name, kind="server", why=why))
                continue
            made.append(
                Holdable(id=one.id, name=name, kind="server", method=how.method, standstill=how.standstill,
                         bytes=how.bytes)
            )  # fmt: skip
        able = self._services.capabilities
        data = self._services.driver.executes and (able is None or able.volumes == "attach")
        why = "what servers write to volumes stays" if data else ""
        method = "" if data else "kept"
        made += [
            Holdable(id=one.id, name=one.body["name"], kind="volume", method=method, why=why)
            for one in found
            if one.kind == "volume"
        ]
        return made

    # -- make ----------------------------------------------------------------------------------------------------------

    def take(self, owner: Owner, name: str, still: bool = False) -> list[Held]:
        """See `Snapshots.snapshot`."""
        driver, name = self._driver(), Id(name)
        with self._database.transaction():
            found = rows.state_of(self._database, owner)
            if found is None:
                values = (owner.project, owner.environment, name, "begun", self._services.clock())
                self._database.run("INSERT INTO snapshots VALUES (?, ?, ?, ?, ?)", values)
            elif found[0] != name:
                raise Conflict(f"the environment has the snapshot '{found[0]}' already; drop it first")
            elif found[1] in ("restoring", "dropping"):
                rows.refuse_unfinished(self._database, owner)
        with self._alone(owner):
            state = self._state(owner, name)
            if state == "begun":
                try:
                    self._keep(owner, driver)
                except BaseException:
                    self._end(owner)
                    raise
            if state != "open":
                try:
                    self._freeze(owner, name, driver, still)
                except CloudError:
                    with contextlib.suppress(CloudError):  # who asks for it again, or drops it, finishes
                        self._undo(owner, name, driver)
                    raise
            return [Held(**one) for _, one in rows.noted(self._database, owner, _HELD)]

    def _keep(self, owner: Owner, driver: SnapshotDriver) -> None:
        """Rows, and the states of servers. Nothing is stopped yet."""
        servers = [one for one in rows.records_now(self._database, owner) if one.kind == "server"]
        seen = self._services.driver.statuses([one.id for one in servers])
        states = {one.id: "BUILD" if one.body["status"] == "BUILD" else seen.get(one.id, "") for one in servers}
        for one in servers:
            if states[one.id] == "UNKNOWN":
                raise Conflict(f"the machine of the server '{one.body['name']}' does not answer; try again later")
        methods = driver.snapshot_methods([one.id for one in servers])
        needs = {
            _copy_of(one.id): {"disk": int(one.body["flavor_record"].get("disk") or 0)}
            for one in servers
            if one.id in methods and methods[one.id].copies
        }
        with self._database.transaction():
            reservations.reserve(self._database, self._services.quotas, owner.project, "", needs)
            rows.keep(self._database, owner)
            rows.add(self._database, owner, _STATES, states.items())
            self._mark(owner, "making")

    def _freeze(self, owner: Owner, name: str, driver: SnapshotDriver, still: bool) -> None:
        states = dict(rows.noted(self._database, owner, _STATES))
        kept = rows.kept_records(self._database, owner)
        methods = driver.snapshot_methods(list(states))
        frozen = [one for one in kept if one.kind == "server" and states[one.id] not in ("", "BUILD")]

        def freeze(one: KeptRecord) -> Held:
            begun = time.monotonic()
            with self._services.alone(one.id):
                stops = still and states[one.id] == "ACTIVE"
                if stops:
                    self._services.driver.stop(one.id)
                stood = driver.take_snapshot(one.id, name)
                if stops:
                    stood = None
                if states[one.id] == "ACTIVE":
                    self._services.driver.start(one.id)
            how = methods[one.id]
            stood = time.monotonic() - begun if stood is None else stood
            away = round(stood, 3) if how.standstill else 0.0
            return Held(id=one.id, name=one.body["name"], kind="server", method=how.method, standstill=away)

        held = self._each(frozen, freeze)
        held += [Held(id=one.id, name=one.body["name"], kind="volume", method="kept")
                 for one in kept if one.kind == "volume"]  # fmt: skip
        with self._database.transaction():
            rows.drop(self._database, owner, _HELD)
            rows.add(self._database, owner, _HELD, [(one.id, asdict(one)) for one in held])
            self._mark(owner, "open")

    # -- restore -------------------------------------------------------------------------------------------------------

    def restore(self, owner: Owner, name: str) -> None:
        """See `Snapshots.restore`."""
        driver, name = self._driver(), Id(name)
        with self._database.transaction():
            if self._state(owner, name) not in ("open", "restoring"):
                rows.refuse_unfinished(self._database, owner)
            self._refuse_others(owner)
            self._mark(owner, "restoring")
        with self._alone(owner):
            self._state(owner, name)
            with self._database.transaction():
                self._note_after(owner)
            after = [(kind, id, region) for id, (kind, region) in rows.noted(self._database, owner, _AFTER)]
            states = dict(rows.noted(self._database, owner, _STATES))
            kept = rows.kept_records(self._database, owner)
            self._clear(owner, name, driver, kept, states, after)
            with self._database.transaction():
                rows.bring_back(self._database, owner)
            for (stack,) in self._stacks(owner):
                self._forget(stack)
            self._bring_back(owner, kept, states)
            with self._database.transaction():
                rows.drop(self._database, owner, _AFTER)
                self._mark(owner, "open")

    def _refuse_others(self, owner: Owner) -> None:
        """Raises `Conflict` where another environment uses what would be removed."""
        kept = {one.id for one in rows.kept_records(self._database, owner)}
        for one in rows.records_now(self._database, owner):
            if one.id in kept or one.kind not in ("network", "volume", "security_group"):
                continue
            strangers = self._database.rows(
                "SELECT body FROM records WHERE project = ? AND environment NOT IN ('', ?) AND kind IN (?, ?)"
                " AND instr(body, ?)",
                (owner.project, owner.environment, "port", "server", f'"{one.id}"'),
            )
            if strangers:
                raise Conflict(f"another environment of the project uses the {one.kind.replace('_', ' ')}"
                               f" {short(one.body['name'])}, which came after the snapshot")  # fmt: skip

    def _note_after(self, owner: Owner) -> None:
        """Notes what came after the snapshot, for whoever finishes this: its rows go before the networks come."""
        known = {id for id, _ in rows.noted(self._database, owner, _AFTER)}
        kept = {one.id for one in rows.kept_records(self._database, owner)}
        rows.add(
            self._database,
            owner,
            _AFTER,
            [
                (one.id, [one.kind, one.region])
                for one in rows.records_now(self._database, owner)
                if one.id not in kept | known and one.kind in ("server", "network", "security_group", "volume")
            ],
        )

    def _clear(
        self,
        owner: Owner,
        name: str,
        driver: SnapshotDriver,
        kept: Sequence[KeptRecord],
        states: Mapping[str, str],
        after: Sequence[tuple[str, str, str]],
    ) -> None:
        """Servers are stopped and get their disks back; what came after is removed."""
        make = self._services.driver
        unfinished = [id for id, state in states.items() if state == "BUILD"]

        def remove(id: str) -> None:
            with self._services.alone(id):
                make.delete(id)

        def revert(one: KeptRecord) -> None:
            with self._services.alone(one.id):
                set_aside(self._services, self._things(owner, one.region), one.body)
                driver.revert_to_snapshot(one.id, name)

        self._each([*(id for kind, id, _ in after if kind == "server"), *unfinished], remove)
        self._each([one for one in kept if states.get(one.id) not in (None, "", "BUILD")], revert)
        for kind, id, _ in after:
            if kind == "network":
                make.delete_network(id)
                self._services.networks.pop(id, None)
            elif kind == "security_group":
                make.delete_group(id)
            elif kind == "volume":
                make.delete_volume(id)

    def _bring_back(self, owner: Owner, kept: Sequence[KeptRecord], states: Mapping[str, str]) -> None:
        """Networks, groups and volumes as they were, then servers with their interfaces; those start that ran."""
        make = self._services.driver
        for one in kept:
            things = self._things(owner, one.region)
            if one.kind == "network":
                self._services.networks.pop(one.id, None)
                sync_network(self._services, things, one.id)
            elif one.kind == "security_group":
                make.ensure_group(group_spec(one.body))
            elif one.kind == "volume":
                make.ensure_volume(volume_spec(one.body))

        def start(one: KeptRecord) -> None:
            things = self._things(owner, one.region)
            spec = server_spec(things, one.body)
            for nic in spec.nics:
                need_network(self._services, things, nic.network_id)
            with self._services.alone(one.id):
                make.update(spec)
                if states[one.id] == "ACTIVE":
                    make.start(one.id)

        self._each([one for one in kept if states.get(one.id) not in (None, "", "BUILD")], start)

    # -- drop ----------------------------------------------------------------------------------------------------------

    def drop(self, owner: Owner, name: str) -> None:
        """See `Snapshots.drop`."""
        driver, name = self._driver(), Id(name)
        with self._database.transaction():
            found = rows.state_of(self._database, owner)
            if found is None or found[0] != name:
                return
            if found[1] == "restoring":
                rows.refuse_unfinished(self._database, owner)
        with self._alone(owner):
            if rows.state_of(self._database, owner) is not None:
                self._undo(owner, name, driver)

    def _undo(self, owner: Owner, name: str, driver: SnapshotDriver) -> None:
        """Removes what was kept besides what is now."""
        make = self._services.driver
        states = dict(rows.noted(self._database, owner, _STATES))
        kept = rows.kept_records(self._database, owner)
        unfinished = self._state(owner, name) == "making"
        there = {one.id for one in rows.records_now(self._database, owner)}
        if not unfinished:
            self._mark(owner, "dropping")

        def release(one: KeptRecord) -> None:
            if one.kind == "volume":
                if one.id not in there:
                    make.delete_volume(one.id)
                return
            with self._services.alone(one.id):
                if one.id not in there:
                    make.delete(one.id)
                elif states[one.id] not in ("", "BUILD"):
                    driver.drop_snapshot(one.id, name)
                    if unfinished and states[one.id] == "ACTIVE":
                        make.start(one.id)

        self._each([one for one in kept if one.kind in ("server", "volume")], release)
        with self._database.transaction():
            self._end(owner)
            for one in kept:
                reservations.give_back(self._database, _copy_of(one.id))
                if one.id not in there:
                    reservations.give_back(self._database, one.id)

    def _end(self, owner: Owner) -> None:
        with self._database.transaction():
            rows.drop(self._database, owner)
            values = (owner.project, owner.environment)
            self._database.run("DELETE FROM snapshots WHERE project = ? AND environment = ?", values)

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _driver(self) -> SnapshotDriver:
        driver = self._services.driver
        if not isinstance(driver, SnapshotDriver):
            raise NotAvailable(f"servers of kind '{driver.name}' cannot be brought back as they were")
        return driver

    def _state(self, owner: Owner, name: str) -> SnapshotState:
        found = rows.state_of(self._database, owner)
        if found is None or found[0] != name:
            raise NotFound(f"the environment has no snapshot '{name}'")
        return found[1]

    def _mark(self, owner: Owner, state: SnapshotState) -> None:
        values = (state, owner.project, owner.environment)
        self._database.run("UPDATE snapshots SET state = ? WHERE project = ? AND environment = ?", values)

    def _things(self, owner: Owner, region: str) -> Inventory:
        return self._services.things(region, owner.project, owner.environment)

    def _stacks(self, owner: Owner) -> list[tuple[Any, ...]]:
        values = (owner.project, owner.environment)
        return self._database.rows("SELECT id FROM stacks WHERE project = ? AND environment = ?", values)

    @contextlib.contextmanager
    def _alone(self, owner: Owner) -> Iterator[None]:
        """Waits for operations on the environment's stacks that are under way; no new ones begin by its state."""
        with contextlib.ExitStack() as held:
            for region, name in rows.stacks_of(self._database, owner):
                held.enter_context(self._locks.held(owner, region, name))
            yield

    def _each(self, items: Iterable[ItemT], work: Callable[[ItemT], Any]) -> list[Any]:
        """Does it for all, beside each other. Raises the first `CloudError` after all were tried."""
        items = list(items)
        if not items:
            return []
        with ThreadPoolExecutor(min(len(items), self._services.settings.parallel), "vetro-snapshot") as pool:
            ends = [pool.submit(work, item) for item in items]
        return [end.result() for end in ends]


def _copy_of(server: str) -> str:
    """What is reserved for the copy of a server's disk."""
    return f"snapshot {server}"
