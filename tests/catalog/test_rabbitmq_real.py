"""RabbitMQ on real servers: used by an application and people, killed, backed up, restored, upgraded, and gone."""

from __future__ import annotations

import hashlib
import json
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.catalog import life
from tests.catalog.amqp_client import Refused, connected, messages
from tests.cli.conftest import write_package
from tests.cli.deploykit import Place

RABBITMQ = Path(__file__).parents[2] / "catalog" / "RabbitMQ"

#: An application that uses a queue of whatever kind, and says by which login.
WORKER = """\
Namespaces: {=: t, std: io.vetro.std, murano: io.murano}
Name: Worker
Extends: murano:Application
Properties:
  name: {Contract: $.string().notNull()}
  queue: {Contract: $.class(std:Queue).notNull()}
  told: {Contract: $.int().notNull(), Default: 0, Usage: Out}
Methods:
  .init:
    Body:
      - $.queue.changedEvent.subscribe($this)
  deploy:
    Body:
      - $.queue.deploy()
      - $.queue.createVirtualHost(jobs)
  handleChanged:
    Arguments:
      - sender: {Contract: $.class(std:Queue).notNull()}
    Body:
      - $.told: $.told + 1
  login:
    Scope: Public
    Body:
      - $login: $.queue.createVirtualHost(jobs)
      - Return: {user: $login.user, password: $login.password, host: jobs, told: $.told, hosts: $.queue.endpoints().select($.host)}
"""  # noqa: E501


def action(place: Place, name: str, *more: str) -> Any:
    return life.action(place, "mq", "mq", name, *more)


def login_of(place: Place) -> dict[str, Any]:
    return dict(life.action(place, "mq", "worker", "login"))


def deploy(place: Place, version: str, *chosen: str) -> None:
    """RabbitMQ, and an application that uses it."""
    place.ok("env", "create", "mq", "--driver", "nspawn")
    command = ["deploy", str(RABBITMQ / version), "--env", "mq", "--app", "mq"]
    place.ok(*command, *(word for one in ("name=mq", "server.flavor=m1.small", *chosen) for word in ("--set", one)))
    worker = write_package(place.folder / "worker", {"t.Worker": WORKER}, extra="Require: {io.vetro.std: 1}\n")
    place.ok("deploy", str(worker), "--env", "mq", "--app", "worker", "--set", "name=worker", "--set", "queue=mq")


def checksum(place: Place, name: str) -> str:
    """Of what a backup says that clients declared."""
    place.ok("env", "action", "mq", "downloadBackup", "--app", "mq", "--arg", f"name={name}", "--save", "backup.json")
    data = (place.folder / "backup.json").read_bytes()
    (place.folder / "backup.json").unlink()
    found = json.loads(data)["definitions"]
    wanted = ("exchanges", "queues", "bindings", "policies")
    rows = {key: sorted(json.dumps(row, sort_keys=True) for row in found[key]) for key in wanted}
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()


