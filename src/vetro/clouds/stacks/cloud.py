"""`StackCloud`: a whole cloud in one directory (LOCAL_CLOUD.md)."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from vetro.clouds.drivers.base import (
    AgentDriver,
    CommandDriver,
    JournalDriver,
    MeasuringDriver,
    Recorder,
    RoutingDriver,
    ServerDriver,
)
from vetro.clouds.interface import (
    Catalog,
    CloudError,
    CloudWait,
    Command,
    Held,
    Holdable,
    NotAvailable,
    NotFound,
    Owner,
    PowerAction,
    RunningCommand,
    ServerMetrics,
    ServerState,
    StackChange,
    StackState,
)
from vetro.clouds.kind_protocols import Capabilities
from vetro.clouds.messages import Channel
from vetro.clouds.open_ports import open_ports
from vetro.clouds.stacks.address_plan import Plan
from vetro.clouds.stacks.initial_state import seed
from vetro.clouds.stacks.listing import listed, mark_image, region_named
from vetro.clouds.stacks.machine_images import offer
from vetro.clouds.stacks.network_queries import Networking, QueryInvalid
from vetro.clouds.stacks.operations import Stacks
from vetro.clouds.stacks.reservations import used
from vetro.clouds.stacks.services import Services
from vetro.clouds.stacks.settings import StackSettings
from vetro.clouds.stacks.state.database import Database, Elsewhere
from vetro.clouds.stacks.state.inventory import Inventory, Kind, Record
from vetro.clouds.stacks.state.rows import State
from vetro.clouds.stacks.types.server import addresses

_log = logging.getLogger(__name__)


class StackCloud:
    """Implements `vetro.clouds.interface.Cloud` on one machine. Several processes may open one directory."""

    def __init__(
        self,
        directory: Path | str | None,
        driver: ServerDriver,
        settings: StackSettings | None = None,
        *,
        clock: Callable[[], float] = time.time,
        quotas: Mapping[str, int] | None = None,
        capabilities: Capabilities | None = None,
        kind: str = "",
        sweeps: bool = True,
        elsewhere: Elsewhere | None = None,
        content: bytes = b"",
    ) -> None:
        """Opens the cloud in ``directory``, which is made when it is missing, and removes what a crash left there
        unless ``sweeps`` is false. None: it is in memory, begins with ``content`` (`slice_of`), is used by one thread
        and starts none.

        ``driver`` makes the servers; the cloud closes it at its end. ``quotas``: the most that each project may have
        (`vetro.clouds.quotas`), no limit where none is given. ``capabilities``: templates that need more are refused;
        None: the driver refuses what it cannot do. ``kind``: what has these, where it is another one.
        ``elsewhere`` is closed with this cloud, which has nothing from the beginning then but what that has.
        Raises `StateUnusable`.
        """
        self._settings = settings or StackSettings()
        if directory is None:
            self._settings = replace(self._settings, parallel=1)
        else:
            directory = Path(directory)
            directory.mkdir(parents=True, exist_ok=True)
        self._database = Database(None if directory is None else directory / "cloud.db", content)
        try:
            self._database.elsewhere = elsewhere
            if elsewhere is None:
                seed(self._database, self._settings, directory)
                if directory is not None:  # else its content says which images there are
                    offer(self._database, self._settings, getattr(driver, "images", None))
            self._services = Services(
                directory, self._database, driver, self._settings, clock, dict(quotas or {}), capabilities, kind
            )
            self._stacks = Stacks(self._services)
        except BaseException:
            self._database.close()
            raise
        self.driver = driver
        self.directory = directory
        self.name = driver.name
        try:
            for line in self.sweep() if sweeps else ():
                _log.warning("removed what a crash left: %s", line)
        except CloudError as error:
            _log.warning("what a crash may have left was not removed: %s", error)

    def regions(self) -> Sequence[str]:
        """See `Cloud.regions`."""
        return tuple(self._settings.regions)

    def read_stack(self, owner: Owner, region: str, name: str, *, settled: bool = False) -> StackState | None:
        """See `Cloud.read_stack`."""
        return self._stacks.read(owner, region, name, settled=settled)

    def push_stack(self, owner: Owner, region: str, name: str, change: StackChange) -> StackState:
        """See `Cloud.push_stack`. The answer holds no template and no parameters: `read_stack` does."""
        return self._stacks.push(owner, region, name, change)

    def delete_stack(self, owner: Owner, region: str, name: str) -> None:
        """See `Cloud.delete_stack`."""
        self._stacks.delete(owner, region, name)

    def forget(self, owner: Owner) -> None:
        """See `KeepsRecords.forget`."""
        kept = self._database.row(
            "SELECT name FROM snapshots WHERE project = ? AND environment = ?", (owner.project, owner.environment)
        )
        if kept is not None:
            self.drop(owner, kept[0])
        for stack in self._stacks.list(owner):
            self.delete_stack(owner, stack.region, stack.name)
        if isinstance(self.driver, Recorder):
            self.driver.forget(owner)
        self._database.purge()

    def stacks(self, owner: Owner) -> Sequence[StackState]:
        """See `Cloud.stacks`."""
        return self._stacks.list(owner)

    def servers(self, owner: Owner) -> Sequence[ServerState]:
        """See `Cloud.servers`. States are those that the driver sees now."""
        found: list[tuple[str, Inventory, Record]] = []
        for region in self._held_regions():
            things = self._services.things(region, owner.project)
            own = things.all("server", environment=owner.environment)
            found += [(region, things, item) for item in own if _of(item, owner)]
        seen = self.driver.statuses([item["id"] for _, _, item in found])
        return [
            ServerState(
                item["id"],
                item["name"],
                item["stack"],
                region,
                item["status"] if item["status"] == "BUILD" else seen.get(item["id"], "ERROR"),
                [one["addr"] for items in addresses(things, item).values() for one in items],
                (item["image_record"] or {}).get("name", ""),
                item["flavor_record"]["name"],
                item["created"],
            )
            for region, things, item in found
        ]

    def seen_servers(self, servers: Mapping[Owner, Collection[str]]) -> Mapping[Owner, Mapping[str, ServerState]]:
        """See `ListsServers.seen_servers`."""
        owners = {(owner.project, owner.environment): owner for owner in servers}
        wanted = {owner: frozenset(ids) for owner, ids in servers.items()}
        rows = self._database.rows("SELECT body, region FROM records WHERE kind = 'server'")
        items: list[tuple[Owner, Record, str]] = []
        for body, region in rows:
            item = json.loads(body)
            owner = owners.get((item["tenant_id"], item["environment"]))
            if owner is not None and item["id"] in wanted[owner]:
                items.append((owner, item, region))
        seen = self.driver.statuses([item["id"] for _, item, _ in items])
        ways = self._reachable([(item, region) for _, item, region in items])
        agents: Mapping[str, bool] = {}
        if isinstance(self.driver, AgentDriver):
            agents = self.driver.agents_run(
                [id for _, item, _ in items if item.get("queue") and seen.get(id := item["id"]) == "ACTIVE"]
            )
        found: dict[Owner, dict[str, ServerState]] = {owner: {} for owner in servers}
        for owner, item, region in items:
            device, there, ports = ways.get(item["id"], ("", (), ()))
            found[owner][item["id"]] = ServerState(
                item["id"],
                item["name"],
                item["stack"],
                region,
                item["status"] if item["status"] == "BUILD" else seen.get(item["id"], "ERROR"),
                created=item["created"],
                reachable=there,
                device=device,
                ports=ports,
                agent=agents.get(item["id"]),
            )
        return found

    def server_metrics(self, servers: Mapping[Owner, Collection[str]]) -> Mapping[str, ServerMetrics]:
        """See `MeasuresServers.server_metrics`. Nothing where the driver cannot tell."""
        if not isinstance(self.driver, MeasuringDriver):
            return {}
        wanted = {(owner.project, owner.environment): frozenset(ids) for owner, ids in servers.items()}
        items = (json.loads(body) for (body,) in self._database.rows("SELECT body FROM records WHERE kind = 'server'"))
        own = [item["id"] for item in items if item["id"] in wanted.get((item["tenant_id"], item["environment"]), ())]
        return self.driver.server_metrics(own)

    def _reachable(
        self, servers: Sequence[tuple[Record, str]]
    ) -> Mapping[str, tuple[str, Sequence[str], Sequence[int]]]:
        """By id of a server: the interface that leads to it, the addresses that this one leads to, and the ports that
        are open to everybody. Floating addresses come first, then those of subnets that the plan leased. Nothing where
        the driver leads nowhere.
        """
        driver, able = self.driver, self._services.capabilities
        if not isinstance(driver, RoutingDriver) or (able is not None and able.networks != "own"):
            return {}
        leased = Plan(self._database, self._settings).all_leased()
        found: dict[str, tuple[str, Sequence[str], Sequence[int]]] = {}
        projects: dict[tuple[str, str], list[Record]] = {}
        for item, region in servers:
            projects.setdefault((region, item["tenant_id"]), []).append(item)
        for (region, project), own in projects.items():
            things = self._services.things(region, project)
            ports = {port["id"]: port for port in things.all("port")}
            rules = {one["id"]: one.get("security_group_rules") or () for one in things.all("security_group")}
            floating: dict[str, list[str]] = {}
            for ip in things.all("floatingip"):
                floating.setdefault(ip.get("port_id") or "", []).append(ip["floating_ip_address"])
            for item in own:
                held = [ports[id] for id in item["ports"] if id in ports]
                there = [address for port in held for address in floating.get(port["id"], ())]
                there += [ip["ip_address"] for port in held for ip in port["fixed_ips"] if ip["subnet_id"] in leased]
                groups = {group for port in held for group in port.get("security_groups") or ()}
                opened = open_ports(rule for group in groups for rule in rules.get(group, ()))
                found[item["id"]] = (*driver.routed(project, there), opened)
        return found

    def console(self, owner: Owner, server: str, lines: int = 200) -> str:
        """See `Cloud.console`."""
        self._own_server(owner, server)
        return self.driver.console(server, lines)

    def journal(self, owner: Owner, server: str, lines: int = 200) -> str:
        """See `ShowsJournals.journal`."""
        self._own_server(owner, server)
        if not isinstance(self.driver, JournalDriver):
            raise NotAvailable(f"servers of kind '{self.name}' have no journal that could be read")
        return self.driver.journal(server, lines)

    def run_command(self, owner: Owner, server: str, command: Command) -> RunningCommand:
        """See `RunsCommands.run_command`."""
        self._own_server(owner, server)
        if not isinstance(self.driver, CommandDriver):
            raise NotAvailable(f"servers of kind '{self.name}' run no commands")
        return self.driver.run_command(server, command)

    def _own_server(self, owner: Owner, server: str) -> None:
        """Raises `NotFound` for what is no server (by id) of this owner."""
        for region in self._held_regions():
            found = self._services.things(region, owner.project).find("server", server)
            if found is not None and found["id"] == server and _of(found, owner):
                return
        raise NotFound(f"there is no server '{server}'")

    def resources_of(self, owner: Owner) -> dict[tuple[str, str], Sequence[State]]:
        """What was made for the stacks of an environment, by region and name of the stack."""
        return self._stacks.resources_of(owner)

    def waits(self, owner: Owner) -> Sequence[CloudWait]:
        """See `ShowsWaits.waits`."""
        return self._services.waits.of(owner)

    def power(self, owner: Owner, server: str, action: PowerAction) -> None:
        """See `Power.power`."""
        self._stacks.power(owner, server, action)

    def snapshot_report(self, owner: Owner) -> Sequence[Holdable]:
        """See `Snapshots.snapshot_report`."""
        return self._stacks.snapshots.report(owner)

    def snapshot(self, owner: Owner, name: str, still: bool = False) -> Sequence[Held]:
        """See `Snapshots.snapshot`."""
        return self._stacks.snapshots.take(owner, name, still)

    def restore(self, owner: Owner, name: str) -> None:
        """See `Snapshots.restore`."""
        self._stacks.snapshots.restore(owner, name)

    def drop(self, owner: Owner, name: str) -> None:
        """See `Snapshots.drop`."""
        self._stacks.snapshots.drop(owner, name)

    def network(self, owner: Owner, region: str, query: str, args: Mapping[str, Any]) -> Any:
        """See `Cloud.network`."""
        return Networking(self._services, owner, region_named(self._settings, region)).answer(query, args)

    def metadef(self, owner: Owner, region: str, query: str, args: Mapping[str, Any]) -> Any:
        """See `Cloud.metadef`: there is no metadata, so both lists are empty."""
        region_named(self._settings, region)
        if query not in ("namespaces", "objects"):
            raise QueryInvalid(f"there is no query '{query}' of metadata definitions; there are namespaces, objects")
        return []

    def catalog(self, owner: Owner, region: str, what: Catalog) -> Sequence[Mapping[str, Any]]:
        """See `Cloud.catalog`. Private halves of key pairs are left out."""
        able = self._services.capabilities
        return listed(self._database, self._settings, owner, region, what, able is not None and able.executes)

    def mark_image(self, owner: Owner, region: str, image: str, mark: Mapping[str, str] | None) -> Mapping[str, Any]:
        """See `Cloud.mark_image`. The mark is one for all projects."""
        return mark_image(self._database, self._settings, region, image, mark)

    def channel(self, owner: Owner) -> Channel:
        """The queues between engine and agents of the owner's environment."""
        return self.driver.channel(owner)

    def why_silent(self, owner: Owner, queue: str) -> str | None:
        """Why the agent with this queue cannot answer: its server does not run. None while it may."""
        item = self._with_queue(owner, queue)
        if item is None or item["status"] == "BUILD":
            return None
        seen = self.driver.statuses([item["id"]]).get(item["id"], "ERROR")
        if seen == "SHUTOFF":
            return f"server '{item['name']}' is switched off; start it first"
        return f"server '{item['name']}' has ended by itself" if seen == "ERROR" else None

    def why_missing(self, owner: Owner, queue: str) -> str | None:
        """Why no server takes plans from this queue, unless some push makes one; None when there is one."""
        item = self._with_queue(owner, queue)
        if item is None:
            return f"no stack of the environment has a server with the agent queue '{queue}'; deploy the instance first"
        if item["status"] == "BUILD":
            return f"making the server '{item['name']}' was begun and never finished; deploy the instance again"
        return None

    def console_of(self, owner: Owner, queue: str, lines: int) -> tuple[str, str] | None:
        """Name and end of the console of the server whose agent has this queue; None when there is none."""
        item = self._with_queue(owner, queue)
        return None if item is None else (item["name"], self.driver.console(item["id"], lines))

    def _with_queue(self, owner: Owner, queue: str) -> Record | None:
        """The server of an owner that has an agent queue."""
        row = self._database.row(
            "SELECT records.body FROM queues JOIN records ON records.id = queues.server AND records.kind = 'server'"
            " WHERE queues.project = ? AND queues.queue = ?",
            (owner.project, queue),
        )
        item: Record | None = None if row is None else json.loads(row[0])
        return item if item is not None and _of(item, owner) else None

    def agents(self) -> list[tuple[str, Owner, str, str]]:
        """Of each server of all owners: id, owner, name, and its agent's queue ('' where it has none)."""
        rows = self._database.rows(
            "SELECT r.body, r.project, r.environment, q.queue FROM records r LEFT JOIN queues q ON q.server = r.id"
            " WHERE r.kind = 'server'"
        )
        return [
            (item["id"], Owner(project, environment), item["name"], queue or "")
            for item, project, environment, queue in ((json.loads(body), *rest) for body, *rest in rows)
        ]

    def heal(self, owner: Owner) -> Sequence[str]:
        """Starts servers of an environment that ended by themselves or with this machine; their names.

        Pushing a stack does the same for its own servers. Raises `DriverError` for one that does not start.
        """
        return self._stacks.heal(owner)

    def used(self, project: str) -> Mapping[str, int]:
        """What a project has of each quota of clouds, in all regions and environments."""
        return used(self._database, project)

    def known(self) -> tuple[Container[str], Container[str]]:
        """Ids of all servers and of all networks of all owners: what `ServerDriver.sweep` must leave alone."""
        return _Known(self._database, "server"), _Known(self._database, "network")

    def sweep(self) -> Sequence[str]:
        """Removes what a crash left of servers and networks; a line for each thing removed."""
        return self.driver.sweep(*self.known())

    def _held_regions(self) -> Sequence[str]:
        """Regions in which there may be something: also those that the settings of who asks do not name."""
        held = (region for (region,) in self._database.rows("SELECT DISTINCT region FROM stacks"))
        return list(dict.fromkeys(("", *self._settings.regions, *held)))

    def all_stacks(self) -> Sequence[tuple[Owner, StackState]]:
        """Stacks of all owners, for ``vetro cloud status`` and ``clean``."""
        rows = self._database.rows(
            "SELECT DISTINCT project, environment, user FROM stacks WHERE parent = '' ORDER BY project, environment"
        )
        owners = {(project, environment): Owner(project, environment, user) for project, environment, user in rows}
        return [(owner, stack) for owner in owners.values() for stack in self._stacks.list(owner)]

    def all_servers(self) -> Sequence[tuple[Owner, ServerState]]:
        """Servers of all owners."""
        owners = {}
        for region in self._held_regions():
            for item in self._services.things(region, None).all("server"):
                owners[item["tenant_id"], item["environment"]] = Owner(
                    item["tenant_id"], item["environment"], item["user_id"]
                )
        return [(owner, server) for owner in owners.values() for server in self.servers(owner)]

    def close(self) -> None:
        """See `Cloud.close`."""
        self._services.closing.set()
        self.driver.close()
        if self._database.elsewhere is not None:
            self._database.elsewhere.close()
        self._database.close()

    def __enter__(self) -> StackCloud:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Known(Container[str]):
    """Ids of records as they are when somebody looks: other processes make things while leftovers are removed."""

    def __init__(self, database: Database, kind: Kind) -> None:
        self._database = database
        self._kind = kind

    def __contains__(self, id: object) -> bool:
        there = "SELECT 1 FROM records WHERE id = ? AND kind = ?"
        kept = "SELECT 1 FROM snapshot_rows WHERE id = ? AND part = 'records' AND json_extract(body, '$.kind') = ?"
        return self._database.row(f"{there} UNION ALL {kept}", (str(id), self._kind) * 2) is not None


def _of(server: Record, owner: Owner) -> bool:
    return bool(server["environment"] == owner.environment and server["tenant_id"] == owner.project)
