"""The recording driver: executes nothing, keeps every plan, answers from a table.

It works everywhere, and for images that no sandbox runs (Windows, Docker hosts). Its state is the file ``record.db`` in
the cloud's directory: results stay there until they are acknowledged, also when the process is restarted.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from vetro.clouds.drivers.base import ConfigResult, DriverError, ServerStatus, Signal, SnapshotMethod
from vetro.clouds.drivers.specs import ConfigSpec, GroupSpec, NetworkSpec, ServerSpec, VolumeSpec
from vetro.clouds.interface import Owner
from vetro.clouds.record.channel import RecordChannel
from vetro.clouds.record.store import RecordedPlan, RecordStore
from vetro.clouds.record.table import Table


class RecordDriver:
    """Implements `ServerDriver` and `Channel` without running anything."""

    name = "record"
    executes = False

    def __init__(
        self, directory: Path | str | None, table: Table | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        """Keeps its record in ``directory`` (that of the cloud); None: in memory. Raises `StateUnusable`."""
        if directory is not None:
            directory = Path(directory)
            directory.mkdir(parents=True, exist_ok=True)
        self.table = table or Table()
        self.clock = clock
        self.store = RecordStore(None if directory is None else Path(directory) / "record.db")
        self._closed = threading.Event()

    # -- what was recorded --

    def plans(self, owner: Owner | None = None) -> Sequence[RecordedPlan]:
        """All plans in the order in which they were sent; those of one environment, or of all."""
        return self.store.plans(owner.project if owner else None, owner.environment if owner else None)

    def calls(self) -> Sequence[tuple[str, str]]:
        """``(what, name or id)`` for everything the cloud asked of the driver, in order."""
        rows = self.store.rows("SELECT what, id, name FROM calls ORDER BY place")
        return [(what, name or id) for what, id, name in rows]

    def configs(self) -> Sequence[Mapping[str, Any]]:
        """All software configurations that were applied, with their results."""
        rows = self.store.rows("SELECT * FROM configs ORDER BY rowid")
        names = ("id", "server", "name", "group", "config", "inputs", "stdout", "stderr", "code")
        return [{**dict(zip(names, row)), "inputs": json.loads(row[5])} for row in rows]

    def spec(self, server: str) -> Mapping[str, Any]:
        """The specification of a server (by id) as plain data. Raises `DriverError`."""
        return dict(json.loads(self._server(server)[1]))

    def things(self, kind: str) -> Mapping[str, Mapping[str, Any]]:
        """Networks, groups and volumes (``network``, ``group``, ``volume``) by id."""
        return {
            id: json.loads(body) for id, body in self.store.rows("SELECT id, body FROM things WHERE kind = ?", (kind,))
        }

    def adopt(self, servers: Sequence[tuple[str, Owner, str, str]], states: Mapping[str, str]) -> None:
        """See `Recorder.adopt`."""
        with self.store.transaction():
            for id, owner, name, queue in servers:
                status = states.get(id, "ACTIVE")
                row = (id, owner.project, owner.environment, name, queue, status, 0.0, "{}", "")
                self.store.run("INSERT OR REPLACE INTO servers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    def forget(self, owner: Owner) -> None:
        """See `Recorder.forget`."""
        self.store.forget(owner.project, owner.environment)

    def off(self) -> bool:
        """See `Recorder.off`."""
        return bool(self.store.rows("SELECT 1 FROM servers WHERE status NOT IN ('ACTIVE', 'DELETED') LIMIT 1"))

    def started(self) -> Sequence[str]:
        """See `Recorder.started`."""
        return [id for (id,) in self.store.rows("SELECT id FROM calls WHERE what = 'start server' ORDER BY place")]

    # -- NotingDriver --

    @property
    def instant(self) -> bool:
        """See `NotingDriver.instant`."""
        return not self.table.delays("servers")

    def begin(self) -> None:
        """See `NotingDriver.begin`."""
        self.store.begin()

    def commit(self) -> None:
        """See `NotingDriver.commit`."""
        self.store.commit()

    # -- ServerDriver --

    def create(self, spec: ServerSpec) -> None:
        """See `ServerDriver.create`. Plans that wait for the server are answered then."""
        there = self.store.rows("SELECT status FROM servers WHERE id = ?", (spec.id,))
        if there and there[0][0] != "DELETED":
            self.start(spec.id)
            return
        effects = self.effects("servers", {"server": [spec.name]})
        self._wait(effects.get("createDelay", 0))
        if "failure" in effects:
            self.store.note("create server", spec.id, spec.name)
            raise DriverError(f"server '{spec.name}' failed to boot: {effects['failure']}")
        ready = self.clock() + effects.get("delay", 0)
        console = effects.get("console", f"{spec.hostname}: recorded, nothing was started\n")
        with self.store.transaction():
            self.store.note("create server", spec.id, spec.name)
            self.store.run(
                "INSERT OR REPLACE INTO servers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    spec.id,
                    spec.owner.project,
                    spec.owner.environment,
                    spec.name,
                    spec.queue,
                    "ACTIVE",
                    ready,
                    _text(spec),
                    console,
                ),
            )
        self._answer_waiting(spec.owner, spec.queue)

    def update(self, spec: ServerSpec) -> None:
        """See `ServerDriver.update`."""
        self.store.note("update server", spec.id, spec.name)
        changed = self.store.run(
            "UPDATE servers SET name = ?, spec = ? WHERE id = ?", (spec.name, _text(spec), spec.id)
        )
        if not changed:
            raise DriverError(f"there is no server {spec.id} to change")

    def start(self, server: str) -> None:
        """See `ServerDriver.start`."""
        self._server(server)
        self.store.note("start server", server)
        self.store.run("UPDATE servers SET status = 'ACTIVE' WHERE id = ?", (server,))
        for project, environment, queue in self.store.rows(
            "SELECT project, environment, queue FROM servers WHERE id = ?", (server,)
        ):
            self._answer_waiting(Owner(project, environment), queue)

    def stop(self, server: str) -> None:
        """See `ServerDriver.stop`: plans that come later wait."""
        self.store.note("stop server", server)
        self.store.run("UPDATE servers SET status = 'SHUTOFF' WHERE id = ?", (server,))

    def delete(self, server: str) -> None:
        """See `ServerDriver.delete`. The record of its plans stays."""
        rows = self.store.rows("SELECT name FROM servers WHERE id = ?", (server,))
        if rows:
            self.store.note("delete server", server, rows[0][0])
            with self.store.transaction():
                for table in ("files", "snapshots", "snapshot_files"):
                    self.store.run(f"DELETE FROM {table} WHERE server = ?", (server,))
                # The name stays with its plans.
                self.store.run(
                    "UPDATE servers SET status = 'DELETED', queue = NULL, spec = '{}' WHERE id = ?", (server,)
                )

    def ensure_network(self, network: NetworkSpec) -> None:
        """See `ServerDriver.ensure_network`."""
        self._keep("network", network.id, network.name, network)

    def taken(self) -> list[str]:
        """Nothing: its networks are none of this machine's."""
        return []

    def delete_network(self, network: str) -> None:
        """See `ServerDriver.delete_network`."""
        self._drop("network", network)

    def ensure_group(self, group: GroupSpec) -> None:
        """See `ServerDriver.ensure_group`."""
        self._keep("group", group.id, group.name, group)

    def delete_group(self, group: str) -> None:
        """See `ServerDriver.delete_group`."""
        self._drop("group", group)

    def ensure_volume(self, volume: VolumeSpec) -> None:
        """See `ServerDriver.ensure_volume`."""
        self._keep("volume", volume.id, volume.name, volume)

    def delete_volume(self, volume: str) -> None:
        """See `ServerDriver.delete_volume`."""
        self._drop("volume", volume)

    def console(self, server: str, lines: int = 200) -> str:
        """See `ServerDriver.console`: what the table says, and a line for each plan."""
        text = self._server(server)[2]
        names = self.store.rows("SELECT name FROM plans WHERE server = ? ORDER BY place", (server,))
        text += "".join(f"plan recorded: {name}\n" for (name,) in names)
        return "".join(text.splitlines(keepends=True)[-lines:]) if lines > 0 else ""

    def put_file(self, server: str, path: str, data: bytes, mode: int = 0o644) -> None:
        """See `ServerDriver.put_file`: kept in the record."""
        self._server(server)
        if not path.startswith("/"):
            raise DriverError(f"'{path}' is no absolute path")
        self.store.run("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)", (server, path, mode, data))

    def get_file(self, server: str, path: str) -> bytes:
        """See `ServerDriver.get_file`: only what was put there."""
        self._server(server)
        rows = self.store.rows("SELECT data FROM files WHERE server = ? AND path = ?", (server, path))
        if not rows:
            raise DriverError(f"the server has no file {path}: nothing runs there, only files that were put are there")
        return bytes(rows[0][0])

    def statuses(self, servers: Collection[str]) -> Mapping[str, ServerStatus]:
        """See `ServerDriver.statuses`."""
        found = dict(self.store.rows("SELECT id, status FROM servers WHERE status != 'DELETED'"))
        return {id: found[id] for id in servers if id in found}

    def configure(self, server: str, config: ConfigSpec) -> ConfigResult:
        """See `ServerDriver.configure`: the table says how it ends, by default with success and no output."""
        name = self._server(server)[0]
        there = self.store.rows("SELECT stdout, stderr, code FROM configs WHERE id = ?", (config.id,))
        if there:
            return ConfigResult(*there[0])
        texts: dict[str, list[str]] = {"name": [config.name], "server": [name], "config": [config.config]}
        effects = self.effects("configs", texts)
        self._wait(effects.get("delay", 0))
        if "failure" in effects:
            raise DriverError(f"configuration '{config.name}' failed on server '{name}': {effects['failure']}")
        result = ConfigResult(effects.get("stdout", ""), effects.get("stderr", ""), effects.get("exitCode", 0))
        inputs = json.dumps(dict(config.inputs))
        values = (config.id, server, config.name, config.group, config.config, inputs)
        self.store.run(
            "INSERT OR IGNORE INTO configs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*values, result.stdout, result.stderr, result.code),
        )
        return result

    def signal_command(self, handle: str) -> str:
        """See `ServerDriver.signal_command`."""
        return f"vetro-signal {handle}"

    def signals(self, handle: str, servers: Collection[str]) -> Sequence[Signal]:
        """See `ServerDriver.signals`: one success, which stands for all, unless the table says otherwise."""
        effects = self.effects("signals", {"handle": [handle]})
        if effects.get("never"):
            return []
        if "failure" in effects:
            return [Signal("FAILURE", "1", None, effects["failure"])]
        return [Signal("SUCCESS", "1", effects.get("data"))]

    # -- SnapshotDriver --

    def snapshot_methods(self, servers: Collection[str]) -> Mapping[str, SnapshotMethod]:
        """See `SnapshotDriver.snapshot_methods`."""
        return dict.fromkeys(self.statuses(servers), SnapshotMethod("rows"))

    def take_snapshot(self, server: str, name: str) -> None:
        """See `SnapshotDriver.take_snapshot`: what is written down of the server, its files and configurations."""
        self._server(server)
        with self.store.transaction():
            if self.store.rows("SELECT 1 FROM snapshots WHERE server = ? AND name = ?", (server, name)):
                return
            self.store.note("take snapshot", server)
            (row,) = self.store.rows("SELECT name, queue, ready, spec, console FROM servers WHERE id = ?", (server,))
            configs = self.store.rows("SELECT * FROM configs WHERE server = ? ORDER BY rowid", (server,))
            body = json.dumps({"server": row, "configs": configs})
            self.store.run("INSERT INTO snapshots VALUES (?, ?, ?)", (server, name, body))
            self.store.run(
                "INSERT INTO snapshot_files SELECT server, ?, path, mode, data FROM files WHERE server = ?",
                (name, server),
            )

    def revert_to_snapshot(self, server: str, name: str) -> None:
        """See `SnapshotDriver.revert_to_snapshot`. The record of its plans stays."""
        self._server(server)
        with self.store.transaction():
            found = self.store.rows("SELECT body FROM snapshots WHERE server = ? AND name = ?", (server, name))
            if not found:
                raise DriverError(f"the server {server} has no snapshot {name}")
            body = json.loads(found[0][0])
            self.store.note("revert to snapshot", server)
            self.store.run(
                "UPDATE servers SET status = 'SHUTOFF', name = ?, queue = ?, ready = ?, spec = ?, console = ?"
                " WHERE id = ?",
                (*body["server"], server),
            )
            self.store.run("DELETE FROM configs WHERE server = ?", (server,))
            self.store.run_many("INSERT INTO configs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", body["configs"])
            self.store.run("DELETE FROM files WHERE server = ?", (server,))
            self.store.run(
                "INSERT INTO files SELECT server, path, mode, data FROM snapshot_files"
                " WHERE server = ? AND snapshot = ?",
                (server, name),
            )

    def drop_snapshot(self, server: str, name: str) -> None:
        """See `SnapshotDriver.drop_snapshot`."""
        with self.store.transaction():
            if self.store.run("DELETE FROM snapshots WHERE server = ? AND name = ?", (server, name)):
                self.store.note("drop snapshot", server)
            self.store.run("DELETE FROM snapshot_files WHERE server = ? AND snapshot = ?", (server, name))

    # -- the channel --

    def channel(self, owner: Owner) -> RecordChannel:
        """See `ServerDriver.channel`."""
        return RecordChannel(self, owner)

    def sweep(self, servers: Container[str], networks: Container[str]) -> Sequence[str]:
        """See `ServerDriver.sweep`: forgets servers and networks that the cloud does not know."""
        removed = []
        for id, name in self.store.rows("SELECT id, name FROM servers WHERE status != 'DELETED'"):
            if id not in servers:
                self.delete(id)
                removed.append(f"server {name}")
        for id in self.things("network"):
            if id not in networks:
                self.delete_network(id)
                removed.append(f"network {id}")
        return removed

    def clear(self) -> Sequence[str]:
        """See `ServerDriver.clear`."""
        return self.sweep([], [])

    def close(self) -> None:
        """See `ServerDriver.close`."""
        self._closed.set()
        with self.store.news:
            self.store.news.notify_all()
        self.store.close()

    # -- plans --

    @property
    def closed(self) -> bool:
        """Whether it was closed: waits end."""
        return self._closed.is_set()

    def effects(self, section: str, texts: Mapping[str, Sequence[str]]) -> Mapping[str, Any]:
        """What the first rule that fits and is not used up says; counts it."""
        for rule in self.table.fitting(section, texts):
            times = rule.effects.get("times")
            if times is None:
                return rule.effects
            with self.store.transaction():
                used = self.store.rows("SELECT count FROM used WHERE rule = ?", (rule.where,))
                if (used[0][0] if used else 0) < times:
                    self.store.run(
                        "INSERT INTO used VALUES (?, 1) ON CONFLICT (rule) DO UPDATE SET count = count + 1",
                        (rule.where,),
                    )
                    return rule.effects
        return {}

    def _answer_waiting(self, owner: Owner, queue: str | None) -> None:
        if queue is not None:
            self.channel(owner).answer(queue)

    def _wait(self, seconds: float) -> None:
        if seconds and self._closed.wait(seconds):
            raise DriverError("the recorder was closed meanwhile")

    def _server(self, server: str) -> tuple[str, str, str]:
        rows = self.store.rows(
            "SELECT name, spec, console FROM servers WHERE id = ? AND status != 'DELETED'", (server,)
        )
        if not rows:
            raise DriverError(f"there is no server {server}")
        name, spec, console = rows[0]
        return name, spec, console

    def _keep(self, kind: str, id: str, name: str, body: object) -> None:
        self.store.note(f"ensure {kind}", id, name)
        self.store.run("INSERT OR REPLACE INTO things VALUES (?, ?, ?)", (kind, id, _text(body)))

    def _drop(self, kind: str, id: str) -> None:
        if self.store.run("DELETE FROM things WHERE kind = ? AND id = ?", (kind, id)):
            self.store.note(f"delete {kind}", id)


def _text(spec: object) -> str:
    """A specification as JSON."""
    return _encode(spec)


def _members(spec: Any) -> Any:
    if not is_dataclass(spec):
        return str(spec)  # addresses and networks
    return {item.name: getattr(spec, item.name) for item in fields(spec)}


_encode = json.JSONEncoder(default=_members).encode
