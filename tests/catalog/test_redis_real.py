"""Redis on real servers: used by a client, moved, killed, backed up, destroyed, restored, upgraded, and gone."""

from __future__ import annotations

import hashlib
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.catalog.life import destroy, kill
from tests.catalog.redis_client import Refused, ask
from tests.cli.deploykit import Place

REDIS = Path(__file__).parents[2] / "catalog" / "Redis"
OLD, NEW = "first-Password-1", "second-Password-2"


def action(place: Place, name: str, *more: str) -> Any:
    return place.data("env", "action", "cache", name, "--app", "cache", *more)


def host(place: Place, name: str) -> str:
    rows = place.data("env", "show", "cache")["components"]
    return str(next(row["addresses"] for row in rows if row["server"] == name)).split()[0].strip(",")


def checksum(host: str, password: str) -> str:
    """Of all that is stored."""
    return hashlib.sha256("".join(str(ask(host, password, "GET", f"key-{n}")) for n in range(200)).encode()).hexdigest()


#: Somebody who says he were a Redis, and what the exporter tells him.
THIEF = """
import socket, sys, threading, urllib.request
with socket.create_server(("0.0.0.0", 6399)) as there:
    threading.Thread(target=lambda: urllib.request.urlopen(sys.argv[1]).read(), daemon=True).start()
    connection, _ = there.accept()
    connection.settimeout(5)
    print(connection.recv(1000))
"""


def listened(place: Place, name: str, address: str) -> str:
    """What the exporter behind an address tells somebody on a server."""
    path = place.folder / "told"
    place.ok("exec", "cache", name, "--", "sh", "-c", 'python3 -c "$0" "$1" > /root/told 2>&1', THIEF, address)
    place.ok("cp", f"cache:{name}:/root/told", str(path))
    return path.read_text()


def deploy(place: Place, version: str, replicas: int) -> list[str]:
    """The command of a deployment, which was done: the second time it is without its options."""
    command = ["deploy", str(REDIS / version), "--env", "cache", "--app", "cache"]
    chosen = {"name": "cache", "password": OLD, "maxMemory": 64, "replicaCount": replicas, "dataSize": 1}
    chosen["server.flavor"] = "m1.tiny"
    place.ok(
        *command, "--driver", "nspawn", *(word for one in chosen.items() for word in ("--set", "{}={}".format(*one)))
    )
    return command


@pytest.mark.timeout(900)  # a dozen commands, on a machine that does other things
def test_a_life(place: Place) -> None:
    """On one server, from its first start to the last trace of it. Also by default, so it does each thing once."""
    command = deploy(place, "1.0.0", 0)
    address = host(place, "cache-1")
    for number in range(200):
        ask(address, OLD, "SET", f"key-{number}", f"value {number} \u00fc")
    before = checksum(address, OLD)
    with pytest.raises(Refused, match="WRONGPASS"):
        ask(address, NEW, "PING")
    again = place.ok(*command).output
    assert "the primary" not in again and "Installing" not in again, again

    # Another version, and back, and again: servers and data stay.
    upgrade = ["upgrade", "cache", "--to", str(REDIS / "1.1.0")]
    place.ok(*upgrade, "--hold", "1h", "--settle", "0")
    place.ok("env", "undo", "cache", "--yes")
    place.refused("env", "action", "cache", "backup", "--app", "cache")
    assert checksum(address, OLD) == before and host(place, "cache-1") == address
    place.ok(*upgrade, "--no-guard")

    made = action(place, "backup")
    kill(place, "cache-1")
    assert "has ended by itself" in place.ok("env", "health", "cache").stdout
    place.ok("env", "deploy", "cache")
    assert checksum(address, OLD) == before

    # What is destroyed comes back from a backup, and from nothing else.
    ask(address, OLD, "FLUSHALL")
    assert checksum(address, OLD) != before and ask(address, OLD, "DBSIZE") == 0
    assert action(place, "restoreBackup")["name"] == made["name"]
    assert checksum(address, OLD) == before
    destroy(place, "cache")


def metrics(host: str, path: str = "metrics") -> str:
    """What the exporter of a server says."""
    with urllib.request.urlopen(f"http://{host}:9121/{path}", timeout=30) as answer:
        return str(answer.read().decode())


