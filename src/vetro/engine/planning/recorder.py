"""`make`: the cloud of a plan: a recorder in a folder of its own that begins with what the environment has.

It runs in the effects host's process (`vetro.engine.host.config`, a cloud of kind ``module:function``), which knows
nothing of the database of the service. The state of a cloud around a driver is copied, other clouds are asked; the
states of servers come from the real cloud. Nothing there is changed. Settings: ``folder``, ``real`` (the settings of
the real cloud), ``owner`` (that of the real environment).
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vetro.clouds import kinds
from vetro.clouds.drivers.base import Recorder
from vetro.clouds.interface import Cloud, Owner, StackChange, StackState
from vetro.clouds.kind_protocols import CloudKind, Place
from vetro.clouds.stacks.cloud import StackCloud
from vetro.clouds.stacks.kind import DriverKind
from vetro.engine.host.config import cloud_of, quotas_of
from vetro.library.stackdata import digest_of, parts_of

#: What was there before the plan: ``{stacks: [[region, name, [[section, key, value], ...],
#: {name of a resource: [id, type, properties]}], ...], servers: {id: state}}``.
BEFORE = "before.json"
#: How clouds write ids.
_ID = re.compile(r"[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}")

#: States of servers that do not run. ``BUILD`` is told by the copied state itself.
_OFF = frozenset({"SHUTOFF", "ERROR", "UNKNOWN"})

#: Region and name of a stack -> its parts.
Stacks = dict[tuple[str, str], dict[tuple[str, str], Any]]
#: Region and name of a stack -> name of a resource -> its id, type, and properties with all references resolved.
Resources = dict[tuple[str, str], dict[str, tuple[str, str, dict[str, Any]]]]


@dataclass(frozen=True, slots=True)
class Content:
    """What a cloud has of an environment. ``servers``: id -> state, as `ServerState` has it."""

    stacks: Stacks
    resources: Resources
    servers: Mapping[str, str]


def make(settings: Mapping[str, Any], owner: Owner) -> Cloud:
    """The recorder. A host that is started again finds the state of the one before."""
    folder = Path(settings["folder"])
    real = settings["real"]
    begun = (folder / BEFORE).exists()
    if not begun:
        if isinstance(_kind(real), DriverKind):
            _copy(real, owner, folder)
        else:
            _ask(real, owner, folder)
    cloud = _open(folder, real)
    try:
        if not begun:
            found = content_of(cloud, owner)
            stacks = [[*name, [[*part, value] for part, value in parts.items()], found.resources.get(name, {})]
                      for name, parts in found.stacks.items()]  # fmt: skip
            draft = folder / f".{BEFORE}"
            draft.write_text(json.dumps({"stacks": stacks, "servers": found.servers}), encoding="utf-8")
            draft.rename(folder / BEFORE)
        return cloud
    except BaseException:
        cloud.close()
        raise


@contextmanager
def opened(folder: Path, real: Mapping[str, Any]) -> Iterator[StackCloud]:
    """The recorder after the plan."""
    with closing(_open(folder, real)) as cloud:
        yield cloud


def before(folder: Path) -> Content:
    """What was there before."""
    data = json.loads((folder / BEFORE).read_text("utf-8"))
    stacks, resources = {}, {}
    for region, name, parts, made in data["stacks"]:
        stacks[region, name] = {(section, key): value for section, key, value in parts}
        resources[region, name] = {own: (id, type, properties) for own, (id, type, properties) in made.items()}
    return Content(stacks, resources, data["servers"])


def content_of(cloud: StackCloud, owner: Owner) -> Content:
    """What a cloud has of an environment now."""
    stacks = {name: parts_of(state.template, state.parameters) for name, state in _stacks(cloud, owner)}
    resources = {
        name: {state.name: (state.id, state.type, state.properties) for state in states}
        for name, states in cloud.resources_of(owner).items()
    }
    return Content(stacks, resources, {server.id: server.status for server in cloud.servers(owner)})


def _stacks(cloud: Cloud, owner: Owner) -> Iterator[tuple[tuple[str, str], StackState]]:
    """The stacks of an environment, by region and name."""
    for stack in cloud.stacks(owner):
        state = cloud.read_stack(owner, stack.region, stack.name)
        if state is not None and not state.status.startswith("DELETE_COMPLETE"):
            yield (stack.region, stack.name), state


def _kind(real: Mapping[str, Any]) -> CloudKind | None:
    """The kind of the real cloud; None for one that a function makes."""
    name = str(real.get("kind"))
    return None if ":" in name else kinds.find(name)


def _open(folder: Path, real: Mapping[str, Any]) -> StackCloud:
    kind = kinds.find(kinds.RECORD)
    assert isinstance(kind, DriverKind)
    target = _kind(real)
    able = None if target is None else target.capabilities(target.settings.from_json(real.get("settings") or {}))
    settings = kind.settings.from_json(_settings(real))
    return kind.opened(settings, Place(directory=folder, quotas=quotas_of(real)), able, target.name if target else "")


def _settings(real: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a recorder that plays the real cloud."""
    kind = _kind(real)
    if kind is None:
        return {}
    settings = kind.settings.from_json(real.get("settings") or {})
    if isinstance(kind, DriverKind):
        return kind.shared_settings(settings)
    # What it has of regions it can name; its types of resources are not known here.
    regions = [name for name in (getattr(settings, "region", ""), *getattr(settings, "regions", ())) if name]
    return {"regions": list(dict.fromkeys(regions)), "inert_types": True}


