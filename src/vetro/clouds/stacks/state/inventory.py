"""The things of a cloud: images, networks, ports, servers, volumes… as the records that OpenStack shows.

A record is a mapping with ``id`` and ``name`` and whatever OpenStack's API calls the rest. It lives in a region; its
project is the one that may see it, '' is for all.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any, Literal

from vetro.clouds.drivers.values import short
from vetro.clouds.interface import Conflict, NotFound
from vetro.clouds.stacks import reservations
from vetro.clouds.stacks.state.database import Database

Kind = Literal[
    "image",
    "flavor",
    "keypair",
    "zone",
    "network",
    "subnet",
    "router",
    "port",
    "floatingip",
    "security_group",
    "server_group",
    "volume",
    "snapshot",
    "backup",
    "server",
    "config",
    "deployment",
    "pool",
    "member",
    "loadbalancer",
    "wait_handle",
]

Record = dict[str, Any]

#: Made once: `json.dumps` makes one for each text.
_encode = json.JSONEncoder(separators=(",", ":")).encode

_NAMESPACE = uuid.UUID("3c1d7be0-6f0a-5d0e-9f6e-7665746f0001")

#: Kinds that only the seed makes, for all projects, and nobody changes.
_FIXED = ("flavor", "zone")

#: Kinds that no other environment of the project can name in its templates. Networks, volumes and the like are shared
#: within a project, as packages that use existing ones expect.
_PRIVATE = ("server", "port", "floatingip", "config", "deployment", "wait_handle")

_WORDS = {"keypair": "key pair", "floatingip": "floating address", "security_group": "security group"}


def fixed_id(*names: str) -> str:
    """The same id for the same names, always."""
    return str(uuid.uuid5(_NAMESPACE, "/".join(names)))


def moved(kind: str, id: str) -> str:
    """Under this key of the table ``meta`` stands the name of what each project has instead of a shared record."""
    return f"moved/{kind}/{id}"


def word(kind: str) -> str:
    """What a kind is called in messages."""
    return _WORDS.get(kind, kind.replace("_", " "))


class Inventory:
    """Records of one region as one project sees them; with project None all of them.

    With ``environment``, `find` and `get` see what is private to environments in that one only.
    """

    def __init__(self, database: Database, region: str, project: str | None, environment: str | None = None) -> None:
        self.database = database
        self.region = region
        self.project = project
        self.environment = environment

    def save(
        self,
        kind: Kind,
        record: Mapping[str, Any],
        *,
        environment: str = "",
        parent: str = "",
        holder: str = "",
        shared: bool = False,
    ) -> None:
        """Adds a record or replaces the one with its id."""
        self.database.run(
            "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id, region) DO UPDATE SET"
            " name = excluded.name, parent = excluded.parent, holder = excluded.holder, body = excluded.body",
            (
                record["id"],
                self.region,
                kind,
                "" if shared or self.project is None else self.project,
                environment,
                record.get("name") or "",
                parent,
                holder,
                _encode(record),
            ),
        )

    def find(self, kind: Kind, ref: str) -> Record | None:
        """A record by id or name. Raises `Conflict` when several have the name."""
        fixed = self.database.fixed.get((kind, self.region, ref)) if kind in _FIXED else None
        if fixed is not None:
            return dict(fixed)
        found = self._find(kind, ref)
        if found is not None and kind in _FIXED:
            self.database.fixed[kind, self.region, ref] = dict(found)
        return found

    def _find(self, kind: Kind, ref: str) -> Record | None:
        if self.database.elsewhere is not None:
            self.database.elsewhere.fetch(self.database, self.region, kind)
        row = self.database.row(
            "SELECT body, project, environment FROM records WHERE id = ? AND region = ? AND kind = ?",
            (ref, self.region, kind),
        )
        if row is not None:
            return json.loads(row[0]) if self._sees(row[1]) and self._may_name(kind, row[2]) else None
        rows = self.database.rows(
            "SELECT body, project, environment FROM records WHERE kind = ? AND region = ? AND name = ?",
            (kind, self.region, ref),
        )
        seen = [row for row in rows if self._sees(row[1]) and self._may_name(kind, row[2])] if ref else []
        # One's own comes before what is for all.
        seen = [row for row in seen if row[1]] or seen
        if len(seen) > 1:
            raise Conflict(f"there are {len(seen)} {word(kind)} records named {short(ref)}; use the id")
        return json.loads(seen[0][0]) if seen else self._moved(kind, ref)

    def _moved(self, kind: Kind, ref: str) -> Record | None:
        """The project's own record instead of one that all projects shared in earlier versions.

        Models of environments and templates keep its id.
        """
        row = self.database.row("SELECT value FROM meta WHERE key = ?", (moved(kind, ref),)) if self.project else None
        if row is None:
            return None
        own = fixed_id(kind, self.region, str(self.project), row[0])
        return self._find(kind, own) if own != ref else None

    def get(self, kind: Kind, ref: str) -> Record:
        """A record by id or name. Raises `NotFound`, `Conflict`."""
        found = self.find(kind, ref)
        if found is None and self.database.elsewhere is not None:
            found = self.database.elsewhere.stand_in(self.database, self.region, kind, ref)
        if found is None:
            where = f" in region '{self.region}'" if self.region else ""
            raise NotFound(f"there is no {word(kind)} {short(ref)}{where}")
        return found

    def all(
        self, kind: Kind, *, parent: str | None = None, holder: str | None = None, environment: str | None = None
    ) -> list[Record]:
        """All records of a kind in a stable order, or those that have a parent or holder (ids), or are of one
        environment."""
        if self.database.elsewhere is not None:
            self.database.elsewhere.fetch(self.database, self.region, kind)
        where, values = "kind = ? AND region = ?", [kind, self.region]
        if parent is not None:
            where, values = where + " AND parent = ? AND parent != ''", [*values, parent]
        if holder is not None:
            where, values = where + " AND holder = ? AND holder != ''", [*values, holder]
        if environment is not None:
            where, values = where + " AND environment = ?", [*values, environment]
        rows = self.database.rows(f"SELECT body, project FROM records WHERE {where} ORDER BY rowid", values)
        return [json.loads(body) for body, project in rows if self._sees(project)]

    def common(self, record: str) -> bool:
        """Whether a record (by id) is nobody's own, but for all projects."""
        where = "id = ? AND region = ? AND project = ''"
        return self.database.row(f"SELECT 1 FROM records WHERE {where}", (record, self.region)) is not None

    def delete(self, record: str) -> None:
        """Removes a record (by id), which counts no more. Nothing when there is none."""
        self.database.run("DELETE FROM records WHERE id = ? AND region = ?", (record, self.region))
        reservations.give_back(self.database, record)

    def _may_name(self, kind: str, environment: str) -> bool:
        return self.environment is None or kind not in _PRIVATE or environment in ("", self.environment)

    def _sees(self, project: str) -> bool:
        return self.project is None or project in ("", self.project)
