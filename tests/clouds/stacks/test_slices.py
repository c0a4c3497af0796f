"""What a plan gets of the state of a cloud."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from vetro.clouds.interface import Owner
from vetro.clouds.stacks import reservations
from vetro.clouds.stacks.state.database import Database
from vetro.clouds.stacks.state.inventory import Inventory
from vetro.clouds.stacks.state.rows import Rows
from vetro.clouds.stacks.state.slices import Slices, copy_slice, slice_of
from vetro.engine.planning.memory import packed

MINE = Owner("p", "e1", "u")


def fill(database: Database, project: str, environment: str) -> None:
    """An environment with a server in a network of its own, and a stack."""
    things = Inventory(database, "r", project)
    own = f"{project}-{environment}"
    with database.transaction():
        things.save("network", {"id": f"net-{own}", "name": f"net-{own}"}, environment=environment)
        things.save("subnet", {"id": f"sub-{own}", "name": ""}, environment=environment, parent=f"net-{own}")
        server = {"id": f"srv-{own}", "name": f"srv-{own}", "secret": f"canary-{own}"}
        things.save("server", server, environment=environment)
        things.save("port", {"id": f"port-{own}", "name": ""}, environment=environment, parent=f"net-{own}")
        place = len(database.rows("SELECT 1 FROM leases"))
        database.run("INSERT INTO addresses VALUES ('shared', ?, ?)", (place, f"port-{own}"))
        database.run("INSERT INTO addresses VALUES (?, 5, ?)", (f"sub-{own}", f"port-{own}"))
        database.run("INSERT INTO leases VALUES (?, ?, ?)", (f"10.0.{place}.0/24", project, f"sub-{own}"))
        database.run("INSERT INTO queues VALUES (?, ?, ?)", (f"q-{own}", project, f"srv-{own}"))
        row = (f"st-{own}", project, environment, "u", "r", f"stack-{own}", "", "OK", "", "", 0, 0, 1)
        database.run(f"INSERT INTO stacks VALUES ({', '.join('?' * len(row))})", row)
        database.run("INSERT INTO parts VALUES (?, 'resources', 'k', ?)", (f"st-{own}", f'"canary-{own}"'))
        database.run("INSERT INTO outputs VALUES (?, 'k', '1')", (f"st-{own}",))
        reservations.reserve(database, {}, project, f"st-{own}", {f"srv-{own}": {"servers": 1, "memory": 512}})


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "cloud.db"
    with closing(Database(path)) as database:
        common = Inventory(database, "r", None)
        common.save("network", {"id": "ext", "name": "ext"}, shared=True)
        common.save("subnet", {"id": "shared", "name": "shared"}, parent="ext", shared=True)
        for project, environment in (("p", "e1"), ("p", "e2"), ("p", "e3"), ("other", "e4")):
            fill(database, project, environment)
        yield path


def everything(path: Path) -> str:
    with closing(sqlite3.connect(path)) as database:
        return "\n".join(database.iterdump())


def test_all_of_the_environment_and_of_others_only_what_is_taken(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "slice.db"
    copy_slice(source, target, MINE)
    text = everything(target)
    assert "canary-p-e1" in text
    assert not any(f"canary-{own}" in text for own in ("p-e2", "p-e3", "other-e4"))
    assert target.stat().st_mode & 0o777 == 0o600
    with closing(Database(target)) as mine, closing(Database(source)) as whole:
        rows = Rows(mine)
        assert [stack.name for stack in rows.of_owner(MINE)] == ["stack-p-e1"]
        assert rows.parts("st-p-e1") == Rows(whole).parts("st-p-e1") and not rows.parts("st-p-e2")
        # Names of stacks of the project are taken, networks of the project can be named, addresses are in use.
        assert rows.find("p", "r", "stack-p-e2") is not None and rows.find("other", "r", "stack-other-e4") is None
        things = Inventory(mine, "r", "p", "e1")
        assert things.find("network", "net-p-e2") and things.find("network", "ext")
        assert things.find("network", "net-other-e4") is None and things.find("server", "srv-p-e2") is None
        shared = "SELECT place FROM addresses WHERE subnet = 'shared' ORDER BY place"
        assert mine.rows(shared) == whole.rows(shared) and len(mine.rows(shared)) == 4
        assert mine.rows("SELECT cidr FROM leases") == whole.rows("SELECT cidr FROM leases")
        # The project has as much as ever, and gives back what is its own.
        assert reservations.used(mine, "p") == reservations.used(whole, "p") == {"servers": 3, "memory": 1536}
        reservations.give_back(mine, "srv-p-e1")
        assert reservations.used(mine, "p") == {"servers": 2, "memory": 1024}


def test_ports_of_others_in_networks_of_the_environment_come_along(source: Path, tmp_path: Path) -> None:
    with closing(Database(source)) as database:
        Inventory(database, "r", "p").save("port", {"id": "guest", "name": ""}, environment="e2", parent="net-p-e1")
    copy_slice(source, tmp_path / "slice.db", MINE)
    with closing(Database(tmp_path / "slice.db")) as mine:
        ports = Inventory(mine, "r", "p").all("port", parent="net-p-e1")
    assert {port["id"] for port in ports} == {"port-p-e1", "guest"}


@pytest.mark.parametrize("change", ["PRAGMA user_version = 1", "DROP TABLE reserved", "CREATE TABLE later (x)"])
def test_files_of_other_versions_are_copied_as_a_whole(source: Path, tmp_path: Path, change: str) -> None:
    with closing(sqlite3.connect(source)) as database:
        database.execute(change)
        database.commit()
    target = tmp_path / "slice.db"
    copy_slice(source, target, MINE)
    assert "canary-other-e4" in everything(target)


def test_size_does_not_grow_with_other_environments(tmp_path: Path) -> None:
    """Of other projects it has a few bytes for each address and block."""
    sizes = {}
    for count in (10, 100):
        source = tmp_path / f"cloud-{count}.db"
        with closing(Database(source)) as database, database.transaction():
            for number in range(count):
                fill(database, "p" if number == 0 else f"p{number}", "e1")
            database.run("UPDATE parts SET value = ?", ('"' + "x" * 20_000 + '"',))
        copy_slice(source, tmp_path / f"slice-{count}.db", MINE)
        sizes[count] = (tmp_path / f"slice-{count}.db").stat().st_size
    assert sizes[100] - sizes[10] < 64 << 10


def rows_of(state: bytes) -> dict[str, list[tuple[object, ...]]]:
    """All rows of all tables, with their places where lists are in the order of these."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(state)
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            table: database.execute(
                "SELECT rowid, * FROM records ORDER BY rowid" if table == "records" else f"SELECT * FROM {table}"
            ).fetchall()
            for table in tables
        }


