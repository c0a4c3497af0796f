"""An environment comes back as it was: rows, servers, networks, addresses, also when each step is broken off."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.clouds.stacks.world import OWNER, World, hot
from tests.support.fuzzing import EVERYTHING
from vetro.clouds.drivers.base import DriverError, SnapshotMethod
from vetro.clouds.interface import Conflict, NotFound, Snapshots, Taken
from vetro.clouds.quotas import QuotaExceeded
from vetro.clouds.stacks.settings import StackSettings

POOL = StackSettings().external_network

OTHER = replace(OWNER, environment="Env2")
#: What no snapshot brings back: notes of what was done, and counters.
_TABLES = ("records", "addresses", "queues", "leases", "stacks", "parts", "resources", "outputs", "reserved")


def server(name: str, number: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "type": "OS::Nova::Server",
        "properties": {"name": name, "image": "debian-12-murano", "flavor": "m1.small",
                       "networks": [{"network": {"get_resource": "net"}}],
                       "user_data": f"#!/bin/sh\ninput_queue = e{OWNER.environment.lower()}-h{number}\n", **more},
    }  # fmt: skip


def floating(port: str) -> dict[str, Any]:
    return {"type": "OS::Neutron::FloatingIP",
            "properties": {"floating_network": POOL, "port_id": {"get_resource": port}}}  # fmt: skip


NETWORK = {
    "net": {"type": "OS::Neutron::Net", "properties": {"name": "inner"}},
    "subnet": {
        "type": "OS::Neutron::Subnet",
        "properties": {"network": {"get_resource": "net"}, "cidr": "10.0.7.0/24"},
    },
}
FIRST = {
    **NETWORK,
    "group": {
        "type": "OS::Neutron::SecurityGroup",
        "properties": {"rules": [{"protocol": "tcp", "port_range_min": 80, "port_range_max": 80}]},
    },
    "port": {
        "type": "OS::Neutron::Port",
        "properties": {"network": {"get_resource": "net"}, "security_groups": [{"get_resource": "group"}]},
    },
    "ip": floating("port"),
    "data": {"type": "OS::Cinder::Volume", "properties": {"size": 2, "name": "data"}},
    "web": server("web", networks=[{"port": {"get_resource": "port"}}]),
    "db": server("db", 2),
    "gone": server("gone", 3),
}  # fmt: skip
#: One server replaced, one changed, one removed, one added; the network changed, another one added, the address moved.
SECOND = {
    **NETWORK,
    "second": {"type": "OS::Neutron::Net", "properties": {"name": "outer"}},
    "other": {"type": "OS::Neutron::Subnet", "properties": {"network": {"get_resource": "second"},
              "cidr": "10.0.8.0/24"}},
    "port": {"type": "OS::Neutron::Port", "properties": {"network": {"get_resource": "net"}}},
    "ip2": floating("port"),
    "web": server("web", networks=[{"port": {"get_resource": "port"}}], user_data="#!/bin/sh\nanother\n"),
    "db": server("database", 2, metadata={"a": "b"}),
    "new": server("new", 4, networks=[{"network": {"get_resource": "second"}}]),
}  # fmt: skip
OUTPUTS = {"outputs": {"address": {"value": {"get_attr": ["web", "first_address"]}}}}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def made(world: World) -> None:
    world.push(hot(FIRST, **OUTPUTS))
    for id in sorted(one.id for one in world.cloud.servers(OWNER)):
        world.driver.put_file(id, "/etc/kept", id.encode())


def seen(world: World) -> Any:
    """All that there is of the environment and of its driver."""
    rows = {}
    for table in _TABLES:
        columns = [row[1] for row in world.cloud._database.rows(f"PRAGMA table_info({table})")]
        wanted = ", ".join(column for column in columns if column != "generation")
        rows[table] = sorted(world.cloud._database.rows(f"SELECT {wanted} FROM {table}"), key=str)
    store = world.driver.store
    driver = {
        "servers": store.rows(
            "SELECT id, name, queue, status, spec FROM servers WHERE status != 'DELETED' ORDER BY id"
        ),
        "files": store.rows("SELECT server, path, data FROM files ORDER BY 1, 2"),
        "things": [(kind, id, json.loads(body)) for kind, id, body in store.rows("SELECT * FROM things ORDER BY 1, 2")],
    }
    return rows, driver, [replace(one, updated=0) for one in world.cloud.stacks(OWNER)], world.cloud.servers(OWNER)


def change(world: World) -> None:
    """Everything that an update may do."""
    world.push(hot(SECOND, outputs={"number": {"value": 1}}))
    for one in world.cloud.servers(OWNER):
        world.driver.put_file(one.id, "/etc/kept", b"another")
    world.push(hot({"data": FIRST["data"]}), name="more")


def test_all_is_as_it_was(world: World) -> None:
    made(world)
    assert isinstance(world.cloud, Snapshots)
    before = seen(world)
    assert all(before[0][table] for table in _TABLES), "there is something of everything"
    report = world.cloud.snapshot_report(OWNER)
    assert {(one.kind, one.name, one.method, one.why) for one in report} == {
        ("server", "web", "rows", ""), ("server", "db", "rows", ""), ("server", "gone", "rows", ""),
        ("volume", "data", "kept", ""),
    }  # fmt: skip
    held = world.cloud.snapshot(OWNER, "s1")
    assert {one.name for one in held} == {"web", "db", "gone", "data"}
    assert world.cloud.snapshot(OWNER, "s1") == held, "it is made once"
    assert seen(world) == before, "nothing changes by it"
    for _ in range(2):  # a snapshot can be gone back to more than once
        change(world)
        assert {one.name for one in world.cloud.servers(OWNER)} == {"web", "database", "new"}
        world.cloud.restore(OWNER, "s1")
        assert seen(world) == before
        world.reopen()
        world.parts = {}
        assert seen(world) == before
    world.cloud.restore(OWNER, "s1")
    assert seen(world) == before
    world.cloud.drop(OWNER, "s1")
    assert seen(world) == before and world.count("snapshot_rows") == world.count("snapshots") == 0
    assert world.driver.store.rows("SELECT * FROM snapshots") == []
    # A remembered stack is the restored one: nothing is pushed, and what is pushed begins there.
    world.push(hot(SECOND), whole=True)
    assert {one.name for one in world.cloud.servers(OWNER)} == {"web", "database", "new"}
    with pytest.raises(NotFound, match="no snapshot 's1'"):
        world.cloud.restore(OWNER, "s1")
    world.cloud.drop(OWNER, "s1")


def test_the_update_is_kept_and_what_was_held_goes(world: World) -> None:
    made(world)
    world.cloud.snapshot(OWNER, "s1")
    old = {one.name: one.id for one in world.cloud.servers(OWNER)}
    change(world)
    after = seen(world)
    statuses = world.driver.statuses([old["web"], old["gone"]])
    assert set(statuses.values()) == {"SHUTOFF"}, "they are switched off"
    assert world.driver.spec(old["gone"])["nics"] == [], "and on no network"
    assert world.cloud.sweep() == [], "nobody takes them for what a crash left"
    used = world.cloud.used(OWNER.project)
    assert (used["servers"], used["addresses"], used["volumes"]) == (5, 2, 2), "they count"
    world.cloud.drop(OWNER, "s1")
    used = world.cloud.used(OWNER.project)
    assert (used["servers"], used["addresses"], used["volumes"]) == (3, 1, 1)
    assert dict(world.driver.statuses([old["web"], old["gone"]])) == {}
    kept, now = {row[0] for row in after[0]["records"]}, {row[0] for row in seen(world)[0]["records"]}
    assert kept == now
    assert len(world.driver.things("volume")) == 1


def test_servers_that_were_off_stay_off(world: World) -> None:
    made(world)
    db = next(one.id for one in world.cloud.servers(OWNER) if one.name == "db")
    world.cloud.power(OWNER, db, "stop")
    before = seen(world)
    world.cloud.snapshot(OWNER, "s1")
    world.cloud.power(OWNER, db, "start")
    world.cloud.restore(OWNER, "s1")
    assert seen(world) == before


def test_a_deleted_stack_comes_back(world: World) -> None:
    made(world)
    before = seen(world)
    world.cloud.snapshot(OWNER, "s1")
    world.cloud.delete_stack(OWNER, "", "stack")
    assert world.cloud.servers(OWNER) == []
    with pytest.raises(Taken):
        world.parts.clear()
        world.push(hot({}), owner=OTHER)
    world.cloud.restore(OWNER, "s1")
    assert seen(world) == before
    world.cloud.delete_stack(OWNER, "", "stack")
    world.cloud.drop(OWNER, "s1")
    assert world.driver.statuses([id for (id,) in world.driver.store.rows("SELECT id FROM servers")]) == {}
    assert world.cloud.used(OWNER.project) == {}


def test_nobody_gets_what_a_snapshot_will_want_back(world: World) -> None:
    """Addresses of the pool and of shared networks, blocks of the plan, ids."""
    shared = {key: {**FIRST[key]} for key in ("ip",)}
    shared["ip"]["properties"] = {"floating_network": POOL}
    private = StackSettings().private_network
    shared["port"] = {"type": "OS::Neutron::Port", "properties": {"network": private}}
    world.push(hot({**shared, **NETWORK}))
    before = seen(world)
    addresses = {one["floating_ip_address"] for one in _records(world, "floatingip")}
    fixed = {
        ip["ip_address"]
        for one in _records(world, "port")
        if "router" not in one["device_owner"]
        for ip in one["fixed_ips"]
    }
    world.cloud.snapshot(OWNER, "s1")
    world.push(hot({}))
    for number in range(3):
        world.parts.pop(f"their{number}", None)
        world.push(hot({key: shared[key] for key in ("ip", "port")}), name=f"their{number}", owner=OTHER)
    assert not addresses & {one["floating_ip_address"] for one in _records(world, "floatingip")}
    assert not fixed & {
        ip["ip_address"]
        for one in _records(world, "port")
        if "router" not in one["device_owner"]
        for ip in one["fixed_ips"]
    }
    (address,) = addresses
    same = {"floating_network": POOL, "floating_ip_address": address}
    theirs = {"ip": {"type": "OS::Neutron::FloatingIP", "properties": same}}
    with pytest.raises(Exception, match="kept for the snapshot"):
        world.push(hot(theirs), name="wanted", owner=OTHER)
    world.push(hot(theirs), name="mine")  # one's own update may have it
    stranger = replace(OWNER, project="stranger")
    world.push(hot(NETWORK), name="strange", owner=stranger)
    assert not world.cloud._database.rows("SELECT 1 FROM leases WHERE project = 'stranger'")
    world.cloud.restore(OWNER, "s1")
    others = {OTHER.environment, "stranger"}
    mine = {name: [row for row in rows if not others & set(row)] for name, rows in seen(world)[0].items()}
    assert [row for row in mine["records"] if OWNER.environment in row] == [
        row for row in before[0]["records"] if OWNER.environment in row
    ]
    assert set(before[0]["addresses"]) <= set(mine["addresses"]) and before[0]["leases"] == mine["leases"]


def _records(world: World, kind: str) -> list[Any]:
    return [
        json.loads(body) for (body,) in world.cloud._database.rows("SELECT body FROM records WHERE kind = ?", (kind,))
    ]


def test_other_owners_and_names_are_not_there(world: World) -> None:
    made(world)
    world.cloud.snapshot(OWNER, "s1")
    before = seen(world)
    for owner, name in ((OTHER, "s1"), (replace(OWNER, project="other"), "s1"), (OWNER, "s2")):
        with pytest.raises(NotFound):
            world.cloud.restore(owner, name)
        world.cloud.drop(owner, name)
    for name in ("", "../x", "a b", "x" * 200, None):
        for do in (world.cloud.snapshot, world.cloud.restore, world.cloud.drop):
            with pytest.raises(Exception, match="is no id"):
                do(OWNER, name)  # type: ignore[arg-type]
    with pytest.raises(Conflict, match="has the snapshot 's1' already"):
        world.cloud.snapshot(OWNER, "s2")
    assert world.cloud.snapshot(OTHER, "s1") == []
    world.cloud.restore(OTHER, "s1")
    world.cloud.drop(OTHER, "s1")
    assert seen(world) == before


def test_what_others_use_is_not_removed(world: World) -> None:
    made(world)
    world.cloud.snapshot(OWNER, "s1")
    change(world)
    world.push(
        hot({"port": {"type": "OS::Neutron::Port", "properties": {"network": "outer"}}}), name="their", owner=OTHER
    )
    before = seen(world)
    with pytest.raises(Conflict, match="another environment of the project uses the network 'outer'"):
        world.cloud.restore(OWNER, "s1")
    assert seen(world) == before
    world.cloud.delete_stack(OTHER, "", "their")
    world.cloud.restore(OWNER, "s1")
    assert {one.name for one in world.cloud.servers(OWNER)} == {"web", "db", "gone"}


def test_a_quota_is_not_exceeded_by_what_is_held(world: World, tmp_path: Path) -> None:
    small = World(tmp_path / "small", quotas={"servers": 4})
    made(small)
    small.cloud.snapshot(OWNER, "s1")
    with pytest.raises(QuotaExceeded, match="Quota 'servers'"):
        small.push(hot({**SECOND, "second new": SECOND["new"], "third": SECOND["new"]}))
    small.cloud.restore(OWNER, "s1")
    small.cloud.drop(OWNER, "s1")


def test_copies_count_for_the_quota_of_disks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a snapshot may take is reserved before anything is stopped, and given back when it is dropped."""
    world = World(tmp_path)
    made(world)
    used = world.cloud.used(OWNER.project)["disk"]
    before = seen(world)
    copies = lambda servers: dict.fromkeys(servers, SnapshotMethod("copy", 1.0, 5, copies=True))  # noqa: E731
    monkeypatch.setattr(world.driver, "snapshot_methods", copies)
    monkeypatch.setitem(world.cloud._services.quotas, "disk", used * 2 - 1)
    with pytest.raises(QuotaExceeded, match="Quota 'disk'"):
        world.cloud.snapshot(OWNER, "s1")
    assert seen(world) == before and world.count("snapshots") == 0
    monkeypatch.setitem(world.cloud._services.quotas, "disk", used * 2)
    assert {one.method for one in world.cloud.snapshot(OWNER, "s1") if one.kind == "server"} == {"copy"}
    assert world.cloud.used(OWNER.project)["disk"] == used * 2
    world.cloud.restore(OWNER, "s1")
    assert world.cloud.used(OWNER.project)["disk"] == used * 2
    world.cloud.drop(OWNER, "s1")
    assert world.cloud.used(OWNER.project)["disk"] == used and seen(world) == before