@pytest.mark.campaign
@pytest.mark.timeout(2400)  # two dozen commands and packages of the mirror, on a machine that does other things
def test_a_life(place: Place) -> None:
    deploy(place, "1.0.0", "memoryLimit=200", "dataSize=1")
    login = login_of(place)
    (host,) = hosts = login["hosts"]
    assert login["user"] == "jobs" and hosts == [life.hosts(place, "mq")["mq-1"]]
    sent = [f"job {number} \u00fc \U0001f600".encode() for number in range(100)]
    with connected(hosts, login) as client:
        assert client.declare("work") == (0, 0)
        for message in sent:
            client.publish("work", message)
        assert client.take("work", keep=True) in sent
    for wrong, why in (({"password": "wrong-password"}, "ACCESS_REFUSED"), ({"host": "/"}, "NOT_ALLOWED")):
        with pytest.raises(Refused, match=why), connected(hosts, {**login, **wrong}):
            pass
    for port in (15672, 4369, 25672):  # what is nobody's affair is not reached
        with pytest.raises(OSError):
            urllib.request.urlopen(f"http://{host}:{port}/", timeout=3)

    # Nothing to do.
    again = place.ok("env", "deploy", "mq").output
    assert "Installing" not in again and "brought up to date" not in again and "runs on" not in again, again

    # A newer version, taken back, and taken again: data and servers stay.
    place.ok("upgrade", "mq", "--to", str(RABBITMQ / "1.1.0"), "--hold", "1h", "--settle", "0")
    assert action(place, "listUsers") == []
    with connected(hosts, login) as client:
        assert client.declare("work") == (100, 0)
    place.ok("env", "undo", "mq", "--yes")
    place.refused("env", "action", "mq", "listUsers", "--app", "mq")
    with connected(hosts, login) as client:
        assert client.declare("work") == (100, 0)
    place.ok("upgrade", "mq", "--to", str(RABBITMQ / "1.1.0"), "--no-guard")
    assert login_of(place)["hosts"] == hosts
    with urllib.request.urlopen(f"http://{host}:15692/metrics", timeout=30) as metrics:
        assert "rabbitmq_alarms_memory_used_watermark 0" in metrics.read().decode()

    # People: who may read does not write, and who is removed does not read.
    person = {**action(place, "addUser", "--arg", "user=ada", "--arg", "host=jobs"), "host": "jobs"}
    with connected(hosts, person) as client:
        assert client.take("work", keep=True) in sent
        with pytest.raises(Refused, match="ACCESS_REFUSED"):
            client.publish("work", b"x")
    assert action(place, "listUsers") == [{"user": "ada", "virtualHosts": ["jobs"], "writes": False}]
    action(place, "removeUser", "--arg", "user=ada")
    with pytest.raises(Refused, match="ACCESS_REFUSED"), connected(hosts, person):
        pass

    made = action(place, "backup")
    before = checksum(place, made["name"])

    # Applications get other logins; the old ones are refused when all have taken theirs.
    assert action(place, "rotateLogins") == {"jobs": "jobs_a"}
    fresh = login_of(place)
    assert fresh["user"] == "jobs_a" and fresh["told"] == login["told"] + 1
    with connected(hosts, fresh) as client:
        assert client.declare("work") == (100, 0)
    with pytest.raises(Refused, match="ACCESS_REFUSED"), connected(hosts, login):
        pass
    secrets = place.ok("env", "log", "mq").output + place.ok("env", "show", "mq").output
    assert fresh["password"] not in secrets and login["password"] not in secrets

    # A killed server is told, and comes back with what it had.
    life.kill(place, "mq-1")
    assert "has ended by itself" in place.ok("env", "health", "mq").stdout
    place.ok("env", "deploy", "mq")
    assert sorted(messages(hosts, fresh, "work")) == sorted(sent)  # what was put back is taken later
    (state,) = action(place, "status")
    assert state["members"] == ["rabbit@mq-1"] and state["queues"] == 1 and state["alarms"] == []

    # What is destroyed is declared again; messages do not come back, and neither does who was refused.
    with connected(hosts, fresh) as client:
        client.delete("work")
        client.declare("later")
    assert action(place, "restoreBackup")["name"] == made["name"]
    with connected(hosts, fresh) as client:
        assert client.declare("work") == (0, 0) and client.declare("later") == (0, 0)
        client.delete("later")
    assert checksum(place, action(place, "backup")["name"]) == before
    with pytest.raises(Refused, match="ACCESS_REFUSED"), connected(hosts, login):
        pass
    life.destroy(place, "mq")


@pytest.mark.campaign
@pytest.mark.timeout(2400)
def test_a_killed_server_of_three_loses_no_message(place: Place) -> None:
    """A publisher sends on while a server dies: each message that was confirmed is there afterwards."""
    deploy(place, "1.1.0", "memory=200", "nodes=3")
    login = login_of(place)
    hosts, confirmed, stop = list(login["hosts"]), list[bytes](), threading.Event()
    assert len(hosts) == 3
    with connected(hosts, login) as client:
        client.declare("work")

    def publish() -> None:
        number = 0
        while not stop.is_set():
            try:
                with connected(hosts, login) as client:
                    while not stop.is_set():
                        number += 1
                        client.publish("work", str(number).encode())
                        confirmed.append(str(number).encode())
                        time.sleep(0.02)
            except (OSError, Refused):
                hosts.append(hosts.pop(0))

    publisher = threading.Thread(target=publish)
    publisher.start()
    try:
        time.sleep(3)
        before = len(confirmed)
        life.kill(place, "mq-1")
        end = time.monotonic() + 120
        while len(confirmed) < before + 50:
            assert time.monotonic() < end, "nobody takes messages any more"
            time.sleep(0.1)
        assert "has ended by itself" in place.ok("env", "health", "mq").stdout
        place.ok("env", "deploy", "mq")
        time.sleep(2)
    finally:
        stop.set()
        publisher.join(120)
    for state in action(place, "status"):
        assert state["away"] == [] and len(state["members"]) == 3, state
    got = messages(hosts, login, "work")
    print(f"{len(confirmed)} messages confirmed, {len({*confirmed} - {*got})} of them lost")
    assert before > 10 and not {*confirmed} - {*got}

    # Two servers less: the queue, and what is in it, stays. Two more: they have it, too.
    with connected(hosts, login) as client:
        client.publish("work", b"one")
    action(place, "scaleIn")
    assert login_of(place)["hosts"] == [life.hosts(place, "mq")["mq-1"]]
    (state,) = action(place, "status")
    assert state["members"] == ["rabbit@mq-1"] and state["away"] == []
    action(place, "scaleOut")
    hosts = login_of(place)["hosts"]
    assert {row["name"] for row in action(place, "status")} == {"mq-1", "mq-4", "mq-5"}
    life.kill(place, "mq-1")
    assert messages(hosts[1:], login, "work") == [b"one"]
    place.ok("env", "deploy", "mq")
    action(place, "updatePackages")
    life.destroy(place, "mq")
