"""`OpenStackCloud`: the interface of clouds on a real OpenStack."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from vetro.clouds.drivers.values import Id
from vetro.clouds.interface import (
    Catalog,
    CloudError,
    CloudWait,
    Held,
    Holdable,
    NotAvailable,
    NotFound,
    Owner,
    PowerAction,
    ResourceState,
    ServerMetrics,
    ServerState,
    StackChange,
    StackState,
)
from vetro.clouds.kind_protocols import SecretFilter
from vetro.clouds.messages import Channel, Message
from vetro.clouds.waits import Waits
from vetro_openstack import catalog, resources, servers
from vetro_openstack.agents import Agents
from vetro_openstack.diagnostics import Diagnostics
from vetro_openstack.link import Link, sign_in
from vetro_openstack.networking import Networking
from vetro_openstack.servers import Rules
from vetro_openstack.settings import OpenStackSettings
from vetro_openstack.snapshots import Snapshots
from vetro_openstack.stacks import Stacks

#: Seconds between two looks at which servers the stacks of an environment made.
_OWNERSHIP = 60.0
#: Seconds for which it is known that a server may answer, or cannot; how many are remembered.
_WELL, _SILENT, _REMEMBERED = 10.0, 1.5, 500


class OpenStackCloud:
    """Implements `vetro.clouds.interface.Cloud`. Nothing is asked of the cloud before somebody needs it.

    Every method may raise `CloudUnreachable`, `SignInRefused`, `NotAvailable`, `Refused` and, while the cloud is
    closed, `Closing` (`vetro_openstack.errors`).
    """

    name = "OpenStack"

    def __init__(
        self, settings: OpenStackSettings, secret_filters: Callable[[Owner], SecretFilter] | None = None
    ) -> None:
        """``secret_filters``: what of an environment only its cloud may read (`SecretFilter`)."""
        self._settings = settings
        self._secret_filters = secret_filters
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._sessions: dict[str, Any] = {}
        self._links: dict[tuple[str, str], Link] = {}
        self._waits = Waits()
        self._stacks = Stacks(settings)
        self._agents = Agents(self._stacks)
        self._snapshots = Snapshots(settings, self._stacks, self._link, self.regions)
        #: By project and environment: when it may be asked again which servers its stacks made, and these.
        self._made: dict[tuple[str, str], tuple[float, frozenset[str]]] = {}
        #: By project and region: when its security groups may be listed again, and their rules.
        self._rules: dict[tuple[str, str], tuple[float, Rules]] = {}
        #: By project, environment and queue: until when it is known why nobody answers, why, whether it is being asked.
        self._silent: dict[tuple[str, str, str], tuple[float, str | None, bool]] = {}
        self._networking: dict[tuple[str, str], Networking] = {}
        self._diagnostics = Diagnostics()

    def regions(self) -> Sequence[str]:
        """See `Cloud.regions`."""
        return tuple(region for region in self._settings.regions if region != self._settings.region)

    def read_stack(self, owner: Owner, region: str, name: str, *, settled: bool = False) -> StackState | None:
        """See `Cloud.read_stack`."""
        return self._stacks.read(self._link(owner, region), owner, region, name, wait=settled)

    def push_stack(self, owner: Owner, region: str, name: str, change: StackChange) -> StackState:
        """See `Cloud.push_stack`. The answer holds no template and no parameters: `read_stack` does."""
        self._snapshots.refuse_unfinished(owner)
        return self._stacks.push(self._link(owner, region), owner, region, name, change)

    def delete_stack(self, owner: Owner, region: str, name: str) -> None:
        """See `Cloud.delete_stack`."""
        self._snapshots.refuse_unfinished(owner)
        self._stacks.delete(self._link(owner, region), owner, name)

    def stacks(self, owner: Owner) -> Sequence[StackState]:
        """See `Cloud.stacks`."""
        return [
            stack for region in ("", *self.regions()) for stack in self._stacks.list(self._link(owner, region), owner)
        ]

    def servers(self, owner: Owner) -> Sequence[ServerState]:
        """See `Cloud.servers`."""
        return [
            server
            for region in ("", *self.regions())
            for server in servers.servers(self._link(owner, region), self._stacks, owner, region)
        ]

    def seen_servers(self, wanted: Mapping[Owner, Collection[str]]) -> Mapping[Owner, Mapping[str, ServerState]]:
        """See `ListsServers.seen_servers`: one list a project and region.

        Environments of several tenants may share a project: whose a server is says the stack that made it. That is
        asked when an id is new, and once a minute at most for an environment.
        """
        owned = {owner: self._owned(owner, ids) for owner, ids in wanted.items()}
        projects: dict[str, dict[str, ServerState]] = {}
        for project in dict.fromkeys(owner.project for owner in wanted):
            ids = {id for owner, known in owned.items() if owner.project == project for id in known}
            seen = projects[project] = {}
            for region in ("", *self.regions()):
                link = self._link(Owner(project, ""), region)
                seen |= servers.seen(link, ids, region, partial(self._rules_of, link, project))
        return {
            owner: {id: projects[owner.project][id] for id in known if id in projects[owner.project]}
            for owner, known in owned.items()
        }

    def server_metrics(self, wanted: Mapping[Owner, Collection[str]]) -> Mapping[str, ServerMetrics]:
        """See `MeasuresServers.server_metrics`: Nova's diagnostics, where the policy of the cloud allows them."""
        projects: dict[str, set[str]] = {}
        for owner, ids in wanted.items():
            projects.setdefault(owner.project, set()).update(self._owned(owner, ids))
        regions = ("", *self.regions())
        return self._diagnostics.ask({
            project: ([self._link(Owner(project, ""), region) for region in regions], ids)
            for project, ids in projects.items()
        })  # fmt: skip

    def _rules_of(self, link: Link, project: str) -> Rules:
        now = time.monotonic()
        until, found = self._rules.get((project, link.region), (0.0, {}))
        if until < now:
            found = servers.rules_of(link)
            self._rules[project, link.region] = (now + _OWNERSHIP, found)
        return found

    def _owned(self, owner: Owner, ids: Collection[str]) -> Collection[str]:
        key, now = (owner.project, owner.environment), time.monotonic()
        until, known = self._made.get(key, (0.0, frozenset()))
        if until < now and not known.issuperset(ids):
            links = [self._link(owner, region) for region in ("", *self.regions())]
            known = frozenset().union(*(servers.ids(link, self._stacks, owner) for link in links))
            self._made[key] = (now + _OWNERSHIP, known)
        return known.intersection(ids)

    def resources(self, owner: Owner) -> Sequence[ResourceState]:
        """See `ShowsResources.resources`."""
        return [
            found
            for region in ("", *self.regions())
            for found in resources.of_environment(self._link(owner, region), self._stacks, owner)
        ]

    def console(self, owner: Owner, server: str, lines: int = 200) -> str:
        """See `Cloud.console`."""
        for region in ("", *self.regions()):
            said = servers.console(self._link(owner, region), self._stacks, owner, server, lines)
            if said is not None:
                return said
        raise NotFound(f"there is no server '{server}'")

    def console_of(self, owner: Owner, queue: str, lines: int) -> tuple[str, str] | None:
        """See `ShowsAgents.console_of`. The user data in the templates says which server it is."""
        for region in ("", *self.regions()):
            said = self._agents.console(self._link(owner, region), owner, queue, lines)
            if said is not None:
                return said
        return None

    def waits(self, owner: Owner) -> Sequence[CloudWait]:
        """See `ShowsWaits.waits`."""
        return self._waits.of(owner)

    def power(self, owner: Owner, server: str, action: PowerAction) -> None:
        """See `Power.power`: actions of Nova, on servers that the owner's stacks have made."""
        for region in ("", *self.regions()):
            link = self._link(owner, region)
            if server in servers.ids(link, self._stacks, owner):
                servers.power(link, server, action)
                return
        raise NotFound(f"there is no server '{server}'")

    def snapshot_report(self, owner: Owner) -> Sequence[Holdable]:
        """See `Snapshots.snapshot_report`: images of Nova, snapshots of Cinder; what Heat replaces cannot be held."""
        return self._snapshots.report(owner)

    def snapshot(self, owner: Owner, name: str, still: bool = False) -> Sequence[Held]:
        """See `Snapshots.snapshot`. Servers run on; an image takes minutes."""
        return self._snapshots.take(owner, Id(name))

    def restore(self, owner: Owner, name: str) -> None:
        """See `Snapshots.restore`. Raises `NoWayBack` when all is as it was but for what Heat has replaced."""
        self._snapshots.restore(owner, Id(name))

    def drop(self, owner: Owner, name: str) -> None:
        """See `Snapshots.drop`."""
        self._snapshots.drop(owner, Id(name))

    def why_silent(self, owner: Owner, queue: str) -> str | None:
        """Why the agent with this queue cannot answer; None while it may, and while that is being found out.

        OpenStack is asked on another thread: calls wait for nobody, and a cloud that is away ends none.
        """
        key, now = (owner.project, owner.environment, queue), time.monotonic()
        with self._lock:
            until, why, asking = self._silent.get(key, (0.0, None, False))
            if now < until or asking:
                return why
            self._silent[key] = (until, why, True)
        threading.Thread(target=self._listen, args=(owner, queue, key), name="vetro silence", daemon=True).start()
        return why

    def _listen(self, owner: Owner, queue: str, key: tuple[str, str, str]) -> None:
        why: str | None = None
        try:
            for region in ("", *self.regions()):
                why = why or self._agents.why_silent(self._link(owner, region), owner, queue)
        except CloudError:
            why = None  # nobody knows
        with self._lock:
            self._silent[key] = (time.monotonic() + (_WELL if why is None else _SILENT), why, False)
            while len(self._silent) > _REMEMBERED:
                del self._silent[next(iter(self._silent))]

    def why_missing(self, owner: Owner, queue: str) -> str | None:
        """Nobody can tell: the user data of a server may be somebody else's work."""
        return None

    def network(self, owner: Owner, region: str, query: str, args: Mapping[str, Any]) -> Any:
        """See `Cloud.network`."""
        link = self._link(owner, region)
        with self._lock:
            found = self._networking.setdefault((owner.project, link.region), Networking(self._settings))
        return found.answer(link, query, args)

    def metadef(self, owner: Owner, region: str, query: str, args: Mapping[str, Any]) -> Any:
        """See `Cloud.metadef`: the definitions of Glance."""
        return catalog.metadef(self._link(owner, region), query, args)

    def catalog(self, owner: Owner, region: str, what: Catalog) -> Sequence[Mapping[str, Any]]:
        """See `Cloud.catalog`."""
        return catalog.listed(self._link(owner, region), what)

    def mark_image(self, owner: Owner, region: str, image: str, mark: Mapping[str, str] | None) -> Mapping[str, Any]:
        """See `Cloud.mark_image`. Glance decides whether the worker's user may."""
        return catalog.mark_image(self._link(owner, region), image, mark)

    def channel(self, owner: Owner) -> Channel:
        """See `Cloud.channel`: one that reaches no agent. Where a broker is configured, that is used instead."""
        return NoBroker()

    def close(self) -> None:
        """See `Cloud.close`. Who waits for a stack gets `Closing`; Heat goes on."""
        self._closing.set()
        with self._lock:
            sessions, self._sessions = list(self._sessions.values()), {}
            self._links.clear()
        for session in sessions:
            session.session.close()

    def _link(self, owner: Owner, region: str) -> Link:
        region = region or self._settings.region
        known = self._settings.regions
        if region and known and region not in (self._settings.region, *known):
            raise NotFound(f"cloud.openstack names no region '{region}'; there are {', '.join(known)}")
        with self._lock:
            link = self._links.get((owner.project, region))
            if link is None:
                session = self._sessions.get(owner.project)
                if session is None:
                    session = self._sessions[owner.project] = sign_in(self._settings, owner.project)
                link = Link(self._settings, session, region, self._closing)
                self._links[owner.project, region] = link
        return link.of(owner, self._waits, None if self._secret_filters is None else self._secret_filters(owner))


class NoBroker:
    """Agents on servers of an OpenStack are reached through a message broker, and none is configured."""

    def send(self, queue: str, message: Message) -> None:
        """Raises `NotAvailable`."""
        raise _missing()

    def receive(self, queue: str, timeout: float) -> Message | None:
        """Raises `NotAvailable`."""
        raise _missing()

    def acknowledge(self, queue: str, id: str) -> None:
        """Raises `NotAvailable`."""
        raise _missing()

    def connected(self, queue: str) -> bool | None:
        """Nobody can tell."""
        return None

    def close(self) -> None:
        """Nothing is open."""


def _missing() -> NotAvailable:
    return NotAvailable(
        "agents on servers of an OpenStack are reached through a message broker, and engine.broker is not set"
    )
