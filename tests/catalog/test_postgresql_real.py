"""PostgreSQL on real servers: used by clients, moved, killed, failed over, backed up, restored, upgraded, and gone."""

from __future__ import annotations

import hashlib
import json
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.catalog import life
from tests.catalog.life import told, within
from tests.catalog.postgresql_client import Looker, Reader, Writer, ask, primaries
from tests.cli.deploykit import Place

POSTGRESQL = Path(__file__).parents[2] / "catalog" / "PostgreSQL"
OLD, NEW = "first-Password-1", "second-Password-2"
#: Minor versions that Debian 12 has at the same time: of its release, and of its security updates.
RELEASES = ("15.18-0+deb12u1", "15.20-0+deb12u1")


def deploy(place: Place, version: str, *chosen: str) -> str:
    """What a deployment of the environment 'db' says."""
    command = ["deploy", str(POSTGRESQL / version), "--env", "db", "--app", "db"]
    return place.ok(*command, *(word for one in chosen for word in ("--set", one))).output


def action(place: Place, name: str, *more: str) -> Any:
    return life.action(place, "db", "db", name, *more)


def hosts(place: Place) -> list[str]:
    """Addresses of pg-1, pg-2…"""
    return [address for _, address in sorted(life.hosts(place, "db").items())]


def checksum(host: str, user: str, password: str) -> str:
    """Of all that is stored in a table."""
    rows = ask(host, user, password, "SELECT number, word FROM words ORDER BY number")
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


@pytest.mark.campaign
@pytest.mark.timeout(2400)  # a dozen commands and packages of the mirror, on a machine that does other things
def test_an_upgrade_and_its_way_back(place: Place) -> None:
    chosen = [
        "name=pg",
        f"password={OLD}",
        "replicaCount=1",
        "dataSize=2",
        "server.flavor=m1.small",
        "sharedBuffers=32",
    ]
    place.ok("env", "create", "db", "--driver", "nspawn")
    deploy(place, "1.0.0", *chosen, f"release={RELEASES[0]}")
    first, second = both = hosts(place)
    ask(first, "app", OLD, "CREATE TABLE words (number int PRIMARY KEY, word text)")
    ask(first, "app", OLD, "INSERT INTO words SELECT n, 'w\u00f6rd ' || n FROM generate_series(1, 2000) n")
    ask(first, "app", OLD, "CREATE TABLE rows (number int PRIMARY KEY)")
    before = checksum(first, "app", OLD)
    assert ask(first, "app", OLD, "SHOW server_version")[0][0].startswith("15.18 ")
    time_of = time.monotonic() + 10
    while checksum(second, "app", OLD) != before:
        assert time.monotonic() < time_of
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        ask(second, "app", OLD, "INSERT INTO words VALUES (0, 'x')")
    with pytest.raises(psycopg.OperationalError, match="authentication failed"):
        ask(first, "app", NEW, "SELECT 1")

    # Nothing to do.
    again = deploy(place, "1.0.0")
    assert "the primary" not in again and "replica of" not in again and "Installing" not in again, again

    # To the next version of the package, and of PostgreSQL, while a client writes.
    with Writer(both, lambda: ("app", OLD)) as writer:
        place.ok("upgrade", "db", "--to", str(POSTGRESQL / "1.1.0"), "--hold", "1h")
        upgraded, since = writer.pause(), time.monotonic()
        deploy(place, "1.1.0", f"release={RELEASES[1]}")
        updated = writer.pause(since)
    told(f"upgrade 1.0.0 to 1.1.0: {upgraded:.2f} s without a write; to {RELEASES[1]}: {updated:.2f} s")
    assert not writer.lost(both) and len(writer.written) > 500
    assert max(upgraded, updated) <= within(5), (upgraded, updated)
    assert ask(first, "app", OLD, "SHOW server_version")[0][0].startswith("15.20 ") and hosts(place) == both
    assert {row["version"] for row in action(place, "status")} == {"15.20"}
    with urllib.request.urlopen(f"http://{second}:9187/metrics", timeout=30) as metrics:
        assert "pg_up 1" in metrics.read().decode()
    assert checksum(first, "app", OLD) == before

    # Taken back, it is what it was, but for what volumes have.
    place.ok("env", "undo", "db", "--yes")
    assert ask(first, "app", OLD, "SHOW server_version")[0][0].startswith("15.18 ")
    assert checksum(first, "app", OLD) == before
    ask(first, "app", OLD, "INSERT INTO words VALUES (0, 'x')")
    life.destroy(place, "db")


