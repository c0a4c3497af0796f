"""`Names`: what a foreign cloud has under its names, for the recorder that plays it in a plan.

Images, flavors, networks and the like are listed there, a kind at a time and only when a template names one: what the
cloud does not have is missing in the plan, too. Nothing is changed there. What the environment's own stacks have made
is left out, since the recorder has made it itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, cast

from vetro.clouds.drivers.values import PublicKey, ValueInvalid
from vetro.clouds.interface import Cloud, CloudError, NotAvailable, NotFound, Owner
from vetro.clouds.stacks.default_networks import ROUTER_INTERFACE, network_records, router_record
from vetro.clouds.stacks.listing import KINDS
from vetro.clouds.stacks.state.database import Database
from vetro.clouds.stacks.state.inventory import Inventory, Kind, Record, fixed_id

#: The network of servers that name none: which one that is decides the cloud when it makes them.
CHOSEN = "chosen by the cloud"

_LISTS = {kind: what for what, kind in KINDS.items()}
#: Kinds that no catalog has: the query of `Cloud.network` that lists them.
_QUERIES: Mapping[Kind, str] = {"router": "routers", "port": "ports"}
#: What a record has to have; clouds may tell less.
_LEAST: Mapping[Kind, Mapping[str, Any]] = {
    "flavor": {"vcpus": 0, "ram": 0, "disk": 0},
    "keypair": {"public_key": "", "fingerprint": ""},
    "network": {"router:external": False, "port_security_enabled": True, "shared": False},
    "subnet": {"network_id": "", "cidr": "", "gateway_ip": None},
    "router": {"external_gateway_info": None},
    "port": {"network_id": "", "device_id": "", "device_owner": "", "fixed_ips": [], "mac_address": ""},
    "security_group": {"security_group_rules": []},
    "volume": {"size": 0, "attachments": []},
    "snapshot": {"size": 0},
    "backup": {"size": 0},
}
#: Ports with which Neutron itself is in a network, and what it calls those of routers of several machines.
_SERVICE = ("network:dhcp", "network:distributed", "network:router_centralized_snat", "network:ha_router_interface")
_INTERFACES = ("network:router_interface_distributed", "network:ha_router_replicated_interface")
#: Where the addresses of networks come from whose subnets nobody but the operator sees (RFC 2544).
_UNSEEN = "198.18.0.0/15"
#: Kinds that servers keep when they are gone from the catalog.
_OUTLIVED = ("image", "flavor", "keypair")


class Names:
    """Implements `vetro.clouds.stacks.state.database.Elsewhere`. May be used from several threads."""

    def __init__(
        self,
        opened: Callable[[], Cloud] | None,
        owner: Owner,
        own: Collection[str] = (),
        *,
        there: bool = False,
        listed: Mapping[tuple[str, Kind], Sequence[Record]] | None = None,
    ) -> None:
        """``opened`` gives the cloud when it is first asked, and it is closed with this one; None: nothing is asked.

        ``own``: ids of what the environment's stacks made. With ``there`` everything that is named is there, or was
        when it was named: where the cloud has it no more, something stands in for it. ``listed``: of another one.
        """
        self._opened, self._owner, self._own, self._there = opened, owner, frozenset(own), there
        self._lock = threading.RLock()
        self._cloud: Cloud | None = None
        #: What the cloud has told, by region and kind.
        self.listed: dict[tuple[str, Kind], Sequence[Record]] = dict(listed or {})
        self._put: set[tuple[str, Kind]] = set()
        #: Ids of what stands in for something that a cloud no longer has in its catalogs.
        self.outlived: set[str] = set()

    def fetch(self, database: Database, region: str, kind: str) -> None:
        """See `Elsewhere.fetch`."""
        place = (region, cast(Kind, kind))
        if self._opened is None or place in self._put or not (kind in _LISTS or kind in _QUERIES):
            return
        rows = self._rows(*place)  # first: who waits for the cloud holds no lock of the database for others
        into = Inventory(database, region, self._owner.project)
        with database.transaction():
            known = {id for (id,) in database.rows("SELECT id FROM records WHERE region = ?", (region,))}
            for row in rows:
                if row["id"] not in known:
                    known.add(row["id"])
                    into.save(place[1], row, parent=row.get("network_id") or "", holder=row.get("device_id") or "")
        self._put.add(place)

    def stand_in(self, database: Database, region: str, kind: str, ref: str) -> Record | None:
        """See `Elsewhere.stand_in`."""
        if not self._there or not ref:
            return None
        made: Record = {"id": ref, "name": ref, **_LEAST.get(cast(Kind, kind), {})}
        into = Inventory(database, region, self._owner.project)
        if kind in ("network", "subnet"):
            ids = (ref, fixed_id("subnet", ref)) if kind == "network" else (fixed_id("network", ref), ref)
            network, subnet = network_records(*ids, ref, _UNSEEN, external=True, project=self._owner.project)
            into.save("network", network)
            into.save("subnet", subnet, parent=network["id"])
            return network if kind == "network" else subnet
        if kind == "router":
            made = router_record(ref, ref, None, self._owner.project)
        into.save(cast(Kind, kind), made)
        if kind in _OUTLIVED:
            self.outlived.add(ref)
        return made

    def close(self) -> None:
        """Lets the cloud go."""
        with self._lock:
            self._opened, cloud, self._cloud = None, self._cloud, None
        if cloud is not None:
            cloud.close()

    def _rows(self, region: str, kind: Kind) -> Sequence[Record]:
        with self._lock:
            found = self.listed.get((region, kind))
            if found is None:
                asked = [self._record(kind, row) for row in self._ask(region, kind)]
                found = [row for row in asked if row is not None]
                found += self._made_up(region, kind, found)
                self.listed[region, kind] = found
            return found

    def _ask(self, region: str, kind: Kind) -> Iterable[Mapping[str, Any]]:
        if self._opened is None:
            return []
        if self._cloud is None:
            self._cloud = self._opened()
        try:
            if kind in _QUERIES:
                found: Iterable[Mapping[str, Any]] = self._cloud.network(self._owner, region, _QUERIES[kind], {})
                return found
            return self._cloud.catalog(self._owner, region, _LISTS[kind])
        except (NotAvailable, NotFound):
            return []  # a cloud without such a service has none
        except CloudError as error:
            if error.kind == "bad-argument":
                return []  # nor has one that does not know of it
            raise

    def _record(self, kind: Kind, row: Mapping[str, Any]) -> Record | None:
        """What the recorder needs of a record; None for what it has itself, and for what nobody can name."""
        made = {key: value for key, value in row.items() if value is not None}
        made = {**_LEAST.get(kind, {}), **made, "id": str(row.get("id") or ""), "name": str(row.get("name") or "")}
        if not made["id"] or made["id"] in self._own or made.get("network_id") in self._own:
            return None
        if kind == "keypair":
            if made["name"] in self._own:
                return None
            try:
                PublicKey(made["public_key"])
            except ValueInvalid:
                made["public_key"] = ""  # of a kind that only some systems know
        elif kind == "port":
            if made["device_owner"] in _SERVICE or not made["network_id"]:
                return None
            if made["device_owner"] in _INTERFACES:
                made["device_owner"] = ROUTER_INTERFACE
            if made["device_id"] in self._own:
                made["device_id"] = ""  # the recorder puts its own server there
        elif kind == "volume":
            made["attachments"] = [one for one in made["attachments"] if one.get("server_id") not in self._own]
        elif kind == "subnet" and not made["cidr"]:
            return None
        return made

    def _made_up(self, region: str, kind: Kind, rows: Sequence[Record]) -> list[Record]:
        """The network of servers that name none, and subnets of networks whose own ones cannot be seen."""
        project = self._owner.project
        network, subnet = fixed_id("network", region, CHOSEN), fixed_id("subnet", region, CHOSEN)
        chosen = network_records(network, subnet, CHOSEN, _UNSEEN, external=False, project=project)
        if kind == "network":
            return [chosen[0]]
        if kind != "subnet":
            return []
        seen = {row["network_id"] for row in rows}
        unseen = [net for net in self._rows(region, "network") if net["id"] not in seen and net["router:external"]]
        return [chosen[1]] + [
            network_records(net["id"], fixed_id("subnet", net["id"]), "", _UNSEEN, external=True, project=project)[1]
            for net in unseen
        ]