def test_slices_of_many_are_those_of_each_also_while_somebody_writes(source: Path) -> None:
    owners = [Owner(project, f"e{number}") for number in range(1, 7) for project in ("p", "other")]
    with closing(Slices(source)) as slices, closing(Database(source)) as database:
        for step in range(3):
            for owner in owners:
                found = rows_of(slices.of(owner))
                assert {key: sorted(rows) if key != "records" else rows for key, rows in found.items()} == {
                    key: sorted(rows) if key != "records" else rows
                    for key, rows in rows_of(slice_of(source, owner)).items()
                }, owner
            if step == 0:
                fill(database, "p", "e5")
                Inventory(database, "r", "p").save("port", {"id": "g", "name": ""}, environment="e2", parent="net-p-e1")
            else:
                Inventory(database, "r", "p").delete("net-p-e2")
                reservations.give_back(database, "srv-p-e3")


def test_slices_of_one_project_differ_in_few_pages(source: Path) -> None:
    with closing(Database(source)) as database:
        for number in range(5, 155):
            fill(database, "p", f"e{number}")
    with closing(Slices(source)) as slices:
        first, second = slices.of(MINE), slices.of(Owner("p", "e60"))
    sent = len(json.dumps(packed(second, first)))
    assert len(second) > 200_000 > 8 * sent, (len(second), sent)
