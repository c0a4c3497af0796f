"""Memcached on real servers: used by a client, with another password, upgraded, killed, emptied, scaled, and gone."""

from __future__ import annotations

import hashlib
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.catalog import life
from tests.catalog.life import told
from tests.catalog.memcached_client import Connection, Refused, server_of
from tests.catalog.steady import Steady
from tests.cli.deploykit import Place

MEMCACHED = Path(__file__).parents[2] / "catalog" / "Memcached"
OLD, NEW = "first-Password-1", "second-Password-2"
KEYS = [f"key-{number}" for number in range(200)]


def action(place: Place, name: str, *more: str) -> Any:
    return life.action(place, "cache", "cache", name, *more)


def hosts(place: Place) -> list[str]:
    """Addresses of mc-1, mc-2…"""
    return [address for _, address in sorted(life.hosts(place, "cache").items())]


def fill(there: list[str], password: str) -> None:
    for key in KEYS:
        with Connection(server_of(key, there), password) as connection:
            connection.set(key, f"value of {key} \u00fc")


def checksum(there: list[str], password: str) -> str:
    """Of all values, each asked for where it is."""
    found = hashlib.sha256()
    for key in KEYS:
        with Connection(server_of(key, there), password) as connection:
            found.update(str(connection.get(key)).encode())
    return found.hexdigest()


def metrics(host: str) -> str:
    with urllib.request.urlopen(f"http://{host}:9150/metrics", timeout=30) as answer:
        return str(answer.read().decode())


@pytest.mark.campaign
@pytest.mark.timeout(2400)  # two dozen commands and packages of the mirror, on a machine that does other things
def test_a_life(place: Place) -> None:
    command = ["deploy", str(MEMCACHED / "1.0.0"), "--env", "cache", "--app", "cache"]
    chosen = {"name": "mc", "password": OLD, "serverCount": 2, "memory": 32, "maxConnections": 512}
    chosen["server.flavor"] = "m1.tiny"
    place.ok(
        *command, "--driver", "nspawn", *(word for one in chosen.items() for word in ("--set", "{}={}".format(*one)))
    )
    first, second = there = hosts(place)
    fill(there, OLD)
    before = checksum(there, OLD)
    with pytest.raises(Refused, match="authentication failure"):
        Connection(first, NEW)
    with Connection(first) as nobody, pytest.raises(Refused, match="unauthenticated"):
        nobody.get("key-1")

    # Nothing to do: no step, and no key is lost.
    again = place.ok(*command).output
    assert "as it is to be" not in again and "Installing" not in again, again
    assert checksum(there, OLD) == before

    # Fifty clients a second log in while the password changes, and take up the new one half way: none is refused, and
    # the servers go on with all that they have.
    password = [OLD]

    def ask() -> None:
        with Connection(second, password[0], patience=0) as connection:
            connection.get("key-1")

    with Steady(ask, Refused, OSError) as client:
        action(place, "rotatePassword", "--arg", f"password={NEW}")
        assert checksum(there, OLD) == before == checksum(there, NEW)
        password[0] = NEW
        time.sleep(1)
        action(place, "finishRotation")
        time.sleep(1)
    told(f"rotation of Memcached: {client.answered} questions answered, {len(client.refused)} refused")
    assert client.refused == [] and client.answered > 100
    with pytest.raises(Refused, match="authentication failure"):
        Connection(second, OLD)
    assert checksum(there, NEW) == before
    assert NEW not in place.ok("env", "log", "cache").output + place.ok("env", "show", "cache").output

    # Another version, and back, and again: the servers stay, their memory does not.
    upgrade = ["upgrade", "cache", "--to", str(MEMCACHED / "1.1.0")]
    place.ok(*upgrade, "--hold", "1h", "--settle", "0")
    assert "memcached_up 1" in metrics(first) and hosts(place) == there
    place.ok("env", "undo", "cache", "--yes")
    with pytest.raises(OSError):
        metrics(first)
    place.ok(*upgrade, "--no-guard")
    fill(there, NEW)
    told_by = metrics(second)
    assert f"memcached_curr_items {sum(server_of(key, there) == second for key in KEYS)}\n" in told_by
    assert "memcached_limit_maxbytes 33554432\n" in told_by and "memcached_max_connections 512\n" in told_by

    # A killed server is told, comes back empty, and is filled again; the other one has kept its share.
    life.kill(place, "mc-2")
    assert "has ended by itself" in place.ok("env", "health", "cache").stdout
    place.ok("env", "deploy", "cache")
    share = sum(server_of(key, there) == first for key in KEYS)
    assert [(row["name"], row["keys"]) for row in action(place, "status")] == [("mc-1", share), ("mc-2", 0)]
    fill(there, NEW)
    assert checksum(there, NEW) == before

    # Emptied on purpose.
    action(place, "flush")
    with Connection(server_of("key-7", there), NEW) as connection:
        assert connection.get("key-7") is None
    assert {row["keys"] for row in action(place, "status")} <= {0, 1}  # what has run out goes when it is asked for

    # One server more, without a word to those that run; then one that nobody logs in to.
    fill(there, NEW)
    place.ok(*command[:1], str(MEMCACHED / "1.1.0"), *command[2:], "--set", "serverCount=3")
    assert len(hosts(place)) == 3 and checksum(there, NEW) == before
    place.ok(
        *command[:1], str(MEMCACHED / "1.1.0"), *command[2:], "--set", "serverCount=1", "--set", "authentication=false"
    )
    assert hosts(place) == [first]
    with Connection(first) as connection:
        connection.set("open", "to all")
        assert connection.get("open") == "to all"
    assert "memcached_up 1" in metrics(first)
    life.destroy(place, "cache")