class Killed(BaseException):
    """The process ends here."""


def interrupted(world: World, monkeypatch: pytest.MonkeyPatch, work: Callable[[], object], after: int) -> bool:
    """Ends the process at the ``after``-th statement that writes, of cloud or driver; whether it came so far.

    What a process that was killed had not committed is gone.
    """
    count = 0
    with monkeypatch.context() as patch:
        for file in (world.cloud._database, world.driver.store):
            for name in ("run", "run_many"):
                real = getattr(file, name)

                def counted(*args: Any, real: Any = real, **more: Any) -> Any:
                    nonlocal count
                    count += 1
                    if count > after:
                        raise Killed
                    return real(*args, **more)

                patch.setattr(file, name, counted)
        try:
            work()
        except Killed:
            return True
    return False


def kills(world: World, monkeypatch: pytest.MonkeyPatch, step: str, then: Callable[[], None]) -> None:
    """Ends the process at every writing statement of a step; ``then`` has to find it can be finished."""
    place = 0
    while interrupted(world, monkeypatch, lambda: getattr(world.cloud, step)(OWNER, "s1"), place):
        place += 1
        world.reopen()
        if world.cloud._database.row("SELECT 1 FROM snapshots WHERE state != 'open'") is not None:
            with pytest.raises(Conflict, match="finish it first"):
                world.cloud.heal(OWNER)
        if EVERYTHING or place % 29 == 1:
            getattr(world.cloud, step)(OWNER, "s1")
            then()
    assert place > 10
    then()