def _copy(real: Mapping[str, Any], owner: Owner, folder: Path) -> None:
    """The state of a cloud, and that of its servers as its driver sees them."""
    source = Path(real["directory"]) / "cloud.db"
    if not source.exists():
        return
    target = folder / "cloud.db"
    target.touch(0o600)
    with (
        closing(sqlite3.connect(f"{source.as_uri()}?mode=ro", uri=True, timeout=30)) as theirs,
        closing(sqlite3.connect(target)) as ours,
    ):
        theirs.backup(ours)
    with opened(folder, real) as cloud:
        known = cloud.agents()
        states: Mapping[str, str] = {}
        if any((of.project, of.environment) == (owner.project, owner.environment) for _, of, _, _ in known):
            with closing(cloud_of(real, owner)) as found:
                states = {server.id: server.status for server in found.servers(owner) if server.status in _OFF}
        _recorder(cloud).adopt(known, states)


def _ask(real: Mapping[str, Any], owner: Owner, folder: Path) -> None:
    """Makes the stacks of another cloud in the recorder, with the ids that they have there.

    Whoever asks the real cloud for a thing by its id asks the recorder by the same one.
    """
    ids: dict[str, str] = {}
    outputs: list[tuple[str, str, Mapping[str, Any]]] = []
    with opened(folder, real) as cloud, closing(cloud_of(real, owner)) as theirs:
        for (region, name), state in _stacks(theirs, owner):
            parts = parts_of(state.template, state.parameters)
            put = [[*part, value] for part, value in parts.items()]
            made = cloud.push_stack(owner, region, name, StackChange(digest_of(parts), None, put, []))
            ids |= _same(made.outputs, state.outputs)
            outputs.append((region, name, state.outputs))
        found = {(server.region, server.name): server for server in theirs.servers(owner)}
        mine = {server.id: found.get((server.region, server.name)) for server in cloud.servers(owner)}
        ids |= {id: server.id for id, server in mine.items() if server is not None}
    for file in ("cloud.db", "record.db"):
        _rename(folder / file, ids)
    with closing(sqlite3.connect(folder / "cloud.db")) as database, database:
        for region, name, told in outputs:
            of = "stack = (SELECT id FROM stacks WHERE project = ? AND region = ? AND name = ? AND parent = '')"
            rows = [(json.dumps(value), key, owner.project, region, name) for key, value in told.items()]
            database.executemany(f"UPDATE outputs SET value = ? WHERE key = ? AND {of}", rows)
    with opened(folder, real) as cloud:
        # Such a cloud starts nothing by itself when a stack is pushed, whatever its servers are.
        off = [ids.get(id, id) for id, server in mine.items() if server is None or server.status in _OFF]
        _recorder(cloud).adopt(cloud.agents(), dict.fromkeys(off, "SHUTOFF"))


def _same(mine: Any, theirs: Any) -> dict[str, str]:
    """Ids that stand in the same places of two values."""
    found: dict[str, str] = {}
    pairs = [(mine, theirs)]
    while pairs:
        one, other = pairs.pop()
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            pairs += [(value, other[key]) for key, value in one.items() if key in other]
        elif isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
            pairs += zip(one, other, strict=False)
        elif isinstance(one, str) and isinstance(other, str) and one != other and _ID.fullmatch(one):
            found[one] = other
    return found


def _rename(file: Path, ids: Mapping[str, str]) -> None:
    """Puts other ids into all texts of a database: ids of clouds are part of no other text by accident."""
    with closing(sqlite3.connect(file)) as database, database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables if ids else ():
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})") if row[2] == "TEXT"]
            for column in columns:
                database.executemany(
                    f"UPDATE {table} SET {column} = replace({column}, ?, ?) WHERE instr({column}, ?)",
                    [(old, new, old) for old, new in ids.items()],
                )


def _recorder(cloud: StackCloud) -> Recorder:
    assert isinstance(cloud.driver, Recorder)
    return cloud.driver
