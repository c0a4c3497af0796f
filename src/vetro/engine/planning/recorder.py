"""`make`: the cloud of a plan: a recorder in a folder of its own that begins with what the environment has.

It runs in the effects host's process (`vetro.engine.host.config`, a cloud of kind ``module:function``), which knows
nothing of the database of the service. Of the state of a cloud around a driver a slice is copied, other clouds are
asked; the states of servers come from the real cloud. Nothing there is changed. Settings: ``folder``, ``real`` (the
settings of the real cloud), ``owner`` (that of the real environment).
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from vetro.clouds import kinds
from vetro.clouds.drivers.base import Recorder
from vetro.clouds.interface import Cloud, Owner, ServerState, ShowsResources, StackChange, StackState
from vetro.clouds.kind_protocols import CloudKind, Place
from vetro.clouds.stacks.cloud import StackCloud
from vetro.clouds.stacks.kind import DriverKind
from vetro.clouds.stacks.specs import user_data_id
from vetro.clouds.stacks.state.inventory import fixed_id
from vetro.clouds.stacks.state.slices import copy_slice
from vetro.clouds.stacks.types.ports import auto_port_id
from vetro.data_classes import dataclass
from vetro.engine.host.config import cloud_of, quotas_of
from vetro.engine.planning.names import CHOSEN, Names
from vetro.library.stackdata import digest_of, parts_of

#: What was there before the plan: ``{stacks: [[region, name, [[section, key, value], ...],
#: {name of a resource: [id, type, properties]}], ...], servers: {id: state}, own: [id, ...]}``.
BEFORE = "before.json"
#: How clouds write ids.
_ID = re.compile(r"[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}")

#: Networks that a server has at most by itself, far beyond what any cloud allows.
_MOST_PORTS = 64
#: Settings of networks that clouds of any kind may have.
_SHARED = (
    "router",
    "external_network",
    "create_router",
    "plan_ipv4",
    "plan_ipv6",
    "max_networks",
    "max_hosts",
    "dns_ipv4",
    "dns_ipv6",
)

#: States of servers that do not run. ``BUILD`` is told by the copied state itself.
OFF = frozenset({"SHUTOFF", "ERROR", "UNKNOWN"})

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
    own: Collection[str] = json.loads((folder / BEFORE).read_text("utf-8"))["own"] if begun else ()
    names = Names(lambda: cloud_of(real, owner), owner, own)
    if not begun:
        if isinstance(kind_of(real), DriverKind):
            _copy(real, owner, folder)
        else:
            names, own = _ask(real, owner, folder)
    cloud = _open(folder, real, names)
    try:
        if not begun:
            found = content_of(cloud, owner)
            stacks = [[*name, [[*part, value] for part, value in parts.items()], found.resources.get(name, {})]
                      for name, parts in found.stacks.items()]  # fmt: skip
            draft = folder / f".{BEFORE}"
            content = {"stacks": stacks, "servers": found.servers, "own": sorted(own)}
            draft.write_text(json.dumps(content), encoding="utf-8")
            draft.rename(folder / BEFORE)
        return cloud
    except BaseException:
        cloud.close()
        raise


@contextmanager
def opened(folder: Path, real: Mapping[str, Any]) -> Iterator[StackCloud]:
    """The recorder after the plan; no other cloud is asked."""
    with closing(_open(folder, real, Names(None, Owner("", "")))) as cloud:
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


def kind_of(real: Mapping[str, Any]) -> CloudKind | None:
    """The kind of the real cloud; None for one that a function makes."""
    name = str(real.get("kind"))
    return None if ":" in name else kinds.find(name)


def _open(folder: Path, real: Mapping[str, Any], names: Names) -> StackCloud:
    """``names``: of a cloud that is none around a driver; the recorder closes it."""
    kind = kinds.find(kinds.RECORD)
    assert isinstance(kind, DriverKind)
    target = kind_of(real)
    able = None if target is None else target.capabilities(target.settings.from_json(real.get("settings") or {}))
    settings = kind.settings.from_json(settings_of(real))
    place = Place(directory=folder, quotas=quotas_of(real))
    own = isinstance(target, DriverKind)
    return kind.opened(settings, place, able, target.name if target else "", None if own else names)


def settings_of(real: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a recorder that plays the real cloud."""
    kind = kind_of(real)
    settings = None if kind is None else kind.settings.from_json(real.get("settings") or {})
    if isinstance(kind, DriverKind):
        return kind.shared_settings(settings)
    # What it has of regions it can name; its types of resources are not known here.
    regions = [name for name in (getattr(settings, "region", ""), *getattr(settings, "regions", ())) if name]
    shared = {name: getattr(settings, name) for name in _SHARED if hasattr(settings, name)}
    return {**shared, "regions": list(dict.fromkeys(regions)), "inert_types": True, "private_network": CHOSEN}


def _copy(real: Mapping[str, Any], owner: Owner, folder: Path) -> None:
    """What the environment has to know of the state of a cloud, and of its servers as its driver sees them."""
    source = Path(real["directory"]) / "cloud.db"
    if not source.exists():
        return
    copy_slice(source, folder / "cloud.db", owner)
    with opened(folder, real) as cloud:
        known = cloud.agents()
        states: Mapping[str, str] = {}
        if any((of.project, of.environment) == (owner.project, owner.environment) for _, of, _, _ in known):
            with closing(cloud_of(real, owner)) as found:
                states = {server.id: server.status for server in found.servers(owner) if server.status in OFF}
        _recorder(cloud).adopt(known, states)