@pytest.mark.campaign
@pytest.mark.attack("secrets", "an exporter that is asked to sign in elsewhere, and for keys and settings")
@pytest.mark.timeout(1500)  # two dozen commands and packages of the mirror, on a machine that does other things
def test_a_primary_and_its_replica(place: Place) -> None:
    command = deploy(place, "1.0.0", 1)
    first, second = host(place, "cache-1"), host(place, "cache-2")
    for number in range(200):
        ask(first, OLD, "SET", f"key-{number}", f"value {number} \u00fc")
    before = checksum(first, OLD)
    with pytest.raises(Refused, match="READONLY"):
        ask(second, OLD, "SET", "x", "y")
    with pytest.raises(Refused, match="WRONGPASS"):
        ask(first, NEW, "PING")
    assert ask(first, OLD, "WAIT", "1", "4000") == 1 and checksum(second, OLD) == before

    # Nothing to do.
    again = place.ok(*command).output
    assert "the primary" not in again and "replica of" not in again and "Installing" not in again, again

    # Both versions are of one line: data and servers stay.
    place.ok("upgrade", "cache", "--to", str(REDIS / "1.1.0"))
    assert checksum(first, OLD) == before and host(place, "cache-1") == first

    # Whoever reaches the exporter gets figures. It signs in wherever it is asked to, so as somebody who may do nothing.
    ask(first, OLD, "SET", "key-n", "4711")
    assert "redis_up 1" in metrics(first) and "redis_up 1" in metrics(second)
    assert "redis_master_link_up" in metrics(second) and "redis_config_" not in metrics(first)
    seen = metrics(first, "scrape?target=redis://127.0.0.1:6379&check-keys=key-*&check-single-keys=key-n")
    assert "redis_up 1" in seen and "4711" not in seen and "key-" not in seen, seen[-3000:]
    told = listened(place, "cache-2", f"http://{first}:9121/scrape?target=redis://{second}:6399")
    assert "AUTH" in told and OLD not in told, told
    assert "vetro_exporter" in told

    made = action(place, "backup")
    assert [row["name"] for row in action(place, "listBackups")] == [made["name"]]
    place.ok("env", "action", "cache", "downloadBackup", "--app", "cache", "--save", "dump.rdb")
    assert hashlib.sha256((place.folder / "dump.rdb").read_bytes()).hexdigest() == made["sha256"]

    # No write that was answered is lost by moving to the other server.
    ask(first, OLD, "SET", "late", "word")
    assert action(place, "switchOver") == "cache-2"
    assert ask(second, OLD, "GET", "late") == "word" and checksum(second, OLD) == before
    assert ask(second, OLD, "SET", "late", "other") == "OK"
    with pytest.raises(Refused, match="READONLY"):
        ask(first, OLD, "SET", "x", "y")

    # Both passwords are valid until the rotation is finished.
    action(place, "rotatePassword", "--arg", f"password={NEW}")
    assert ask(second, OLD, "PING") == "PONG" == ask(second, NEW, "PING") == ask(first, NEW, "PING")
    action(place, "finishRotation")
    assert ask(second, NEW, "PING") == "PONG"
    with pytest.raises(Refused):
        ask(second, OLD, "PING")
    assert NEW not in place.ok("env", "log", "cache").output + place.ok("env", "show", "cache").output

    # A killed primary is told, and comes back with what it had.
    kill(place, "cache-2")
    assert "has ended by itself" in place.ok("env", "health", "cache").stdout
    place.ok("env", "deploy", "cache")
    assert ask(second, NEW, "GET", "late") == "other" and checksum(second, NEW) == before
    assert {row["role"] for row in action(place, "status")} == {"primary", "replica"}

    # What is destroyed comes back from a backup, and from nothing else.
    action(place, "switchOver", "--arg", "server=cache-1")
    ask(first, NEW, "FLUSHALL")
    assert checksum(first, NEW) != before and ask(first, NEW, "DBSIZE") == 0
    assert action(place, "restoreBackup")["name"] == made["name"]
    assert checksum(first, NEW) == before

    destroy(place, "cache")