def test_a_snapshot_that_is_broken_off_is_finished(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    made(world)
    before = seen(world)

    def then() -> None:
        assert seen(world) == before
        world.parts = {}
        change(world)
        world.cloud.restore(OWNER, "s1")
        assert seen(world) == before
        world.cloud.drop(OWNER, "s1")

    kills(world, monkeypatch, "snapshot", then)


def test_a_restore_that_is_broken_off_is_finished(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    made(world)
    before = seen(world)
    world.cloud.snapshot(OWNER, "s1")
    change(world)

    def then() -> None:
        assert seen(world) == before
        world.parts = {}
        change(world)

    kills(world, monkeypatch, "restore", then)


def test_a_drop_that_is_broken_off_is_finished(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one of a snapshot that was never finished."""
    made(world)

    def begin() -> None:
        world.parts = {}
        world.push(hot(FIRST, **OUTPUTS), whole=True)
        world.cloud.snapshot(OWNER, "s1")
        change(world)

    def then() -> None:
        names = [(one.name, one.status) for one in world.cloud.servers(OWNER)]
        assert sorted(names) == [("database", "ACTIVE"), ("new", "ACTIVE"), ("web", "ACTIVE")]
        assert len(world.driver.store.rows("SELECT 1 FROM servers WHERE status != 'DELETED'")) == 3
        assert world.cloud.used(OWNER.project)["servers"] == 3
        assert world.count("snapshots") == world.count("snapshot_rows") == 0
        begin()

    begin()
    kills(world, monkeypatch, "drop", then)
    world.cloud.drop(OWNER, "s1")
    names = {one.name for one in world.cloud.servers(OWNER)}
    for place in range(0, 60, 1 if EVERYTHING else 13):
        if interrupted(world, monkeypatch, lambda: world.cloud.snapshot(OWNER, "s1"), place):
            world.reopen()
            world.cloud.drop(OWNER, "s1")
        assert {one.name for one in world.cloud.servers(OWNER) if one.status == "ACTIVE"} == names
        world.cloud.drop(OWNER, "s1")
        assert world.driver.store.rows("SELECT * FROM snapshots") == []


def test_a_snapshot_that_fails_leaves_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    made(world)
    before = seen(world)

    def fails(server: str, name: str) -> None:
        raise DriverError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(world.driver, "take_snapshot", fails)
        with pytest.raises(DriverError, match="no room"):
            world.cloud.snapshot(OWNER, "s1")
    assert seen(world) == before and world.count("snapshots") == 0
    world.cloud.snapshot(OWNER, "s2")