def _ask(real: Mapping[str, Any], owner: Owner, folder: Path) -> tuple[Names, Collection[str]]:
    """Makes the stacks of another cloud in the recorder, with the ids that they have there; gives what it has under
    its names, and these ids.

    Whoever asks the real cloud for a thing by its id asks the recorder by the same one. What the templates name was
    there when they were pushed, whatever the cloud has now.
    """
    ids: dict[str, str] = {}
    outputs: list[tuple[str, str, Mapping[str, Any]]] = []
    with closing(cloud_of(real, owner)) as theirs:
        made = _made(theirs, owner)
        own = {id for resources in made.values() for id in resources.values()}
        names = Names(lambda: cloud_of(real, owner), owner, own, there=True)
        with closing(_open(folder, real, names)) as cloud:
            for (region, name), state in _stacks(theirs, owner):
                parts = parts_of(state.template, state.parameters)
                put = [[*part, value] for part, value in parts.items()]
                pushed = cloud.push_stack(owner, region, name, StackChange(digest_of(parts), None, put, []))
                ids |= _same(pushed.outputs, state.outputs)
                outputs.append((region, name, state.outputs))
            for place, states in cloud.resources_of(owner).items():
                physical = made.get(_shown(*place), {})
                ids |= {one.id: physical[one.name] for one in states if _ID.fullmatch(physical.get(one.name, ""))}
            found = {server.id: server for server in theirs.servers(owner)}
            mine = _counterparts(cloud.servers(owner), found, ids)
            ids |= {id: server.id for id, server in mine.items() if server is not None}
            own |= found.keys()
            ids |= _derived(ids, {server.id for server in cloud.servers(owner)})
    for file in ("cloud.db", "record.db"):
        _rename(folder / file, ids)
    with closing(sqlite3.connect(folder / "cloud.db")) as database, database:
        for region, name, told in outputs:
            of = "stack = (SELECT id FROM stacks WHERE project = ? AND region = ? AND name = ? AND parent = '')"
            rows = [(json.dumps(value), key, owner.project, region, name) for key, value in told.items()]
            database.executemany(f"UPDATE outputs SET value = ? WHERE key = ? AND {of}", rows)
        database.executemany("DELETE FROM records WHERE id = ?", [(id,) for id in names.outlived])
    with opened(folder, real) as cloud:
        # Such a cloud starts nothing by itself when a stack is pushed, whatever its servers are.
        off = [ids.get(id, id) for id, server in mine.items() if server is None or server.status in OFF]
        _recorder(cloud).adopt(cloud.agents(), dict.fromkeys(off, "SHUTOFF"))
    return Names(lambda: cloud_of(real, owner), owner, own, listed=names.listed), own


def _counterparts(
    mine: Sequence[ServerState], theirs: Mapping[str, ServerState], ids: Mapping[str, str]
) -> dict[str, ServerState | None]:
    """Id of a server of the recorder -> the same server of the real cloud: by the id of its resource, where that is
    told, else by its name, which several servers of an OpenStack may have."""
    found = {server.id: theirs.get(ids.get(server.id, "")) for server in mine}
    taken = {server.id for server in found.values() if server is not None}
    named: dict[tuple[str, str], list[ServerState]] = {}
    for server in theirs.values():
        if server.id not in taken:
            named.setdefault((server.region, server.name), []).append(server)
    for server in mine:
        rest = named.get((server.region, server.name))
        if found[server.id] is None and rest:
            found[server.id] = rest.pop(0)
    return found


def _made(cloud: Cloud, owner: Owner) -> dict[str, dict[str, str]]:
    """Of each stack, as it is shown: name of a resource -> id of what was made, where the cloud tells."""
    found: dict[str, dict[str, str]] = {}
    stacks: dict[str | None, str] = {}
    for one in cloud.resources(owner) if isinstance(cloud, ShowsResources) else ():
        if one.owner is None:
            stacks[one.id] = one.name
        elif one.owner in stacks and one.physical:
            found.setdefault(stacks[one.owner], {})[one.name] = one.physical
    return found


def _shown(region: str, name: str) -> str:
    """What `ShowsResources` calls a stack."""
    return f"{name} ({region})" if region else name


def _derived(ids: Mapping[str, str], servers: Collection[str]) -> dict[str, str]:
    """Ids of records that follow from these."""
    found = {fixed_id("port", old): fixed_id("port", new) for old, new in ids.items()}
    for old in servers & ids.keys():
        found[user_data_id(old)] = user_data_id(ids[old])
        found |= {auto_port_id(old, place): auto_port_id(ids[old], place) for place in range(_MOST_PORTS)}
    return found


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
        database.create_function("renamed", 1, lambda text: _ID.sub(lambda id: ids.get(id[0], id[0]), text))
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables if ids else ():
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})") if row[2] == "TEXT"]
            for column in columns:
                database.execute(f"UPDATE {table} SET {column} = renamed({column}) WHERE {column} LIKE '%-%-%-%-%'")


def _recorder(cloud: StackCloud) -> Recorder:
    assert isinstance(cloud.driver, Recorder)
    return cloud.driver