@pytest.mark.campaign
@pytest.mark.timeout(2400)  # two dozen commands and packages of the mirror, on a machine that does other things
def test_a_life(place: Place) -> None:
    chosen = ["name=pg", f"password={OLD}", "replicaCount=1", "dataSize=2", "server.flavor=m1.small", "memory=32"]
    place.ok("env", "create", "db", "--driver", "nspawn")
    deploy(place, "1.1.0", *chosen, "exporter=false")
    first, second = both = hosts(place)
    ask(first, "app", OLD, "CREATE TABLE words (number int PRIMARY KEY, word text)")
    ask(first, "app", OLD, "INSERT INTO words SELECT n, 'w\u00f6rd ' || n FROM generate_series(1, 2000) n")
    ask(first, "app", OLD, "CREATE TABLE rows (number int PRIMARY KEY)")
    before = checksum(first, "app", OLD)

    made = action(place, "backup")
    assert [row["name"] for row in action(place, "listBackups")] == [made["name"]]

    # No row that was confirmed is lost by moving to the other server, and nobody is refused for long.
    with Writer(both, lambda: ("app", OLD)) as writer:
        since = time.monotonic()
        assert action(place, "switchOver") == "pg-2"
        moved = writer.pause(since)
    told(f"switch over: {moved:.2f} s without a write")
    assert not writer.lost(both) and checksum(second, "app", OLD) == before
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        ask(first, "app", OLD, "INSERT INTO words VALUES (0, 'x')")

    # Fifty clients a second connect while the password changes, and take up the new one half way: none is refused.
    login = ["app", OLD]
    with Reader(second, lambda: (login[0], login[1])) as reader:
        user = action(place, "rotatePassword", "--arg", f"password={NEW}")["user"]
        assert ask(second, "app", OLD, "SELECT 1") == ask(second, user, NEW, "SELECT 1")
        login[:] = [user, NEW]
        time.sleep(1)
        action(place, "finishRotation")
        time.sleep(1)
    told(f"rotation: {reader.answered} questions answered, {len(reader.refused)} refused")
    assert reader.refused == [] and reader.answered > 100
    with pytest.raises(psycopg.OperationalError, match="authentication failed"):
        ask(second, "app", OLD, "SELECT 1")
    assert NEW not in place.ok("env", "log", "db").output + place.ok("env", "show", "db").output

    # People and databases of their own.
    place.ok(
        "env",
        "action",
        "db",
        "addUser",
        "--app",
        "db",
        "--arg",
        "user=anna",
        "--arg",
        f"password={OLD}",
        "--arg",
        "readOnly=true",
    )
    assert ask(second, "anna", OLD, "SELECT count(*) FROM words") == [(2000,)]
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        ask(second, "anna", OLD, "DELETE FROM words")
    action(place, "addDatabase", "--arg", "name=news")
    assert {row["name"] for row in action(place, "listDatabases")} == {"app", "news"}
    place.ok("env", "action", "db", "removeDatabase", "--app", "db", "--arg", "name=news")
    place.ok("env", "action", "db", "removeUser", "--app", "db", "--arg", "user=anna")
    with pytest.raises(psycopg.OperationalError, match="authentication failed"):
        ask(second, "anna", OLD, "SELECT 1")

    # A killed primary is told, and comes back with what it had.
    life.kill(place, "pg-2")
    assert "has ended by itself" in place.ok("env", "health", "db").stdout
    place.ok("env", "deploy", "db")
    assert checksum(second, user, NEW) == before
    assert {row["role"] for row in action(place, "status")} == {"primary", "replica"}

    # What is destroyed comes back from a backup, and from nothing else; a password that was refused does not come back.
    # Backups lie where the primary was then.
    action(place, "switchOver", "--arg", "server=pg-1")
    ask(both, user, NEW, "DROP TABLE words")
    ask(both, user, NEW, "CREATE TABLE words (number int PRIMARY KEY, word text)")
    assert checksum(first, user, NEW) != before
    assert action(place, "restoreBackup")["name"] == made["name"]
    assert checksum(first, user, NEW) == before
    with pytest.raises(psycopg.OperationalError, match="authentication failed"):
        ask(first, "app", OLD, "SELECT 1")
    life.destroy(place, "db")


@pytest.mark.campaign
@pytest.mark.timeout(1500)
def test_a_killed_primary_loses_no_row(place: Place) -> None:
    """Fifty rows a second, of which each that was confirmed is there afterwards; two primaries at no time."""
    chosen = ["name=pg", f"password={OLD}", "replicaCount=2", "synchronous=true", "server.flavor=m1.small", "memory=32"]
    place.ok("env", "create", "db", "--driver", "nspawn")
    deploy(place, "1.1.0", *chosen, "exporter=false")
    there = hosts(place)
    ask(there, "app", OLD, "CREATE TABLE rows (number int PRIMARY KEY)")
    login = ("app", OLD)
    lookers = [Looker(host, *login) for host in there]
    with ExitStack() as block:
        for one in lookers:
            block.enter_context(one)
        with Writer(there, lambda: login) as writer:
            time.sleep(3)
            life.kill(place, "pg-1")
            since = time.monotonic()
            name = action(place, "failOver")
            end = time.monotonic() + 60
            while not any(at > since + 1 for at in writer.written.values()) and time.monotonic() < end:
                time.sleep(0.1)
            time.sleep(2)
            pause = writer.pause()
        assert name in ("pg-2", "pg-3") and not writer.lost(there)
        told(f"primary killed: {pause:.2f} s without a write, {len(writer.written)} rows confirmed, none lost")
        assert pause <= within(30), pause

        # Whoever starts the old primary, it does not become one beside the new one. A deployment makes a replica of it.
        place.ok("env", "start", "db")
        end = time.monotonic() + 60
        while f"not started: {name} is the primary" not in place.ok("logs", "db", "pg-1", "--journal").output:
            assert time.monotonic() < end
        with Writer(there, lambda: login, 1_000_000) as writer:
            said = place.ok("env", "deploy", "db").output
            rejoined = writer.pause()
        assert not writer.lost(there)
        told(f"old primary made a replica: {rejoined:.2f} s without a write")
        # A replica that was copied anew is a follower once it has caught up with what was written meanwhile.
        others = sorted({"pg-1", "pg-2", "pg-3"} - {name})
        end = time.monotonic() + within(60)
        while True:
            now = {row["name"]: row for row in action(place, "status")}
            assert now[name]["role"] == "primary", now
            if now["pg-1"]["linked"] and sorted(now[name]["followers"]) == others:
                break
            assert time.monotonic() < end, (now, said, place.ok("logs", "db", "pg-1", "--journal").output[-6000:])
            time.sleep(1)
    order = primaries(lookers)
    assert len(order) == 2 and order[0] == there[0], order
    told(f"looked {sum(len(one.answers) for one in lookers)} times, primaries one after the other: {order}")
    life.destroy(place, "db")
